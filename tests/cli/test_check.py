"""`magistrate check`: answers, exit codes, context and reasons."""

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from magistrate.client import Client as ServiceClient
from tests.cli.cases import Magistrate
from tests.running import KEY, Client

TYPES = {
    "team": {"member": {}},
    "page": {
        "blocked": {},
        "reader": {},
        "open": {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]},
        "visible": {"inheritIf": "allOf", "rules": [{"inheritIf": "reader"}, {"inheritIf": "open"}]},
    },
}
WARRANTS = [
    "page:home#reader@team:eng#member",
    "team:eng#member@user:ann",
    "team:eng#member@user:kim",
    "page:home#blocked@user:kim",
    "page:home#reader@user:eve[site == 'rome' && amount < 10]",
]
ANN, KIM, EVE = (f"page:home#visible@user:{user}" for user in ("ann", "kim", "eve"))


@pytest.fixture
def asked(magistrate: Magistrate) -> Magistrate:
    """With something to check; written anew for each test, which changes nothing."""
    magistrate.done("types", "apply", "-", typed=json.dumps(TYPES))
    magistrate.done("warrants", "create", *WARRANTS)
    return magistrate


def answered(magistrate: Magistrate, *arguments: str) -> tuple[int, str]:
    """The exit code and what is printed, with the time replaced."""
    result = magistrate("check", *arguments)
    assert result.stderr == ""
    return result.exit_code, re.sub(r"took (\d+|less than 1) ms", "took N ms", result.stdout)


def test_one_check_is_answered_in_a_word_and_by_the_exit_code(asked: Magistrate) -> None:
    assert answered(asked, ANN) == (0, "allowed\n")
    assert answered(asked, KIM) == (1, "denied\n")


@pytest.mark.parametrize(
    ("operator", "claims", "expected"),
    [
        ("--any", [KIM, ANN], (0, "allowed\n")),
        ("--any", [KIM, EVE], (1, "denied\n")),
        ("--all", [ANN, ANN], (0, "allowed\n")),
        ("--all", [ANN, KIM], (1, "denied\n")),
        ("--batch", [ANN, ANN], (0, f"allowed  {ANN}\nallowed  {ANN}\n")),
        ("--batch", [ANN, KIM], (1, f"allowed  {ANN}\ndenied   {KIM}\n")),
        ("--batch", [KIM], (1, f"denied   {KIM}\n")),
    ],
)
def test_several_checks(asked: Magistrate, operator: str, claims: list[str], expected: tuple[int, str]) -> None:
    assert answered(asked, *claims, operator) == expected


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ([], 1),
        (["site=rome", "amount:=9"], 0),
        (["site=rome", "amount:=9.5", "site=oslo"], 1),
        (["site=rome", "amount=9"], 1),  # a text is no number
        (['{"site": "rome", "amount": 9}'], 0),
        (['{"site": "oslo", "amount": 9}', "site=rome"], 0),
        (['site:="rome"', "amount:=9", "more:=[1, {}]", "equals=a=b", "empty="], 0),
    ],
)
def test_context_is_what_policies_read(asked: Magistrate, given: list[str], code: int) -> None:
    context = [word for text in given for word in ("--context", text)]

    assert answered(asked, EVE, *context)[0] == code


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("site", "neither key=text, key:=JSON nor a JSON object"),
        ("=rome", "neither key=text"),
        (":=1", "neither key=text"),
        ("amount:=ten", "--context amount:=ten is not valid JSON"),
        ("{site}", "--context is not valid JSON"),
        ('{"a": 1, "a": 2}', "a member is given twice"),
    ],
)
def test_a_context_that_cannot_be_read_is_no_answer(magistrate: Magistrate, given: str, fault: str) -> None:
    assert fault in magistrate.failed("check", ANN, "--context", given)


def test_explained_with_the_path_from_the_subject_to_the_object(asked: Magistrate) -> None:
    assert answered(asked, ANN, "--explain") == (
        0,
        "allowed\n"
        "  user:ann         is member of  team:eng\n"
        "  team:eng#member  is reader of  page:home\n"
        "  implicit: it follows from these warrants, by groups or rules; took N ms\n",
    )


def test_explained_with_the_policy_that_was_satisfied(asked: Magistrate) -> None:
    claim = "page:home#reader@user:eve"

    assert answered(asked, claim, "--context", "site=rome", "--context", "amount:=1", "--explain") == (
        0,
        "allowed\n"
        "  user:eve  is reader of  page:home  if site == 'rome' && amount < 10\n"
        "  explicit: a warrant grants it directly; took N ms\n",
    )


def test_explained_where_no_warrant_is_needed_or_none_helps(asked: Magistrate) -> None:
    by_absence = "allowed\n  implicit: a rule grants it because no warrant excludes the subject; took N ms\n"

    assert answered(asked, "page:home#open@user:bob", "--explain") == (0, by_absence)


DENIED_KIM = """\
denied
  user:kim is reader of page:home, as visible requires:
    user:kim         is member of  team:eng
    team:eng#member  is reader of  page:home
  user:kim is blocked on page:home, which rules out open:
    user:kim  is blocked on  page:home
  any one of these would allow it:
    delete  page:home#blocked@user:kim  (no effect on others)
    create  page:home#visible@user:kim  (this grants visible directly, regardless of its rule; no effect on others)
    create  page:home#open@user:kim  (this grants open directly, regardless of its rule; no effect on others)
"""
DENIED_EVE = """\
denied
  user:eve is not reader of page:home; the closest it comes:
    user:eve  is reader of  page:home  if site == 'rome' && amount < 10, but amount was not sent and site is "rome"
  any one of these would allow it:
    send    amount:=9
    create  team:eng#member@user:eve  (with all else that team:eng#member has; no effect on others)
    create  page:home#reader@user:eve  (no effect on others)
    create  page:home#visible@user:eve  (this grants visible directly, regardless of its rule; no effect on others)
"""


def test_a_denial_is_explained_by_what_is_missing_and_what_would_allow_it(asked: Magistrate) -> None:
    assert answered(asked, KIM, "--explain") == (1, DENIED_KIM)
    assert answered(asked, EVE, "--explain", "--context", "site=rome") == (1, DENIED_EVE)


def test_a_denial_of_several_says_that_none_is_granted(asked: Magistrate) -> None:
    denied = "denied\n  no warrants grant it, or a rule or policy does not hold; took N ms\n"

    assert answered(asked, KIM, EVE, "--any", "--explain") == (1, denied)


def test_explained_for_several_with_the_check_that_it_is_about(asked: Magistrate) -> None:
    anyone = answered(asked, KIM, ANN, "--any", "--explain")
    each = answered(asked, KIM, ANN, "--batch", "--explain")

    assert anyone[1].splitlines()[:2] == ["allowed", f"  {ANN}"]
    assert [line.split(" ")[0] for line in each[1].splitlines() if line[0] != " "] == ["denied", "allowed"]
    assert "    delete  page:home#blocked@user:kim  (no effect on others)" in each[1].splitlines()


def test_json_is_what_the_service_answers(asked: Magistrate, shared_client: Client) -> None:
    claim = {"objectType": "page", "objectId": "home", "relation": "visible"}
    body: dict[str, Any] = {"warrants": [{**claim, "subject": {"objectType": "user", "objectId": "ann"}}]}

    one = asked("check", ANN, "--json")
    explained = json.loads(asked("check", ANN, "--json", "--explain").stdout)
    batch = asked("check", ANN, KIM, "--json", "--batch")

    assert json.loads(one.stdout) == shared_client.post("/v2/check", json=body).json()
    answer = shared_client.post("/v2/check", json={**body, "debug": True}).json()
    assert explained["decisionPath"] == answer["decisionPath"]
    assert [answer["code"] for answer in json.loads(batch.stdout)] == [200, 403]
    assert (one.exit_code, batch.exit_code) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "Missing argument 'CHECK...'"),
        ([ANN, KIM], "several checks need one of --any, --all and --batch"),
        ([ANN, KIM, "--any", "--all"], "only one of --any, --all and --batch can be given"),
        ([ANN, "--any", "--batch"], "only one of --any, --all and --batch can be given"),
        ([ANN, "--context", "x:=NaN"], "--context x:=NaN is not valid JSON: NaN is not a JSON number"),
        ([ANN, "--context", "x:=1e999"], "--context x:=1e999 is not valid JSON: 1e999 is not a JSON number"),
        ([ANN, "--some"], "--some"),
        (["page:home"], "'page:home' does not read as type:id#relation@type:id"),
        (
            ["page:home#reader@user:eve[a]"],
            "write a check without one",
        ),
        (["Page:home#reader@user:eve"], "objectType: can only contain lower-case"),
        (["pge:home#reader@user:eve"], "object type pge is not defined; did you mean page?"),
        (["--no-strict", "pge:home#reader@user:eve"], "ObjectType pge not found; `magistrate types list` shows"),
    ],
)
def test_what_is_no_check_is_reported_and_is_no_denial(asked: Magistrate, arguments: list[str], fault: str) -> None:
    assert fault in asked.failed("check", *arguments)


def test_a_fault_of_ours_is_no_denial(magistrate: Magistrate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ServiceClient, "check", lambda *_, **__: {})

    result = magistrate("check", ANN)

    assert result.exit_code == 2
    assert "KeyError" in result.stderr


def test_an_interrupted_check_is_no_denial(magistrate: Magistrate, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ServiceClient, "check", interrupted)

    assert magistrate("check", ANN).exit_code == 130


def test_a_file_that_is_missing_is_named(magistrate: Magistrate, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "/etc/certificates.pem")

    monkeypatch.setattr(ServiceClient, "check", opened)
    ran = magistrate("check", ANN)

    assert (ran.exit_code, ran.stderr) == (2, "Error: /etc/certificates.pem: No such file or directory\n")


def check_written_to(output: int, client: Client) -> tuple[int, bytes]:
    """The exit code, and what is printed on stderr."""
    ran = subprocess.run(
        [sys.executable, "-m", "magistrate", "check", ANN, "--server", str(client.base_url)],
        env=os.environ | {"MAGISTRATE_API_KEY": KEY},
        stdout=output,
        stderr=subprocess.PIPE,
    )
    os.close(output)
    return ran.returncode, ran.stderr


def test_an_answer_that_nobody_reads_is_no_denial(asked: Magistrate, shared_client: Client) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    assert check_written_to(writer, shared_client) == (2, b"")


def test_an_answer_that_cannot_be_written_is_no_denial(asked: Magistrate, shared_client: Client) -> None:
    read_only = os.open(os.devnull, os.O_RDONLY)

    code, told = check_written_to(read_only, shared_client)

    assert code == 2
    assert told.startswith(b"Error: the output cannot be written: ")


def test_without_strict_a_relation_that_does_not_exist_is_denied_and_a_type_is_still_an_error(
    asked: Magistrate,
) -> None:
    relation = asked("check", "page:home#visble@user:ann", "--no-strict")

    assert (relation.exit_code, relation.stdout) == (1, "denied\n")
    assert "ObjectType pag not found" in asked.failed("check", "pag:home#reader@user:ann", "--no-strict")
    assert "ObjectType pag not found" in asked.failed("query", "select pag where user:ann is reader", "--no-strict")
