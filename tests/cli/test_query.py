"""`magistrate query`: tables, JSON, pages, faults, and how far it has come on a terminal."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pytest
from click.testing import Result

from magistrate.cli import output
from magistrate.client import Client as ServiceClient
from tests.cli.cases import Magistrate
from tests.running import KEY, Client

TYPES = {
    "club": {"member": {}},
    "pitch": {
        "closed": {},
        "owner": {},
        "player": {"inheritIf": "owner"},
        "open": {"inheritIf": "noneOf", "rules": [{"inheritIf": "closed"}]},
    },
}
WARRANTS = [
    "pitch:a#owner@user:ann",
    "pitch:b#player@club:red#member",
    "pitch:c#player@user:*",
    "pitch:d#player@user:ann[weather == 'dry' && players < 23]",
    "club:red#member@user:ann",
]
PLAYED = "select pitch where user:ann is player"
PLAYED_ROWS = ["pitch:a player", "pitch:b player", "pitch:c player"]


@pytest.fixture
def asked(magistrate: Magistrate) -> Magistrate:
    """With something to find; written anew for each test, which changes nothing."""
    magistrate.done("types", "apply", "-", typed=json.dumps(TYPES))
    magistrate.done("warrants", "create", *WARRANTS)
    return magistrate


def found(result: Result) -> list[str]:
    """What the rows of a table say first."""
    assert result.exit_code == 0, result.stderr
    return [" ".join(line.split()[:2]) for line in result.stdout.splitlines()[1:]]


def test_a_table_shows_each_row_and_its_warrant(asked: Magistrate) -> None:
    assert asked.done("query", PLAYED).splitlines() == [
        "FOUND    RELATION  HOW       WARRANT",
        "pitch:a  player    implicit  pitch:a#owner@user:ann",
        "pitch:b  player    explicit  pitch:b#player@club:red#member",
        "pitch:c  player    explicit  pitch:c#player@user:*",
    ]
    assert asked.done("query", "select owner, open of type * for pitch:a").splitlines() == [
        "FOUND     RELATION  HOW       WARRANT",
        "club:red  open      implicit  -",
        "pitch:a   open      implicit  -",
        "pitch:b   open      implicit  -",
        "pitch:c   open      implicit  -",
        "pitch:d   open      implicit  -",
        "user:ann  open      implicit  -",
        "user:ann  owner     explicit  pitch:a#owner@user:ann",
    ]
    assert found(asked("query", "select player of type user for pitch:c")) == ["user:* player", "user:ann player"]


def test_rows_are_counted_without_being_shown(asked: Magistrate) -> None:
    assert asked.done("query", PLAYED, "--count") == "3\n"
    assert asked.json("query", PLAYED, "--count") == {"total": 3}
    assert asked.done("query", PLAYED, "--count", "--with", "pitch:d#player@user:ann") == "4\n"


def test_json_is_what_the_service_answers(asked: Magistrate, shared_client: Client) -> None:
    asked.done("objects", "update", "pitch:a", "--meta", '{"grass": "Grün"}')

    def over_http(limit: int) -> Any:
        return shared_client.get("/v2/query", params={"q": PLAYED, "limit": limit}).json()

    everything = asked.json("query", PLAYED)
    some = asked("query", PLAYED, "--limit", "2", "--json")

    assert everything == over_http(100)
    assert everything["results"][0]["meta"] == {"grass": "Grün"}
    assert json.loads(some.stdout) == over_http(2)
    assert "nextCursor" in over_http(2)
    assert some.stderr == "These are the first 2; --limit shows more, --all shows all\n"


def test_a_limit_is_said_when_there_is_more(asked: Magistrate) -> None:
    few = asked("query", PLAYED, "--limit", "2")
    exactly = asked("query", PLAYED, "--limit", "3")

    assert (found(few), few.stderr) == (PLAYED_ROWS[:2], "These are the first 2; --limit shows more, --all shows all\n")
    assert (found(exactly), exactly.stderr) == (PLAYED_ROWS, "")


@pytest.mark.parametrize("limit", ["1", "2", "3", "5000"])
def test_all_pages_of_any_size_are_one_answer(asked: Magistrate, limit: str) -> None:
    everything = asked.json("query", PLAYED)

    assert asked.json("query", PLAYED, "--all") == everything
    assert asked.json("query", PLAYED, "--all", "--limit", limit) == everything
    assert found(asked("query", PLAYED, "--all", "--limit", limit)) == PLAYED_ROWS


def test_pages_are_as_large_as_the_service_allows(magistrate: Magistrate, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def query(
        _: object, parameters: Mapping[str, str], page_sizes: Iterator[int], contextual: Sequence[Any]
    ) -> Iterator[dict[str, Any]]:
        for size in islice(page_sizes, 4):
            drawn.append(size)
            yield {"results": [], "nextCursor": "more"}

    monkeypatch.setattr(ServiceClient, "query", query)
    for options in ([], ["--limit", "2500"], ["--limit", "2000"], ["--all"], ["--all", "--limit", "7"]):
        magistrate("query", PLAYED, *options)

    assert drawn == [100, 1000, 1000, 500, 1000, 1000, *[1000] * 4, *[7] * 4]


def test_more_than_a_page_is_found(magistrate: Magistrate) -> None:
    magistrate.done("types", "apply", "-", typed='{"seed": {"owner": {}}}')
    for start in range(0, 1_100, 100):
        magistrate.done("warrants", "create", *[f"seed:{n:04}#owner@user:ann" for n in range(start, start + 100)])

    limited = magistrate("query", "select seed where user:ann is owner", "--limit", "1050", "--json")
    everything = magistrate.json("query", "select seed where user:ann is owner", "--all")

    answer = json.loads(limited.stdout)
    assert [row["objectId"] for row in everything["results"]] == [f"{number:04}" for number in range(1_100)]
    assert answer["results"] == everything["results"][:1_050]
    assert answer.keys() == {"results", "nextCursor"}
    assert limited.stderr == "These are the first 1050; --limit shows more, --all shows all\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--sort-by", "id", "--order", "desc"], "ecba"),
        (["--order", "ASC"], "abce"),
        (["--sort-by", "createdAt"], "eabc"),
        (["--sort-by", "createdAt", "--order", "DESC", "--all", "--limit", "1"], "cbae"),
    ],
)
def test_rows_are_sorted_as_wanted(magistrate: Magistrate, options: list[str], expected: str) -> None:
    magistrate.done("types", "apply", "-", typed='{"mug": {"owner": {}}}')
    for object_id in "eabc":
        magistrate.done("warrants", "create", f"mug:{object_id}#owner@user:ann")

    result = magistrate("query", "select mug where user:ann is owner", *options)

    assert found(result) == [f"mug:{object_id} owner" for object_id in expected]


@pytest.mark.parametrize(
    ("given", "is_found"),
    [
        ([], False),
        (["weather=dry", "players:=22"], True),
        (["weather=dry", "players:=23"], False),
        (['{"weather": "dry", "players": 22}'], True),
        (['{"weather": "wet", "players": 22}', "weather=dry"], True),
    ],
)
def test_context_is_what_policies_read(asked: Magistrate, given: list[str], is_found: bool) -> None:
    context = [word for text in given for word in ("--context", text)]

    assert ("pitch:d player" in found(asked("query", PLAYED, *context))) == is_found


def test_nothing_found_is_an_answer(asked: Magistrate) -> None:
    none = asked("query", "select explicit pitch where user:bob is owner")
    none_of_all = asked("query", "select explicit pitch where user:bob is owner", "--all")

    assert (none.exit_code, none.stdout, none.stderr) == (0, "", "There are none\n")
    assert (none_of_all.exit_code, none_of_all.stdout, none_of_all.stderr) == (0, "", "There are none\n")
    assert asked.json("query", "select explicit pitch where user:bob is owner", "--all") == {"results": []}


def read_message(printed: str) -> str:
    """Returns the message of an error, which is JSON with --json."""
    message: str = json.loads(printed)["message"] if printed.startswith("{") else printed
    return message


@pytest.mark.parametrize("options", [[], ["--json"], ["--all"]])
def test_what_cannot_be_read_is_shown_with_the_place(magistrate: Magistrate, options: list[str]) -> None:
    fault = read_message(magistrate.failed("query", "select pitch\nwhere user is player", *options))
    assert fault.splitlines() == [
        'q: error parsing query: 2:7: unexpected token "user" (expected type:id)',
        " | where user is player",
        " | ......^",
    ]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "Missing argument 'Q'"),
        ([""], "q: error parsing query: 1:1: unexpected end of input"),
        (["select", "pitch"], "unexpected extra argument (pitch)"),
        (["select pich where user:ann is player"], "object type pich is not defined; did you mean pitch?"),
        (
            ["--no-strict", "select pich where user:ann is player"],
            "ObjectType pich not found; `magistrate types list` shows those",
        ),
        (["select player of type user for pich:a"], "object type pich is not defined; did you mean pitch?"),
        (
            ["--no-strict", "select player of type user for pich:a"],
            "ObjectType pich not found; `magistrate types list` shows those",
        ),
        ([PLAYED, "--limit", "0"], "0 is not in the range x>=1"),
        ([PLAYED, "--sort-by", "meta"], "'meta' is not one of 'id', 'createdAt'"),
        ([PLAYED, "--order", "up"], "'up' is not one of"),
        ([PLAYED, "--context", "weather"], "neither key=text, key:=JSON nor a JSON object"),
        ([PLAYED, "--context", "weather=" + "x" * 70_000], "the query is too long to be sent: it has to fit into"),
        ([PLAYED, "--api-key", "wrong"], "does not know this API key; give one that it knows"),
        ([PLAYED, "--server", "http://127.0.0.1:1"], "no service at http://127.0.0.1:1: "),
    ],
)
def test_what_cannot_be_answered_is_reported(asked: Magistrate, arguments: list[str], fault: str) -> None:
    assert fault in asked.failed("query", *arguments)


@pytest.mark.parametrize("options", [["--json"], []])
def test_a_fault_in_the_middle_leaves_no_half_an_answer(
    asked: Magistrate, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    everything = ServiceClient.query

    def query(self: ServiceClient, *given: Any) -> Iterator[dict[str, Any]]:
        for page in everything(self, *given):
            yield page
            self.url = "http://127.0.0.1:1"

    monkeypatch.setattr(ServiceClient, "query", query)

    told = read_message(asked.failed("query", PLAYED, "--all", "--limit", "1", *options))

    assert told.startswith("no service at http://127.0.0.1:1: ")
    assert told.count("\n") == 0


@pytest.mark.parametrize("options", [["--json"], []])
def test_an_interrupted_query_says_so(
    magistrate: Magistrate, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    def interrupted(*_: object) -> Iterator[dict[str, Any]]:
        yield {"results": [], "nextCursor": "more"}
        raise KeyboardInterrupt

    monkeypatch.setattr(ServiceClient, "query", interrupted)

    ran = magistrate("query", PLAYED, "--all", *options)

    assert (ran.exit_code, ran.stdout) == (130, "")
    fault = read_message(ran.stderr.removeprefix("Error: ").removesuffix("\n"))
    assert fault == "interrupted before all rows were shown"


def on_terminal(magistrate: Magistrate, terminal: str, *arguments: str) -> tuple[str, str]:
    """What is printed to stdout and stderr where one of them is a terminal."""
    ours, theirs = os.openpty()
    streams: dict[str, int] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, terminal: theirs}
    ran = subprocess.run(
        [sys.executable, "-m", "magistrate", "query", *arguments, "--server", magistrate.url],
        env=os.environ | {"MAGISTRATE_API_KEY": KEY},
        stdout=streams["stdout"],
        stderr=streams["stderr"],
        check=True,
    )
    os.write(theirs, b"~")  # an end: there may be nothing else to read
    shown = os.read(ours, 4096).decode().removesuffix("~")
    os.close(ours)
    os.close(theirs)
    return (shown, ran.stderr.decode()) if terminal == "stdout" else (ran.stdout.decode(), shown)


def test_on_a_terminal_all_pages_report_progress_and_wipe_it(asked: Magistrate) -> None:
    everything = asked.json("query", PLAYED)

    stdout, stderr = on_terminal(asked, "stderr", PLAYED, "--all", "--limit", "1", "--json")

    wiped = "\r" + " " * len("\rrows so far: 2") + "\r"
    assert json.loads(stdout) == everything
    assert stderr == f"\rrows so far: 1\rrows so far: 2{wiped}"


def test_nothing_is_reported_of_a_single_page_or_where_nobody_looks(asked: Magistrate) -> None:
    table = asked.done("query", PLAYED)

    assert on_terminal(asked, "stderr", PLAYED, "--all") == (table, "")
    assert on_terminal(asked, "stdout", PLAYED, "--all", "--limit", "1") == (table.replace("\n", "\r\n"), "")
    assert asked.done("query", PLAYED, "--all", "--limit", "1") == table


def test_progress_is_wiped_before_a_fault_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pages() -> Iterator[output.Answer]:
        yield {"results": [{}] * 20, "nextCursor": "more"}
        raise RuntimeError

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    with pytest.raises(RuntimeError):
        list(output.count_rows(pages()))

    assert capsys.readouterr() == ("", "\rrows so far: 20\r" + " " * 16 + "\r")


def test_help_has_an_example_that_can_be_typed(magistrate: Magistrate) -> None:
    told = magistrate.done("query", "--help")

    assert "\n  magistrate query 'select document where user:ann is viewer'\n" in told
    assert "\n  select [explicit] TYPES where TYPE:ID is RELATIONS [and [not] TYPE:ID is RELATIONS]...\n" in told
    assert "\n  select [explicit] RELATIONS of type TYPES for TYPE:ID\n" in told


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["que"], ["query"]),
        (["query", "--so"], ["--sort-by"]),
        (["query", PLAYED, "--sort-by", "c"], ["createdAt"]),
        (["query", PLAYED, "--order", "D"], ["desc"]),
        (["query", "pit"], []),
    ],
)
def test_its_name_and_options_are_completed(magistrate: Magistrate, words: list[str], expected: list[str]) -> None:
    typed = ["magistrate", *words]
    given = {"COMP_WORDS": shlex.join(typed), "COMP_CWORD": str(len(words)), "_MAGISTRATE_COMPLETE": "bash_complete"}

    assert [line.partition(",")[2] for line in magistrate(**given).stdout.splitlines() if line] == expected
