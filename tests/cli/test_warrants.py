"""`magistrate warrants`: create, delete and list."""

import json

import pytest

from magistrate.cli.writes import warrants as warrants_command
from magistrate.cli.writes.warrants import read_where
from magistrate.client import Client
from magistrate.errors import ServiceUnreachable
from tests.cli.cases import Magistrate
from tests.ids import STRANGE_IDS

TYPES = '{"note": {"reader": {}, "writer": {}}}'
NOTED = [
    "note:a#reader@user:ann",
    "note:a#reader@team:eng#member",
    "note:b#writer@user:ann[amount < 10]",
    "note:*#reader@user:*",
]


@pytest.fixture
def noted(magistrate: Magistrate) -> Magistrate:
    """With the warrants of NOTED and no others on notes."""
    magistrate.done("types", "apply", "-", typed=TYPES)
    if found := listed(magistrate):
        magistrate.done("warrants", "delete", *found)
    magistrate.done("warrants", "create", *NOTED)
    return magistrate


def listed(magistrate: Magistrate, *filters: str) -> list[str]:
    result = magistrate("warrants", "list", "--object-type", "note", *filters)
    assert result.exit_code == 0
    return [line.rsplit("  ", 1)[0].rstrip() for line in result.stdout.splitlines()[1:]]


def test_what_is_listed_is_in_the_form_that_is_typed_and_in_order(noted: Magistrate) -> None:
    assert listed(noted) == NOTED


def test_creating_again_changes_nothing(noted: Magistrate) -> None:
    again = noted.done("warrants", "create", NOTED[2])

    assert again == f"unchanged  {NOTED[2]}\n"
    assert listed(noted) == NOTED


def test_a_policy_is_given_in_brackets_or_apart(noted: Magistrate) -> None:
    noted.done("warrants", "create", "note:c#reader@user:ann", "note:d#reader@user:ann", "--policy", "vip")

    assert listed(noted)[4:] == ["note:c#reader@user:ann[vip]", "note:d#reader@user:ann[vip]"]
    noted.done("warrants", "delete", "note:c#reader@user:ann[vip]")
    noted.done("warrants", "delete", "note:d#reader@user:ann", "--policy", "vip")
    assert listed(noted) == NOTED


def test_json_holds_what_was_written_and_deleted(noted: Magistrate) -> None:
    [created] = noted.json("warrants", "create", NOTED[2])
    found = noted.json("warrants", "list", "--object-id", "b", "--relation", "writer")

    assert created["policy"] == "amount < 10"
    assert found == {"results": [created]}
    assert noted.json("warrants", "delete", NOTED[2]) == {"deleted": [NOTED[2]]}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["--object-id", "a"], [0, 1, 3]),
        (["--object-id", "b"], [2, 3]),
        (["--relation", "writer"], [2]),
        (["--subject-type", "user"], [0, 2, 3]),
        (["--subject-id", "ann"], [0, 2, 3]),
        (["--subject-id", "*"], [3]),
        (["--subject-relation", "member"], [1]),
        (["--object-id", "a", "--subject-type", "team", "--subject-id", "eng"], [1]),
        (["--relation", "no-such", "--no-strict"], []),
    ],
)
def test_filters(noted: Magistrate, filters: list[str], expected: list[int]) -> None:
    assert listed(noted, *filters) == [NOTED[place] for place in expected]


@pytest.mark.parametrize("object_id", STRANGE_IDS)
def test_what_is_listed_of_strange_ids_can_be_typed_again(noted: Magistrate, object_id: str) -> None:
    noted.done("warrants", "create", f"note:{object_id}#reader@user:{object_id}")

    [row] = [one for one in listed(noted, "--subject-id", object_id, "--object-id", object_id) if one not in NOTED]

    assert row == f"note:{object_id}#reader@user:{object_id}"
    assert noted.done("check", row).startswith("allowed")
    assert noted.done("check", f'note:"{object_id}"#reader@user:"{object_id}"').startswith("allowed")
    assert noted.json("objects", "get", f"user:{object_id}")["objectId"] == object_id
    assert f"note:{object_id} " in noted.done("query", f'select note where user:"{object_id}" is reader')
    assert noted.done("warrants", "delete", row) == f"deleted  {row}\n"


def test_a_limit_is_said_when_there_is_more(noted: Magistrate) -> None:
    few = noted("warrants", "list", "--object-type", "note", "--limit", "3")
    all_of_them = noted("warrants", "list", "--object-type", "note", "--limit", "4")
    none = noted("warrants", "list", "--object-type", "no-such", "--no-strict")

    assert (len(few.stdout.splitlines()), few.stderr) == (4, "These are the first 3; --limit shows more\n")
    assert (len(all_of_them.stdout.splitlines()), all_of_them.stderr) == (5, "")
    assert (none.stdout, none.stderr, none.exit_code) == ("", "There are none\n", 0)


def test_more_than_a_page_is_listed(magistrate: Magistrate) -> None:
    magistrate.done("types", "apply", "-", typed='{"leaf": {"reader": {}}}')
    for start in range(0, 1_100, 100):
        magistrate.done("warrants", "create", *[f"leaf:{n}#reader@user:ann" for n in range(start, start + 100)])

    found = magistrate("warrants", "list", "--object-type", "leaf", "--limit", "1050", "--json").stdout

    assert [one["objectId"] for one in json.loads(found)["results"]] == [str(number) for number in range(1_050)]


def test_several_are_created_and_deleted_all_or_none(noted: Magistrate) -> None:
    creating = noted.failed("warrants", "create", "note:z#reader@user:ann", "note:z#raeder@user:ann")
    deleting = noted.failed("warrants", "delete", NOTED[0], "note:z#reader@user:ann")

    assert creating.startswith("relation of note:z#raeder@user:ann: the relation does not exist on the specified")
    assert creating.endswith("; `magistrate types show TYPE` shows those that do")
    assert deleting.startswith("Warrant note:z#reader@user:ann not found; `magistrate warrants list` shows")
    assert listed(noted) == NOTED


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (["objectType=note"], [0, 1, 2, 3]),
        (["objectType=note,relation=reader"], [0, 1, 3]),
        (["objectType=note", "relation=reader,subjectType=user"], [0, 3]),
        (["objectType=note,objectId=*"], [3]),
        (['objectType=note,objectId="a"'], [0, 1]),
        (["objectType=note,subjectRelation=member"], [1]),
        (["objectType=note,subjectId=nobody"], []),
    ],
)
def test_all_that_match_are_deleted_and_counted(noted: Magistrate, where: list[str], expected: list[int]) -> None:
    options = [part for text in where for part in ("--where", text)]
    number = f"{len(expected)} warrant{'' if len(expected) == 1 else 's'}"

    assert noted.done("warrants", "delete", *options, "--dry-run") == f"would delete  {number}\n"
    assert listed(noted) == NOTED
    assert noted.done("warrants", "delete", *options) == f"deleted  {number}\n"
    assert listed(noted) == [text for place, text in enumerate(NOTED) if place not in expected]
    assert noted.json("warrants", "delete", *options) == {"deleted": 0, "more": False}


def test_what_matches_is_deleted_in_as_many_requests_as_it_takes(
    noted: Magistrate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warrants_command, "DELETED_AT_ONCE", 1)
    where = ("--where", "objectType=note,relation=reader")

    assert noted.done("warrants", "delete", *where, "--dry-run") == "would delete  more than 1 warrants\n"
    assert noted.json("warrants", "delete", *where) == {"deleted": 3, "more": False}
    assert listed(noted) == [NOTED[2]]


def test_a_failure_on_the_way_says_how_many_were_deleted(noted: Magistrate, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([{"deleted": 7, "more": True}])

    def delete_some(client: Client, only: object, limit: int, dry_run: bool = False) -> object:
        for answer in answers:
            return answer
        raise ServiceUnreachable(client.url, "no answer")

    monkeypatch.setattr(Client, "delete_matching_warrants", delete_some)

    fault = noted.failed("warrants", "delete", "--where", "objectType=note")

    assert "no answer; 7 warrants were deleted before that" in fault


@pytest.mark.parametrize("object_id", ["a,b", "a=b", "a,relation", "x,y,z", ",", "a,objectId"])
def test_an_id_may_have_commas(noted: Magistrate, object_id: str) -> None:
    noted.done("warrants", "create", f"note:{object_id}#reader@user:ann")

    deleted = noted.done("warrants", "delete", "--where", f"objectId={object_id},objectType=note")

    assert deleted == "deleted  1 warrant\n"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["objectId=a,relation=b"], {"objectId": "a", "relation": "b"}),
        (['objectId="a,relation=b"'], {"objectId": "a,relation=b"}),
        (['objectId="a,relation=b",subjectId="c"'], {"objectId": "a,relation=b", "subjectId": "c"}),
        (["objectId=a,", "relation=b"], {"objectId": "a,", "relation": "b"}),
    ],
)
def test_a_value_ends_where_the_next_member_begins(texts: list[str], expected: dict[str, str]) -> None:
    assert read_where(texts) == expected


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["delete"], "name the warrants, or give --where"),
        (["delete", "--dry-run", NOTED[0]], "--dry-run goes with --where"),
        (["delete", "--where", "objectType=note", NOTED[0]], "name the warrants, or give --where, not both"),
        (["delete", "--where", "objectType=note", "--policy", "x"], "--policy goes with warrants that are named"),
        (["delete", "--where", ""], "--where '' does not read as member=value"),
        (["delete", "--where", "note"], "--where 'note' does not read as member=value"),
        (["delete", "--where", "objectType="], "does not read as member=value"),
        (["delete", "--where", "objectType=note,objectId="], "does not read as member=value"),
        (["delete", "--where", "type=note"], "names type; the members are objectType, objectId, relation,"),
        (["delete", "--where", "objectType=note,objctId=a"], "objectType: can only contain lower-case"),
        (["delete", "--where", "objectType=a,objectType=b"], "--where gives objectType twice"),
        (["delete", "--where", "objectType=a", "--where", "objectType=b"], "--where gives objectType twice"),
        (["delete", "--where", "objectId=a b"], "objectId: can only contain letters"),
        (["create"], "Missing argument 'WARRANT...'"),
        (["create", "note:a"], "'note:a' does not read as"),
        (["create", "note:a#reader@user:ann[a]", "--policy", "b"], "has a policy already; leave out --policy"),
        (
            ["create", "note:a#reader@user:ann[a = 1]"],
            "policy of note:a#reader@user:ann[a = 1]: error validating policy",
        ),
        (["create", "nte:a#reader@user:ann"], "objectType of nte:a#reader@user:ann: the object type does not exist; "),
        (["list", "--limit", "0"], "0 is not in the range x>=1"),
        (["list", "--limit", "many"], "'many' is not a valid integer"),
    ],
)
def test_what_cannot_be_is_reported(noted: Magistrate, arguments: list[str], fault: str) -> None:
    assert fault in noted.failed("warrants", *arguments)


def test_a_warrant_that_is_not_there_is_named_with_its_policy(noted: Magistrate) -> None:
    fault = noted.failed("warrants", "delete", "note:b#writer@user:ann[amount < 99]")

    assert fault.startswith("Warrant note:b#writer@user:ann[amount < 99] not found")


def test_with_json_an_error_is_json_in_the_form_of_the_api(noted: Magistrate) -> None:
    unknown = noted("warrants", "create", "--json", "nope:a#reader@user:ann")
    unreachable = noted("warrants", "list", "--json", "--server", "http://127.0.0.1:1")

    assert (unknown.exit_code, unknown.stdout) == (unreachable.exit_code, unreachable.stdout) == (2, "")
    assert json.loads(unknown.stderr) == {
        "code": "invalid_parameter",
        "message": "objectType of nope:a#reader@user:ann: the object type does not exist; "
        "`magistrate types list` shows those that do",
        "parameter": "objectType of nope:a#reader@user:ann",
    }
    assert json.loads(unreachable.stderr)["code"] == "unreachable"


def test_a_policy_of_several_lines_stays_on_one(noted: Magistrate) -> None:
    noted.done("warrants", "create", "note:e#reader@user:ann[a ==\n1]")

    assert listed(noted, "--object-id", "e")[-1] == r"note:e#reader@user:ann[a ==\n1]"
