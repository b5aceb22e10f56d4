"""`magistrate import --from-warrant`: from a server like ours and from one with the habits of the old one, into both
stores."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magistrate.cli.commands import main
from magistrate.wiring.examples import read_example
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store
from tests.cli.conftest import CROSSWISE
from tests.cli.moves import lines_of, moved, moved_from
from tests.cli.runner import CommandRunner
from tests.conftest import STORES, new_database_url
from tests.databases import dump
from tests.ids import id_message
from tests.killing import kill_when
from tests.reference_server import KEY as OLD_KEY
from tests.reference_server import Reference, fault, reference_server
from tests.running import KEY, Client, running_service, settings_for
from tests.scenario_files import warrant_body
from tests.stub_server import Answered

MANY = 6_000
REFUSED_REASON = "objectType: can only contain lower-case alphanumeric characters and/or '-' and '_'"


def written_warrants(client: Client) -> list[str]:
    return [json.dumps(row) for page in client.pages("/v2/warrants", limit=1000) for row in page]


@pytest.fixture(scope="module")
def old_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a service with an example that has groups, exclusion, policies and wildcards."""
    settings = settings_for(f"sqlite:///{tmp_path_factory.mktemp('old')}/old.db")
    migrate_store(settings)
    asyncio.run(prepare_store(settings, read_example("document-sharing")))
    with running_service(settings) as url, Client(url) as client:
        client.delete("/v2/object-types/feature").raise_for_status()
        for of_type in ("folder", "user"):
            client.post(
                "/v2/objects", json={"objectType": of_type, "objectId": "same", "meta": {"n": 1.5}}
            ).raise_for_status()
        yield url


def test_everything_of_a_running_service_arrives_and_is_verified(old_service: str, database_url: str) -> None:
    ran = moved(old_service, database_url)

    assert (ran.exit_code, ran.stderr) == (0, ""), ran.output
    lines = lines_of(ran.stdout)
    assert lines[0].startswith("42 rows in ")
    assert lines[0].endswith("; new or changed: 8 object types, 16 objects, 18 warrants")
    assert lines[1:-1] == [
        "THERE REFUSED HERE",
        "named policies 0 0 0",
        "object types 8 0 8",
        "objects 16 0 16",
        "warrants 18 0 18",
    ]
    asked, _, told = lines[-1].partition(" ")
    assert 100 < int(asked) <= 300
    assert told == "checks made on both sides: all agree"
    assert dump(database_url)["import"] == []
    with running_service(settings_for(database_url)) as new, Client(new) as ours, Client(old_service) as theirs:
        assert written_warrants(ours) == written_warrants(theirs)  # in their order, as old as they were
        for path in ("/v2/object-types", "/v2/objects"):
            here, there = ours.get(path, params={"limit": 1000}), theirs.get(path, params={"limit": 1000})
            undated = [[row | {"createdAt": ""} for row in answer.json()["results"]] for answer in (here, there)]
            assert undated[0] == undated[1]


OFFICE_HOURS = {
    "name": "office_hours",
    "parameters": {"hour": "integer", "day": "string"},
    "expression": 'hour >= 9 && hour < 17 && day != "sunday"',
    "description": "when the office is open",
}


@pytest.fixture(scope="module")
def service_with_policies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a service whose rules name policies."""
    settings = settings_for(f"sqlite:///{tmp_path_factory.mktemp('policies')}/old.db")
    by_policy = {"inheritIf": "allOf", "rules": [{"inheritIf": "holder"}, {"policy": "office_hours"}]}
    door = {"type": "door", "relations": {"holder": {}, "can-open": by_policy}}
    with running_service(settings) as url, Client(url) as client:
        client.put("/v2/policies", json=[OFFICE_HOURS]).raise_for_status()
        client.put("/v2/object-types", json=[door]).raise_for_status()
        client.post("/v2/warrants", json=warrant_body("door:front#holder@user:kim")).raise_for_status()
        yield url


def test_named_policies_of_another_service_are_copied_before_the_types_that_use_them(
    service_with_policies: str, database_url: str
) -> None:
    ran = moved(service_with_policies, database_url)
    again = moved(service_with_policies, database_url, "--verify-only", "--json")

    assert (ran.exit_code, ran.stderr) == (0, ""), ran.output
    lines = lines_of(ran.stdout)
    assert lines[0].endswith("1 warrants, 1 policies")
    assert lines[2] == "named policies 1 0 1"
    assert {"kind": "named policy", "source": 1, "refused": 0, "here": 1} in json.loads(again.stdout)["counts"]
    check = warrant_body("door:front#can-open@user:kim") | {"context": {"hour": 10, "day": "monday"}}
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        assert client.post("/v2/check", json={"warrants": [check]}).json()["result"] == "Authorized"
        [copied] = client.get("/v2/policies").json()["results"]
        assert {name: value for name, value in copied.items() if name != "createdAt"} == OFFICE_HOURS


def test_named_policies_that_differ_are_reported(service_with_policies: str, sqlite_url: str) -> None:
    moved(service_with_policies, sqlite_url)
    changed = [OFFICE_HOURS | {"expression": "hour > 0"}, OFFICE_HOURS | {"name": "extra"}]
    with running_service(settings_for(sqlite_url)) as url, Client(url) as client:
        client.put("/v2/policies", json=changed).raise_for_status()

    ran = moved(service_with_policies, sqlite_url, "--verify-only")

    assert ran.exit_code == 2
    lines = lines_of(ran.stdout)
    assert "named policies 1 0 2 DIFFERS" in lines
    assert "named policy extra is here, but missing or refused there" in lines
    assert "named policy office_hours is defined otherwise here" in lines


def test_policies_here_are_not_compared_with_a_server_that_cannot_have_any(
    reference: Reference, sqlite_url: str
) -> None:
    moved_from(reference, sqlite_url)
    with running_service(settings_for(sqlite_url)) as url, Client(url) as client:
        client.put("/v2/policies", json=[OFFICE_HOURS]).raise_for_status()
        for predefined in client.get("/v2/object-types").json()["results"]:
            if predefined["type"] not in [row["type"] for row in reference.types]:
                client.delete(f"/v2/object-types/{predefined['type']}").raise_for_status()

    ran = moved_from(reference, sqlite_url)

    assert ran.exit_code == 0, ran.output
    assert "polic" not in ran.stdout


def test_a_long_move_says_now_and_then_how_far_it_is(
    old_service: str, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("magistrate.cli.output.PROGRESS_EVERY_SECONDS", 0.0)

    ran = moved(old_service, sqlite_url, "--chunk", "30")

    assert ran.exit_code == 0, ran.output
    told = lines_of(ran.stderr)
    assert told == [f"{rows} rows of {old_service} are {done}" for done in ("stored", "read") for rows in (8, 24, 42)]


@CROSSWISE
def test_small_pages_standard_cursors_and_equal_ids_lose_nothing(reference: Reference, database_url: str) -> None:
    with reference_server(reference) as server:
        ran = moved(server.url, database_url, "--sample", "50", key=OLD_KEY)

        assert ran.exit_code == 0, ran.output
        assert any("%2F" in sent.path or "%2B" in sent.path for sent in server.sent)
    assert lines_of(ran.stdout)[2:5] == ["object types 4 0 4", "objects 27 0 27", "warrants 13 0 13"]
    assert OLD_KEY not in ran.output


def with_refused_rows(reference: Reference) -> Reference:
    negated = {"inheritIf": "noneOf", "rules": [{"inheritIf": "out", "ofType": "loop", "withRelation": "in"}]}
    reference.define("Report", "viewer")
    reference.types += [
        {"type": "loop", "relations": {"in": {}, "out": negated}},
        {"type": "blank", "relations": {"can read": {}}},
    ]
    reference.grant("Report:q1#viewer@user:ann", "document:a#gone@user:ann", "document:b#viewer@user:eve[1 +]")
    reference.grant("document:a#viewer@user:zoe")
    reference.objects.append({"objectType": "user", "objectId": "*"})
    reference.objects.append({"objectType": "", "objectId": ""})
    reference.objects.append({"objectType": "user", "objectId": "x" * 1025})
    return reference


def test_rows_that_are_refused_are_all_reported_and_nothing_is_stored_from_there_on(
    reference: Reference, sqlite_url: str
) -> None:
    ran = moved_from(with_refused_rows(reference), sqlite_url, "--chunk", "2")

    told = lines_of(ran.stderr)
    assert ran.exit_code == 2
    assert len([line for line in told if line.startswith("refused ")]) == 9
    for beginning in (
        "refused object type type: can only contain lower-case",
        "refused object type relations: a relation depends on its own negation: loop#out",
        "refused object type relations: ",
        "left out object objectType: Missing required parameter objectType",
        f"refused object {REFUSED_REASON}",
        f'refused object objectId: {id_message("*", 1)} {{"objectType": "user", "objectId": "*"}}',
        "refused object objectId: must be at most 1024 characters long",
        f'refused warrant {REFUSED_REASON} {{"objectType": "Report"',
        'refused warrant relation: the relation does not exist on the specified object type. {"objectType": "document"',
        "refused warrant policy: error validating policy '1 +'",
    ):
        assert [line for line in told if line.startswith(beginning)], beginning
    assert told[-1].startswith("Error: 9 rows are refused, and nothing is stored from the chunk of the first of them")
    assert f"1 warrant {REFUSED_REASON}" in lines_of(ran.stdout)
    assert [dump(sqlite_url)[table] for table in ("object_type", "object", "warrant")] == [[], [], []]


@CROSSWISE
def test_chunks_before_the_first_refused_row_are_stored_and_the_next_import_goes_on_there(
    reference: Reference, database_url: str
) -> None:
    with reference_server(reference) as server:
        reference.grant("document:a#viewer@user:b c")
        reference.objects = [row for row in reference.objects if row["objectId"] != "b c"]
        first = moved(server.url, database_url, "--chunk", "3", key=OLD_KEY)
        stored = len(dump(database_url)["warrant"])
        reference.warrants.pop()
        second = moved(server.url, database_url, key=OLD_KEY)

    assert (first.exit_code, stored) == (2, 10)
    assert (second.exit_code, second.stderr) == (0, "Resuming behind 41 rows, which are stored\n")
    assert lines_of(second.stdout)[4] == "warrants 13 0 13"


def test_an_object_that_the_source_server_cannot_delete_is_left_out_and_ends_nothing(
    reference: Reference, sqlite_url: str
) -> None:
    reference.objects.append({"objectType": "", "objectId": ""})

    ran = moved_from(reference, sqlite_url, "--sample", "0")

    assert ran.exit_code == 0, ran.output
    assert lines_of(ran.stderr) == [
        'left out object objectType: Missing required parameter objectType {"objectType": "", "objectId": ""}'
    ]
    assert "objects 28 1 27" in lines_of(ran.stdout)


@CROSSWISE
def test_refused_rows_are_left_out_if_that_is_wanted(reference: Reference, database_url: str) -> None:
    ran = moved_from(with_refused_rows(reference), database_url, "--skip-refused", "--sample", "90")

    lines = lines_of(ran.stdout)
    assert ran.exit_code == 0, ran.output
    assert lines[-4:-1] == ["object types 7 3 4", "objects 33 4 29", "warrants 17 3 14"]
    assert ran.stderr.count("refused ") == 9
    assert ran.stderr.count("left out ") == 1


def test_rows_of_another_kind_than_their_list_are_refused(reference: Reference, sqlite_url: str) -> None:
    dated = {"createdAt": "2024-01-01T00:00:00Z", "place": "zzz"}
    reference.objects.append(warrant_body("document:a#viewer@user:eve"))
    reference.warrants.append({"type": "intruder", "relations": {}, **dated})
    reference.warrants.append({"objectType": "document", "objectId": "intruder", **dated})

    ran = moved_from(reference, sqlite_url, "--skip-refused", "--sample", "0")

    assert ran.exit_code == 0, ran.output
    assert lines_of(ran.stdout)[-4:-1] == ["object types 4 0 4", "objects 28 1 27", "warrants 15 2 13"]
    refused = [line.partition("  {")[0] for line in ran.stderr.splitlines()]
    assert refused == [
        "refused object  is no object, but listed among them",
        "refused warrant  is no warrant, but listed among them",
        "refused warrant  is no warrant, but listed among them",
    ]


def test_a_second_import_brings_what_is_new_and_reports_that_rows_were_deleted(
    reference: Reference, sqlite_url: str
) -> None:
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, key=OLD_KEY)
        reference.grant("document:new#viewer@user:ann")
        reference.types[0]["relations"] = {"viewer": {}, "editor": {}}
        grown = moved(server.url, sqlite_url, key=OLD_KEY)
        del reference.warrants[2:4]
        shrunk = moved(server.url, sqlite_url, "--sample", "0", key=OLD_KEY)

    assert grown.exit_code == 0, grown.output
    assert "new or changed: 1 object types, 1 objects, 1 warrants" in grown.stdout
    assert shrunk.exit_code == 2
    assert "warrants 12 0 14 DIFFERS" in lines_of(shrunk.stdout)


@CROSSWISE
def test_a_warrant_that_was_written_again_there_gets_its_new_time_here(reference: Reference, database_url: str) -> None:
    with reference_server(reference) as server:
        moved(server.url, database_url, "--sample", "0", key=OLD_KEY)
        again = reference.warrants.pop(2)
        reference.grant("document:d0#viewer@user:u0")
        ran = moved(server.url, database_url, "--sample", "0", key=OLD_KEY)
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        dated = {
            written: row["createdAt"]
            for row in client.get("/v2/warrants").json()["results"]
            if (written := f"{row['objectId']}@{row['subject']['objectId']}") == "d0@u0"
        }

    assert again["objectId"] == "d0"
    assert ran.exit_code == 0, ran.output
    assert "new or changed: 0 object types, 0 objects, 1 warrants" in ran.stdout
    assert dated == {"d0@u0": reference.warrants[-1]["createdAt"]}


@CROSSWISE
def test_an_import_that_the_source_server_ended_goes_on_behind_what_is_stored(
    reference: Reference, database_url: str
) -> None:
    reference.fails = lambda sent, number: (
        fault(400, "invalid_request", "gone") if "/v2/warrants" in sent.path else None
    )
    with reference_server(reference) as server:
        ended = moved(server.url, database_url, "--chunk", "5", key=OLD_KEY)
        reference.fails = lambda sent, number: None
        asked = len(server.sent)
        resumed = moved(server.url, database_url, "--sample", "0", key=OLD_KEY)

        assert (ended.exit_code, ended.stdout) == (2, "")
        assert ended.stderr == f"Error: {server.url} answered 400: gone; run the same command again to resume\n"
        assert resumed.exit_code == 0, resumed.output
        assert resumed.stderr == "Resuming behind 31 rows, which are stored\n"
        assert "/v2/warrants" in server.sent[asked].path
        assert dump(database_url)["import"] == []


def test_a_cursor_that_was_deleted_begins_its_list_again(reference: Reference, sqlite_url: str) -> None:
    """The list is read again, which changes nothing."""
    with reference_server(reference) as server:
        reference.fails = lambda sent, number: fault(418, "x", "gone") if number > 14 else None
        ended = moved(server.url, sqlite_url, "--chunk", "3", key=OLD_KEY)
        refused = fault(400, "invalid_parameter", "invalid cursor", parameter="nextCursor")
        asked = reference.asked
        # Of the first request it refuses the limit.
        reference.fails = lambda sent, number: refused if number == asked + 1 and "Cursor" in sent.path else None
        resumed = moved(server.url, sqlite_url, "--sample", "0", key=OLD_KEY)

    assert ended.exit_code == 2
    assert resumed.exit_code == 0, resumed.output
    assert lines_of(resumed.stdout)[2:5] == ["object types 4 0 4", "objects 27 0 27", "warrants 13 0 13"]


def test_a_wrong_key_is_reported_and_never_shown(reference: Reference, sqlite_url: str) -> None:
    with reference_server(reference) as server:
        wrong, none = moved(server.url, sqlite_url, key="no-secret"), moved(server.url, sqlite_url, key=None)
        given = moved(server.url, sqlite_url, "--warrant-api-key", OLD_KEY, key=None)

    assert (wrong.exit_code, none.exit_code, given.exit_code) == (2, 2, 0)
    assert wrong.stderr == (
        f"Error: {server.url} does not know this API key; give one that it knows with --warrant-api-key KEY or "
        "MAGISTRATE_WARRANT_API_KEY\n"
    )
    assert none.stderr.startswith(f"Error: {server.url} requires an API key; ")
    assert "no-secret" not in wrong.output


def test_a_server_that_repeats_the_key_does_not_make_us_show_it(reference: Reference, sqlite_url: str) -> None:
    repeated = fault(403, "forbidden", f"not with {OLD_KEY}", parameter=OLD_KEY)
    stranger = Answered(200, b"{}", {"X": f"\0{OLD_KEY}"})
    reference.objects.append({"objectType": "user", "objectId": f"* {OLD_KEY}"})
    reference.grant(f'document:a#viewer@user:eve["{OLD_KEY}" +]')
    reference.fails = lambda sent, number: fault(400, "x", OLD_KEY) if sent.path == "/v2/check" else None
    output = moved_from(reference, sqlite_url, "--skip-refused", "--sample", "5").output
    reference.fails = lambda sent, number: repeated
    output += moved_from(reference, sqlite_url).output
    reference.fails = lambda sent, number: stranger
    output += moved_from(reference, sqlite_url).output

    assert OLD_KEY not in output
    assert output.count("refused ") == 2
    assert "400: (the API key)" in output
    assert "answered 403: (the API key): not with (the API key);" in output
    assert "illegal header" in output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give either a FILE or --from-warrant URL"),
        (["x.jsonl", "--from-warrant", "http://127.0.0.1:9"], "give either a FILE or --from-warrant URL"),
        (["x.jsonl", "--skip-refused"], "--skip-refused goes with --from-warrant only"),
        (["x.jsonl", "--sample", "0"], "--sample goes with --from-warrant only"),
        (["x.jsonl", "--differences", "0"], "--differences goes with --from-warrant only"),
        (["x.jsonl", "--json"], "--json goes with --from-warrant only"),
        (["--from-warrant", "http://127.0.0.1:9", "--json"], "--json goes with --verify-only only"),
        (["--from-warrant", "ftp://x"], "'ftp://x' is not the URL of a service"),
        (["--from-warrant", "http://127.0.0.1:9"], "Error: http://127.0.0.1:9: "),
        (["--from-warrant", "http://127.0.0.1:9", "--warrant-api-key", "a,b"], "must be one"),
        (["--from-warrant", "http://127.0.0.1:9", "--sample", "100001"], "--sample"),
    ],
)
def test_what_cannot_be_done_is_reported_and_ends_with_2(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    ran = CommandRunner().invoke(main, ["import", *arguments], env={}, prog_name="magistrate")

    assert ran.exit_code == 2
    assert told in ran.stderr


@pytest.fixture(scope="module")
def large_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("large")
    lines: list[Any] = [{"type": "document", "relations": {"viewer": {}}}]
    for number in range(MANY):
        subject = {"objectType": "user", "objectId": f"u{number % 50}"}
        lines.append({"objectType": "document", "objectId": f"d{number}", "relation": "viewer", "subject": subject})
    (folder / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    url = f"sqlite:///{folder}/old.db"
    arguments = ["import", str(folder / "all.jsonl"), "--database-url", url]
    assert CommandRunner().invoke(main, arguments, env={}).exit_code == 0
    with running_service(settings_for(url)) as service:
        yield service


def warrants_of(url: str) -> list[tuple[object, ...]]:
    return dump(url).get("warrant", [])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", STORES)
def test_killed_in_the_middle_it_goes_on_behind_the_last_whole_chunk(
    kind: str, large_service: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = new_database_url(kind, tmp_path, request)
    command = [sys.executable, "-m", "magistrate", "import", "--from-warrant", large_service, "--database-url", url]
    options = ["--chunk", "500", "--warrant-api-key", KEY]
    migrate_store(settings_for(url))

    kill_when(lambda: warrants_of(url), [*command, *options])
    stored = len(warrants_of(url))
    ran = moved(large_service, url)

    before = 7 + MANY + 50
    assert 0 < stored < MANY
    assert stored % 1_000 == 0  # a chunk is of whole pages
    assert ran.exit_code == 0, ran.output
    assert ran.stderr == f"Resuming behind {before + stored:,} rows, which are stored\n"
    assert f"new or changed: 0 object types, 0 objects, {MANY - stored:,} warrants" in ran.stdout
    assert len(warrants_of(url)) == MANY
