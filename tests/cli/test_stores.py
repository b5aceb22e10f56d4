"""`magistrate stores`, and the option --store of all other commands."""

import json
from pathlib import Path

import pytest
from click.testing import Result

from magistrate.cli.commands import main
from tests.cli.cases import Magistrate
from tests.cli.runner import CommandRunner
from tests.issuing import wait_for_key
from tests.running import KEY, Client, running_service, settings_for

MODEL = "version 1.0\n\ntype document\n    relation viewer\n\ntype user\n"
WARRANT = "document:plan#viewer@user:ann"


@pytest.fixture
def own(client: Client) -> Magistrate:
    """The command line on a service of its own."""
    return Magistrate(str(client.base_url))


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "model.txt").write_text(MODEL)
    return str(tmp_path / "model.txt")


def names(magistrate: Magistrate, *options: str) -> list[str]:
    return [store["name"] for store in magistrate.json("stores", "list", *options)["results"]]


def test_a_store_is_created_listed_shown_changed_and_deleted(own: Magistrate) -> None:
    made = own.done("stores", "create", "acme", "--description", "Tests", "--max-warrants", "100", "--max-objects", "7")
    shown = own.json("stores", "show", "acme")
    changed = own.json(
        "stores", "update", shown["id"], "--max-warrants", "none", "--max-requests-per-second", "9", "--name", "globex"
    )
    without = own.json("stores", "update", "globex", "--description", "")
    listed = own.done("stores", "list")
    deleted = own.done("stores", "delete", "globex", "--yes")

    assert made == "created  acme\n"
    assert (shown["description"], shown["limits"]) == ("Tests", {"warrants": 100, "objects": 7})
    assert (changed["name"], changed["description"]) == ("globex", "Tests")
    assert changed["limits"] == {"objects": 7, "requestsPerSecond": 9}
    assert "description" not in without
    assert listed.splitlines()[0].split("  ")[0] == "NAME"
    assert [line.split()[0] for line in listed.splitlines()[1:]] == ["default", "globex"]
    assert deleted == "deleted  globex\n"
    assert names(own) == ["default"]


def test_stores_are_listed_by_the_beginning_of_their_names(own: Magistrate) -> None:
    for name in ("a-1", "a-2", "b-1"):
        own.done("stores", "create", name)

    assert names(own, "--prefix", "a-") == ["a-1", "a-2"]
    assert own("stores", "list", "--limit", "2").stderr == "These are the first 2; --limit shows more\n"


def test_a_store_is_deleted_after_somebody_has_confirmed(own: Magistrate) -> None:
    own.done("stores", "create", "acme")

    refused = own("stores", "delete", "acme", typed="n\n")
    unanswered = own("stores", "delete", "acme")
    confirmed = own("stores", "delete", "acme", typed="y\n")

    assert (refused.exit_code, unanswered.exit_code, confirmed.exit_code) == (2, 130, 0)
    assert "Delete the store acme and everything in it? [y/N]" in refused.stderr
    assert "--yes answers beforehand" in unanswered.stderr
    assert names(own) == ["default"]


def test_what_cannot_be_done_with_stores_is_said_in_a_sentence(own: Magistrate) -> None:
    own.done("stores", "create", "acme")
    there = "; `magistrate stores list` shows those there are"

    assert own.failed("stores", "show", "nothing") == f"Store nothing not found{there}"
    assert own.failed("stores", "delete", "nothing", "--yes") == f"Store nothing not found{there}"
    assert own.failed("stores", "create", "ACME").startswith("name: can only contain letters a-z")
    assert "acme" in own.failed("stores", "create", "acme")
    assert own.failed("stores", "create", "b", "--from", "nothing") == "from: there is no store nothing"
    assert own.failed("stores", "update", "acme").startswith("nothing is to be changed")
    assert own.failed("stores", "update", "default", "--name", "b") == "the store default keeps its name"
    assert "'0' is neither a number from 1 nor none" in own.failed("stores", "create", "b", "--max-objects", "0")
    assert "default" in own.failed("stores", "delete", "default", "--yes")


def test_every_command_of_a_service_uses_the_store_that_is_named(own: Magistrate, model: str) -> None:
    own.done("stores", "create", "acme")
    acme = ("--store", "acme")

    plan = own("model", "plan", model, *acme)
    own.done("model", "apply", model, "--yes", *acme)
    own.done("warrants", "create", WARRANT, *acme)
    copied = own.done("stores", "create", "copy", "--from", "acme")

    assert plan.exit_code == 2
    assert copied == "created  copy\n"
    assert own("check", WARRANT, *acme).exit_code == 0
    assert own("check", WARRANT, MAGISTRATE_STORE="acme").exit_code == 0
    assert own("check", WARRANT, "--store", own.json("stores", "show", "acme")["id"]).exit_code == 0
    assert own("check", WARRANT, "--store", "copy", MAGISTRATE_STORE="acme").exit_code == 1
    assert "object type" in own.failed("check", WARRANT)
    assert own.done("model", "show", *acme) == own.done("model", "show", "--store", "copy") == MODEL
    assert len(own.json("query", "select document where user:ann is viewer", *acme)["results"]) == 1
    assert own.json("query", "select document where user:ann is viewer", "--store", "copy")["results"] == []
    diff = own.json("diff", "--delete", WARRANT, "--of", "document#viewer@user", *acme)
    assert [row["change"] for row in diff["results"]] == ["lost"]
    assert [row["objectId"] for row in own.json("objects", "list", "--type", "document", *acme)["results"]] == ["plan"]
    assert own.json("objects", "list", "--store", "copy")["results"] == []
    assert own.json("objects", "list")["results"] == []


def test_a_store_that_does_not_exist_is_an_error_and_no_denied_check(own: Magistrate, model: str) -> None:
    failure = "Store nothing not found; `magistrate stores list` shows those there are"

    assert own.failed("check", WARRANT, "--store", "nothing") == failure
    assert own.failed("check", WARRANT, MAGISTRATE_STORE="nothing") == failure
    assert own.failed("check", WARRANT, MAGISTRATE_STORE="") == "MAGISTRATE_STORE is empty"
    assert json.loads(own.failed("objects", "list", "--store", "../x", "--json"))["code"] == "not_found"
    planned = own("model", "plan", model, "--store", "nothing")
    assert (planned.exit_code, planned.stderr) == (1, f"Error: {failure}\n")


def test_a_named_store_changes_nothing_about_commands_for_all_stores(own: Magistrate) -> None:
    own.done("stores", "create", "acme")

    listed = own("stores", "list", MAGISTRATE_STORE="acme")

    assert (listed.exit_code, len(listed.stdout.splitlines())) == (0, 3)
    assert own("stores", "list", "--store", "acme").exit_code == 2


def test_a_key_that_is_created_in_a_store_uses_that_store(own: Magistrate, client: Client) -> None:
    own.done("stores", "create", "acme")
    own.done("objects", "create", "user:ann", "--store", "acme")
    key = own.json("keys", "create", "acme", "--scope", "admin", "--store", "acme")["key"]
    wait_for_key(client, key)
    of_acme = Magistrate(own.url, key)

    assert [row["objectId"] for row in of_acme.json("objects", "list")["results"]] == ["ann"]
    assert [row["objectId"] for row in of_acme.json("objects", "list", "--store", "acme")["results"]] == ["ann"]
    assert of_acme.failed("objects", "list", "--store", "default").startswith("Store default not found")
    assert of_acme.failed("stores", "list").startswith("this request needs the scope stores")


def test_the_stores_that_are_used_most_are_shown_first(database_url: str) -> None:
    with running_service(settings_for(database_url, metrics_store_label=True)) as url:
        magistrate = Magistrate(url)
        for name in ("quiet", "busy", "full"):
            magistrate.done("stores", "create", name, "--from", "default")
        for name, requests in {"busy": 40, "quiet": 20, "full": 18}.items():
            for _ in range(requests):
                magistrate.done("objects", "list", "--store", name, "--json")
        magistrate.done("objects", "create", "user:bob", "--store", "full")
        magistrate.done("warrants", "create", "permission:p#member@user:ann", "--store", "full")

        top = magistrate.json("stores", "top")["results"]
        shown = magistrate("stores", "top", "--limit", "3").stdout

        assert [row["name"] for row in top] == ["busy", "full", "quiet", "default"]
        assert [row["requests"] for row in top[:3]] == [40, 20, 20]
        assert top[1]["usage"] == {"warrants": 1, "objects": 3}
        assert [line.split() for line in shown.splitlines()] == [
            ["NAME", "REQUESTS", "WARRANTS", "OBJECTS"],
            ["busy", "40", "0", "0"],
            ["full", "20", "1", "3"],
            ["quiet", "20", "0", "0"],
        ]


def test_stores_are_shown_by_what_they_hold_where_their_requests_are_not_known(own: Magistrate, client: Client) -> None:
    for name in ("acme", "bcme", "ccme"):
        own.done("stores", "create", name, "--from", "default")
    own.done("warrants", "create", "permission:p#member@user:ann", "--store", "ccme")
    own.done("objects", "create", "user:ann", "--store", "bcme")
    key = own.json("keys", "create", "stores", "--scope", "stores")["key"]
    wait_for_key(client, key)

    uncounted, refused = own("stores", "top"), Magistrate(own.url, key)("stores", "top")

    assert uncounted.stdout == refused.stdout
    assert [line.split() for line in uncounted.stdout.splitlines()] == [
        ["NAME", "WARRANTS", "OBJECTS"],
        ["ccme", "1", "2"],
        ["bcme", "0", "1"],
        ["acme", "0", "0"],
        ["default", "0", "0"],
    ]
    assert "`magistrate serve --metrics-store-label` does" in uncounted.stderr
    assert refused.stderr.startswith("Requests are not shown: this request needs the scope metrics")


def run(*arguments: str, **environment: str) -> Result:
    return CommandRunner().invoke(main, arguments, env=environment, prog_name="magistrate")


def test_an_import_into_a_store_of_a_database_is_seen_there_alone(database_url: str, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"objectType": "user", "objectId": "ann"}\nno line\n')
    setup = tmp_path / "setup.yaml"
    setup.write_text(f"model: |\n  {MODEL.replace(chr(10), chr(10) + '  ')}\nsetup: {{warrants: ['{WARRANT}']}}\n")
    into = ("--database-url", database_url)
    with running_service(settings_for(database_url)) as url:
        magistrate = Magistrate(url)
        for name in ("acme", "globex"):
            magistrate.done("stores", "create", name)

        begun = run("import", str(lines), *into, "--chunk", "1", "--store", "acme")
        other = run("import", str(lines), *into, "--chunk", "1", "--store", "globex")
        again = run("import", str(lines), *into, "--chunk", "1", MAGISTRATE_STORE="acme")
        of_setup = run("import", str(setup), *into, "--store", "globex")

        assert [ran.exit_code for ran in (begun, other, again, of_setup)] == [2, 2, 2, 0], of_setup.output
        assert "Resuming at line 2" in again.stderr
        assert "Resuming" not in other.stderr
        assert magistrate("check", WARRANT, "--store", "globex").exit_code == 0
        assert magistrate.done("objects", "list", "--store", "acme").count("user:ann") == 1
        assert magistrate.json("objects", "list")["results"] == []


def test_a_store_that_is_not_in_the_database_gets_no_import(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text('{"objectType": "user", "objectId": "ann"}\n')

    ran = run("import", str(tmp_path / "lines.jsonl"), "--database-url", database_url, "--store", "nothing")
    ended = run("sessions", "revoke", "--database-url", database_url, "--store", "nothing")

    assert (ran.exit_code, ran.stderr) == (2, "Error: Store nothing not found in this database\n")
    assert (ended.exit_code, ended.stderr) == (2, "Error: Store nothing not found in this database\n")


def test_sessions_end_in_one_store_or_in_all(database_url: str) -> None:
    with running_service(settings_for(database_url)) as url:
        magistrate = Magistrate(url, KEY)
        for store in ("acme", "globex"):
            magistrate.done("stores", "create", store)
            magistrate.done("sessions", "create", "ann", "--store", store)
        magistrate.done("sessions", "create", "ann")

    revoke = ("sessions", "revoke", "--database-url", database_url)
    ended = [
        run(*revoke, "--store", "acme").output,
        run(*revoke, "--store", "acme").output,
        run(*revoke, "--all-stores").output,
        run(*revoke).output,
        run(*revoke, "--store", "globex").output,
    ]
    both = run(*revoke, "--all-stores", "--store", "acme")

    assert [text.startswith("All sessions are ended") for text in ended] == [True, False, True, False, False]
    assert both.exit_code == 2
