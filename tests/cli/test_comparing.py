"""`magistrate import --from-warrant`: what is compared with the source server, and how differences are reported."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from magistrate.operations.importing import comparison as comparing
from tests.cli.conftest import CROSSWISE
from tests.cli.moves import lines_of, moved, moved_from
from tests.databases import dump
from tests.reference_server import KEY as OLD_KEY
from tests.reference_server import Reference, encoded, fault, reference_server
from tests.running import Client, running_service, settings_for
from tests.stub_server import Answered, Sent


def test_a_server_without_anything_is_moved_and_verified(database_url: str) -> None:
    for arguments in ([], ["--verify-only"]):
        ran = moved_from(Reference(), database_url, *arguments)

        assert ran.exit_code == 0, ran.output
        assert lines_of(ran.stdout)[-4:] == [
            "object types 0 0 0",
            "objects 0 0 0",
            "warrants 0 0 0",
            "no check was made",
        ]


def test_checks_on_both_sides_are_of_what_warrants_say_and_what_they_do_not(
    reference: Reference, sqlite_url: str
) -> None:
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, "--sample", "60", key=OLD_KEY)
        asked = [sent.body["warrants"][0] for sent in server.sent if sent.path == "/v2/check"]
        answers = [reference.answer(sent) for sent in server.sent if sent.path == "/v2/check"]
        moved(server.url, sqlite_url, "--sample", "60", "--verify-only", key=OLD_KEY)
        again = [sent.body["warrants"][0] for sent in server.sent if sent.path == "/v2/check"][len(asked) :]

    allowed = sum(isinstance(answer, bytes) and json.loads(answer)["code"] == 200 for answer in answers)
    assert 30 < len(asked) == len(set(map(str, asked))) < 60
    assert 10 < allowed < 30
    assert {"day": "monday"} in [claim["context"] for claim in asked]
    assert not any("*" in (claim["objectId"], claim["subject"]["objectId"]) for claim in asked)
    assert sorted(map(str, again)) == sorted(map(str, asked))


REFUSED_REASON = "objectType: can only contain lower-case alphanumeric characters and/or '-' and '_'"


def test_differences_that_are_known_are_reported_with_their_reason(reference: Reference, sqlite_url: str) -> None:
    reference.grant('document:a#viewer@user:tim[expiresIn("876000h")]')
    reference.grant(*(f"folder:{object_id}#viewer@team:eng#viewer" for object_id in "abcd"), "folder:d#member@team:eng")

    ran = moved_from(reference, sqlite_url, "--sample", "400")

    assert ran.exit_code == 0, ran.output
    shown = lines_of(ran.stdout)
    bare = "@team:eng authorized not authorized it takes a bare subject for a group of its own, which a warrant names"
    assert [line for line in shown if line.endswith(bare)]
    assert "document:a#viewer@user:tim not authorized authorized `expiresIn` never holds there" in shown


def test_a_row_that_was_left_out_explains_what_rests_on_it(reference: Reference, sqlite_url: str) -> None:
    reference.grant("document:a#viewer@user:kim[1 +]")
    del reference.warrants[-1]["policy"]
    reference.warrants.append({**reference.warrants[-1], "relation": "gone", "place": "zzz"})
    moved_from(reference, sqlite_url, "--skip-refused", "--sample", "0")

    def rests_on_the_row(sent: Sent, number: int) -> Answered | None:
        if sent.path != "/v2/check":
            return None
        row = {name: value for name, value in reference.warrants[-1].items() if name != "place"}
        body = {"code": 200, "result": "Authorized", "decisionPath": {"x": [row]}}
        return Answered(200, json.dumps(body).encode())

    reference.fails = rests_on_the_row
    ran = moved_from(reference, sqlite_url, "--verify-only", "--sample", "50")

    assert "authorized not authorized it depends on a row that was not taken over" in ran.stdout.replace("  ", " ")
    assert ran.exit_code == 0, ran.output


def test_a_check_that_differs_for_no_known_reason_is_a_failure(reference: Reference, sqlite_url: str) -> None:
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, key=OLD_KEY)
        lost = reference.warrants.pop(2)
        reference.grant("document:new#viewer@user:u0")
        with running_service(settings_for(sqlite_url)) as url, Client(url) as client:
            client.grant("document:new#viewer@user:nobody")
            client.delete_json("/v2/objects", [{"objectType": "user", "objectId": "nobody"}])
        ran = moved(server.url, sqlite_url, "--verify-only", key=OLD_KEY)

    assert lost["objectId"] == "d0"
    assert ran.exit_code == 2
    assert ran.stderr == f"Error: what is here is not what {server.url} has; see above\n"
    assert "document:new#viewer@user:u0 authorized not authorized UNEXPLAINED" in lines_of(ran.stdout)


@CROSSWISE
def test_grants_of_a_relation_that_is_missing_here_are_not_taken_for_refused(
    reference: Reference, database_url: str
) -> None:
    with reference_server(reference) as server:
        moved(server.url, database_url, key=OLD_KEY)
        reference.types[0]["relations"]["editor"] = {}
        reference.grant(*(f"document:d{number}#editor@user:u{number % 3}" for number in range(5)))
        ran = moved(server.url, database_url, "--verify-only", key=OLD_KEY)

    shown = lines_of(ran.stdout)
    assert ran.exit_code == 2
    assert shown[1:6] == [
        "object types 4 0 4",
        "objects 27 0 27",
        "warrants 18 0 13 DIFFERS",
        "OBJECT TYPE DIFFERENCE",
        "document is defined otherwise here",
    ]
    assert "document:d0#editor@user:u0 authorized not authorized UNEXPLAINED" in shown


def test_grants_on_a_type_that_is_missing_here_are_not_taken_for_refused(reference: Reference, sqlite_url: str) -> None:
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, key=OLD_KEY)
        reference.define("report", "viewer")
        reference.grant("report:q1#viewer@user:ann")
        ran = moved(server.url, sqlite_url, "--verify-only", key=OLD_KEY)

    shown = lines_of(ran.stdout)
    assert ran.exit_code == 2
    assert "warrants 14 0 13 DIFFERS" in shown
    assert "report is there, but not here" in shown
    assert "report:q1#viewer@user:ann authorized unknown object type UNEXPLAINED" in shown


def test_object_types_that_differ_are_reported_by_name_though_all_counts_are_equal(sqlite_url: str) -> None:
    reference = Reference()
    for name in ("card", "document", "folder"):
        reference.define(name, "viewer")
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, key=OLD_KEY)
        reference.types = [row for row in reference.types if row["type"] != "folder"]
        reference.define("report", "viewer")
        reference.types[0]["relations"]["viewer"] = {"inheritIf": "owner"}
        ran = moved(server.url, sqlite_url, "--verify-only", key=OLD_KEY)

    assert ran.exit_code == 2
    assert lines_of(ran.stdout)[1:] == [
        "object types 3 0 3",
        "objects 0 0 0",
        "warrants 0 0 0",
        "OBJECT TYPE DIFFERENCE",
        "card is defined otherwise here",
        "folder is here, but missing or refused there",
        "report is there, but not here",
        "no check was made",
    ]


def test_the_order_in_which_relations_are_listed_is_no_difference(reference: Reference, sqlite_url: str) -> None:
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, key=OLD_KEY)
        for row in reference.types:
            row["relations"] = dict(reversed(row["relations"].items()))
        ran = moved(server.url, sqlite_url, "--verify-only", "--sample", "5", key=OLD_KEY)

    assert ran.exit_code == 0, ran.output


def test_a_missing_type_is_reported_alike_and_one_that_is_reported_by_the_source_server_alone_has_its_reason(
    reference: Reference, sqlite_url: str
) -> None:
    moved_from(reference, sqlite_url, "--sample", "0")

    def knows_no_type(sent: Sent, number: int) -> Answered | None:
        return fault(404, "not_found", "ObjectType ghost not found") if sent.path == "/v2/check" else None

    reference.fails = knows_no_type
    ran = moved_from(reference, sqlite_url, "--verify-only", "--sample", "6")

    lines = [line for line in lines_of(ran.stdout) if "unknown object type" in line]
    assert lines
    for line in lines:
        told = "there, a missing object type is an error although a warrant decides the check"
        assert line.endswith(told if "type authorized " in line else "UNEXPLAINED")


def broken_checks(sent: Sent, number: int) -> Answered | None:
    return fault(500, "internal_error", "Internal Server Error") if sent.path == "/v2/check" else None


def checks_in_the_last_table(text: str) -> list[str]:
    _, _, table = text.partition("CHECK ")
    return lines_of(table)[1:]


def failing_at(status: int, *types: str) -> Callable[[Sent, int], Answered | None]:
    def fails(sent: Sent, number: int) -> Answered | None:
        is_asked = sent.path == "/v2/check" and sent.body["warrants"][0]["objectType"] in types
        return fault(status, "internal_error", "Internal Server Error") if is_asked else None

    return fails


def with_loops(reference: Reference) -> Reference:
    """Folders that loop, each in another way: by groups, by a rule of one object, and by arrows."""
    reference.define("crew", "member")
    reference.types += [
        {"type": "pair", "relations": {"left": {"inheritIf": "right"}, "right": {"inheritIf": "left"}}},
        {"type": "tree", "relations": {"parent": {}, "viewer": ARROW}},
    ]
    reference.grant("crew:a#member@crew:b#member", "crew:b#member@crew:c#member", "crew:c#member@crew:b#member")
    reference.grant("pair:p#left@user:ann", "tree:t#parent@tree:u", "tree:u#parent@tree:t", "tree:u#viewer@user:ann")
    return reference


ARROW = {
    "inheritIf": "anyOf",
    "rules": [{"inheritIf": "parent"}, {"inheritIf": "viewer", "ofType": "tree", "withRelation": "parent"}],
}
LOOPING = ("crew", "pair", "tree")


@pytest.mark.parametrize("status", [500, 504])
def test_checks_that_the_source_server_fails_over_are_counted_reported_and_no_failure(
    status: int, reference: Reference, sqlite_url: str
) -> None:
    with_loops(reference).fails = failing_at(status, *LOOPING)
    ran = moved_from(reference, sqlite_url, "--sample", "60")

    lines = [line for line in checks_in_the_last_table(ran.stdout) if "#parent@" not in line]
    [(asked, answered, differing)] = re.findall(
        r"^(\d+) checks made on both sides, (\d+) of them answered there: (\d+) differ", ran.stdout, re.MULTILINE
    )
    assert 5 < len(lines) < 50
    for line in lines:
        assert line.startswith(tuple(f"{of_type}:" for of_type in LOOPING))
        assert f" no answer ({status}) " in line
        assert line.endswith(comparing.UNANSWERED)
    assert {line.partition(":")[0] for line in lines} == {*LOOPING}
    assert int(differing) == int(asked) - int(answered)


def test_a_comparison_in_which_only_loops_fail_succeeds(reference: Reference, sqlite_url: str) -> None:
    reference.define("crew", "member")
    reference.grant(*(f"crew:{object_id}#member@crew:{object_id}#member" for object_id in "abcdef"))
    reference.fails = failing_at(500, "crew")

    ran = moved_from(reference, sqlite_url, "--sample", "60")

    assert ran.exit_code == 0, ran.output
    assert re.search(r"answered there: (\d+) differ, \1 for a known reason$", ran.stdout, re.MULTILINE)


def test_a_check_that_fails_without_a_loop_has_no_known_reason(reference: Reference, sqlite_url: str) -> None:
    """The server is up, and no groups or rules lead back to themselves: it fails for another reason."""
    reference.fails = failing_at(500, "folder")

    ran = moved_from(reference, sqlite_url, "--sample", "90")

    lines = checks_in_the_last_table(ran.stdout)
    assert ran.exit_code == 2
    assert len(lines) > 5
    for line in lines:
        assert line.startswith("folder:")
        assert line.endswith("authorized UNEXPLAINED")
    assert f"did not answer {len(lines)} of " in ran.stderr


@pytest.mark.parametrize("status", [400, 501])
def test_checks_that_are_refused_have_no_known_reason(status: int, reference: Reference, sqlite_url: str) -> None:
    reference.fails = failing_at(status, "folder")

    ran = moved_from(reference, sqlite_url, "--sample", "90")

    told = checks_in_the_last_table(ran.stdout)
    assert ran.exit_code == 2
    assert len(told) > 5
    for line in told:
        assert f" {status}: Internal Server Error " in line
        assert line.endswith("authorized UNEXPLAINED")
    assert f"did not answer {len(told)} of " in ran.stderr


@pytest.mark.parametrize("status", [500, 504])
def test_a_source_server_that_fails_at_all_checks_from_one_on_is_not_taken_for_one_that_goes_in_circles(
    status: int, reference: Reference, sqlite_url: str
) -> None:
    checks: list[Sent] = []

    def goes_down(sent: Sent, number: int) -> Answered | None:
        checks.extend([sent] if sent.path == "/v2/check" else [])
        return fault(status, "internal_error", "database is gone") if len(checks) > 8 else None

    reference.fails = goes_down
    with reference_server(reference) as server:
        ran = moved(server.url, sqlite_url, "--sample", "20", key=OLD_KEY)

    told = checks_in_the_last_table(ran.stdout)
    asked = len(checks) - 1  # the last one finds out whether the server still answers
    assert ran.exit_code == 2
    assert (
        f"{asked} checks made on both sides, 8 of them answered there: {asked - 8} differ, 0 for a known" in ran.stdout
    )
    assert len([line for line in told if line.endswith("authorized UNEXPLAINED")]) == asked - 8
    assert ran.stderr == (
        f"Error: {server.url} did not answer {asked - 8} of {asked} checks for no known reason, so that these are not "
        "verified; see above\n"
    )


def test_a_source_server_that_fails_at_every_check_verifies_nothing(reference: Reference, sqlite_url: str) -> None:
    reference.fails = broken_checks

    with reference_server(reference) as server:
        ran = moved(server.url, sqlite_url, "--sample", "20", key=OLD_KEY)
        unasked = moved(server.url, sqlite_url, "--sample", "0", key=OLD_KEY)

    [asked] = re.findall(r"^(\d+) checks made on both sides, none of them answered there$", ran.stdout, re.MULTILINE)
    told = checks_in_the_last_table(ran.stdout)
    assert ran.exit_code == 2
    assert "known reason" not in ran.stdout
    assert len([line for line in told if " no answer (500) " in line and line.endswith("UNEXPLAINED")]) == int(asked)
    assert ran.stderr == (
        f"Error: {server.url} did not answer {asked} of {asked} checks for no known reason, so that these are not "
        "verified; see above\n"
    )
    assert (unasked.exit_code, unasked.stdout.splitlines()[-1]) == (0, "no check was made")


def test_counts_that_differ_are_reported_though_no_check_is_answered(reference: Reference, sqlite_url: str) -> None:
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, "--sample", "0", key=OLD_KEY)
        reference.grant("document:new#viewer@user:ann")
        reference.fails = broken_checks
        ran = moved(server.url, sqlite_url, "--verify-only", "--sample", "20", key=OLD_KEY)

    assert ran.exit_code == 2
    assert ran.stderr == f"Error: what is here is not what {server.url} has; see above\n"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (5, "UNEXPLAINED"),
        ({"a": 1}, "UNEXPLAINED"),
        ([5], "UNEXPLAINED"),
        ([{"subject": "text"}], comparing.LEFT_OUT),
    ],
)
def test_a_path_of_another_form_is_no_warrant(path: object, told: str, reference: Reference, sqlite_url: str) -> None:
    body = {"code": 200, "result": "Authorized", "decisionPath": {"x": path}}
    reference.fails = lambda sent, number: Answered(200, encoded(body)) if sent.path == "/v2/check" else None

    ran = moved_from(reference, sqlite_url, "--sample", "6")

    assert f"authorized not authorized {told}" in " ".join(lines_of(ran.stdout)), ran.output


def test_a_database_that_is_not_there_is_reported_and_not_made(database_url: str, tmp_path: Path) -> None:
    missing = re.sub(r"(?<=/)(magistrate.db|test_\d+)", "missing", database_url)

    ran = moved_from(Reference(), missing, "--verify-only")

    assert missing != database_url
    assert ran.exit_code == 2
    assert re.search('there is no SQLite database .*/missing$|database "missing" does not exist$', ran.stderr.rstrip())
    assert not (tmp_path / "missing").exists()


def test_verifying_writes_nothing(reference: Reference, sqlite_url: str) -> None:
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, key=OLD_KEY)
        reference.grant("document:new#viewer@user:ann")
        before = dump(sqlite_url)
        ran = moved(server.url, sqlite_url, "--verify-only", key=OLD_KEY)

    assert ran.exit_code == 2
    assert "warrants 14 0 13 DIFFERS" in lines_of(ran.stdout)
    assert dump(sqlite_url) == before


@CROSSWISE
def test_a_grant_that_was_revoked_there_and_stands_here_is_named_though_all_counts_are_equal(
    reference: Reference, database_url: str
) -> None:
    with reference_server(reference) as server:
        moved(server.url, database_url, "--sample", "0", key=OLD_KEY)
        revoked = reference.warrants.pop(2)
        reference.grant("document:d0#viewer@user:u1")
        ran = moved(server.url, database_url, "--verify-only", "--sample", "0", key=OLD_KEY)

    assert (revoked["objectId"], revoked["subject"]["objectId"]) == ("d0", "u0")
    assert ran.exit_code == 2
    assert lines_of(ran.stdout)[1:] == [
        "object types 4 0 4",
        "objects 27 0 27",
        "warrants 13 0 13 DIFFERS",
        "ROWS KIND DIFFERENCE",
        "1 warrant is there, but not here",
        "1 warrant is here, but missing or refused there",
        "KIND ROW DIFFERENCE",
        "warrant document:d0#viewer@user:u1 is there, but not here",
        "warrant document:d0#viewer@user:u0 is here, but missing or refused there",
        "no check was made",
    ]


def test_objects_with_other_meta_and_warrants_of_another_age_are_named(reference: Reference, sqlite_url: str) -> None:
    reference.objects[0]["meta"] = {"a": 1, "b": {"c": 2, "d": 3}}
    reference.objects[1]["meta"] = {"a": 1}
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, "--sample", "0", key=OLD_KEY)
        reference.objects[0]["meta"] = {"b": {"d": 3, "c": 2}, "a": 1}
        reference.objects[1]["meta"] = {"a": 2}
        reference.warrants[-1]["createdAt"] = "2025-01-01T00:00:00Z"
        ran = moved(server.url, sqlite_url, "--verify-only", "--sample", "0", key=OLD_KEY)

    lines = lines_of(ran.stdout)
    assert ran.exit_code == 2
    assert lines[lines.index("KIND ROW DIFFERENCE") :] == [
        "KIND ROW DIFFERENCE",
        "object folder:b has other meta here",
        'warrant folder:b#viewer@user:bob[day == "monday"] has another createdAt here',
        "no check was made",
    ]


def test_as_many_differences_as_wanted_are_named_and_all_are_counted(reference: Reference, sqlite_url: str) -> None:
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, "--sample", "0", key=OLD_KEY)
        reference.grant(*(f"document:z{number}#viewer@user:u0" for number in range(7)))
        options = ["--verify-only", "--sample", "0", "--differences"]
        two = moved(server.url, sqlite_url, *options, "2", key=OLD_KEY)
        none = moved(server.url, sqlite_url, *options, "0", key=OLD_KEY)

    for ran in (two, none):
        assert "7 warrant is there, but not here" in lines_of(ran.stdout)
    named = [line for line in lines_of(two.stdout) if line.startswith("warrant document:z")]
    assert named == [f"warrant document:z{number}#viewer@user:u0 is there, but not here" for number in (0, 1)]
    assert "KIND ROW" not in " ".join(lines_of(none.stdout))


def test_a_comparison_is_printed_as_json(reference: Reference, sqlite_url: str) -> None:
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, "--sample", "0", key=OLD_KEY)
        same = moved(server.url, sqlite_url, "--verify-only", "--json", "--sample", "5", key=OLD_KEY)
        reference.warrants.pop(2)
        reference.types.pop()
        ran = moved(server.url, sqlite_url, "--verify-only", "--json", "--sample", "60", key=OLD_KEY)

    equal, different = json.loads(same.stdout), json.loads(ran.stdout)
    assert (same.exit_code, ran.exit_code) == (0, 2)
    assert (equal["agree"], equal["rows"], equal["objectTypes"], equal["checks"]["differences"]) == (True, [], [], [])
    assert equal["checks"]["compared"] == equal["checks"]["answered"] > 0
    assert different["agree"] is False
    assert different["counts"][2] == {"kind": "warrant", "source": 12, "refused": 0, "here": 13}
    assert different["objectTypes"] == [{"type": "user", "difference": comparing.MISSING_THERE}]
    assert different["rows"] == [
        {"kind": "warrant", "category": "extra", "total": 1, "rows": ["document:d0#viewer@user:u0"]}
    ]
    assert {
        "check": "document:d0#viewer@user:u0",
        "source": "not authorized",
        "here": "authorized",
        "reason": None,
    } in different["checks"]["differences"]


def test_checks_are_drawn_from_the_warrants_of_both_sides(reference: Reference, sqlite_url: str) -> None:
    with reference_server(reference) as server:
        moved(server.url, sqlite_url, "--sample", "0", key=OLD_KEY)
        kept = reference.warrants[:]
        reference.warrants.clear()
        ran = moved(server.url, sqlite_url, "--verify-only", "--sample", "40", key=OLD_KEY)

    shown = lines_of(ran.stdout)
    assert len(kept) == 13
    assert ran.exit_code == 2
    assert "document:d0#viewer@user:u0 not authorized authorized UNEXPLAINED" in shown
