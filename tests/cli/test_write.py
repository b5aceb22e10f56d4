"""`magistrate write`: the file, and what is made of it."""

import json
from pathlib import Path

import pytest

from magistrate.cli.writes.write import read_write
from magistrate.errors import InvalidRequest
from tests.cli.cases import Magistrate
from tests.scenario_files import warrant_body

TYPES = '{"memo": {"owner": {}, "reader": {}}}'

IN_YAML = """
preconditions:
  - exists: memo:plan#owner@user:ann
  - absent: memo:new
delete:
  warrants:
    - memo:plan#owner@user:ann
create:
  objects: [{objectType: memo, objectId: new, meta: {due: 2026-11-22, open: no}}, user:carol]
  warrants: ["memo:plan#owner@user:bob[amount < 10]"]
"""


@pytest.fixture
def owned(magistrate: Magistrate) -> Magistrate:
    """With one memo, which Ann owns."""
    magistrate.done("types", "apply", "-", typed=TYPES)
    for name in ("memo", "user"):
        found = json.loads(magistrate("objects", "list", "--type", name, "--json", "--no-strict").stdout)["results"]
        if found:
            magistrate.done("objects", "delete", *(f"{name}:{one['objectId']}" for one in found))
    magistrate.done("warrants", "create", "memo:plan#owner@user:ann")
    return magistrate


def owners(magistrate: Magistrate) -> list[str]:
    found = json.loads(magistrate("warrants", "list", "--object-type", "memo", "--json").stdout)["results"]
    return [one["subject"]["objectId"] for one in found]


def test_a_file_in_yaml_is_written(owned: Magistrate, tmp_path: Path) -> None:
    (tmp_path / "change.yaml").write_text(IN_YAML)

    printed = owned.done("write", str(tmp_path / "change.yaml"))

    assert printed == "created    3\ndeleted    1\nunchanged  0\n"
    assert owners(owned) == ["bob"]
    [made] = owned.json("objects", "list", "--type", "memo", "-q", "new")["results"]
    assert made["meta"] == {"due": "2026-11-22", "open": "no"}


def test_the_body_of_the_api_is_read_from_standard_input(owned: Magistrate) -> None:
    body = {"delete": {"warrants": [warrant_body("memo:plan#owner@user:ann")]}, "create": {"objects": ["user:ann"]}}

    result = owned("write", "-", "--json", typed=json.dumps(body))

    assert json.loads(result.stdout) == {"created": 0, "deleted": 1, "unchanged": 1}
    assert owners(owned) == []


def test_a_failed_precondition_is_named_and_nothing_is_written(owned: Magistrate) -> None:
    body = json.dumps({
        "preconditions": [{"exists": "memo:plan"}, {"absent": "memo:plan#owner@user:ann"}],
        "create": {"warrants": ["memo:plan#owner@user:bob"]},
    })  # fmt: skip

    said = owned.failed("write", "-", typed=body)
    as_json = json.loads(owned.failed("write", "-", "--json", typed=body))

    reason = "preconditions[1] does not hold: the warrant memo:plan#owner@user:ann exists; nothing was written"
    assert said == reason
    assert as_json == {"code": "precondition_failed", "message": reason}
    assert owners(owned) == ["ann"]


def test_a_revision_is_that_of_an_answer(owned: Magistrate) -> None:
    body = json.dumps({"preconditions": [{"revision": "latest"}], "create": {"objects": ["user:x"]}})

    assert owned.failed("write", "-", typed=body).startswith("preconditions[0].revision: must be a token")


@pytest.mark.parametrize(
    ("typed", "fault"),
    [
        ("", "the file contains no write; write {"),
        ("- a", "the file contains no write; write {"),
        ("{}", "a write must delete and create 1 to 1000 elements in all, not 0"),
        ('{"create": {"warrants": ["memo:plan"]}}', "create.warrants[0]: 'memo:plan' does not read as type:id#"),
        ('{"create": {"objects": ["memo:a", "memo"]}}', "create.objects[1]: 'memo' is not an object; write it like"),
        ('{"preconditions": [{"exists": "memo"}]}', "preconditions[0].exists: 'memo' is not an object"),
        (
            '{"create": {"warrant": ["memo:a#owner@user:b"]}}',
            "create.warrant: is not a member of this request; did you",
        ),
        ('{"delete": {"warrants": [1]}}', "delete.warrants: must be an object"),
        (
            '{"create": {"warrants": ["memo:a#ower@user:b"]}}',
            "create.warrants[0].relation: the relation does not exist",
        ),
        ('{"delete": {"warrants": ["memo:a#owner@user:b"]}}', "Warrant memo:a#owner@user:b not found; "),
        ("{", "the file is not valid JSON"),
        ('{"create": {}, "create": {}}', "the file is not valid JSON: a member is given twice"),
        ("create: {", "the file is not valid YAML: "),
        (
            "create: {}\ncreate: {}",
            "the file is not valid YAML: a member is given twice in one object (line 1, column 1)",
        ),
        ("a: &x 1\nb: *x", "the file is not valid YAML: aliases are not supported (line 2, column 4)"),
        ("a: !!timestamp 2026-11-22", "the file is not valid YAML: could not determine a constructor for the tag"),
        ("a: !!python/name:os.system", "the file is not valid YAML: could not determine a constructor for the tag"),
        ("a: 1\n---\nb: 1", "the file is not valid YAML: but found another document (line 2, column 1)"),
        ("? [a]\n: b", "the file is not valid YAML: the name of a member must be a text"),
        ("a: \x00", "the file is not valid YAML: unacceptable character"),
        ("a: " + "[" * 5_000, "the file is not valid YAML: nests 100 deep at most"),
    ],
)
def test_what_cannot_be_written_is_reported(owned: Magistrate, typed: str, fault: str) -> None:
    assert owned.failed("write", "-", typed=typed).startswith(fault)
    assert owners(owned) == ["ann"]


def test_a_file_that_is_not_there_is_reported(magistrate: Magistrate) -> None:
    assert "no-such.yaml" in magistrate.failed("write", "no-such.yaml")


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("1", 1),
        ("-1.5e3", -1500.0),
        ("010", "010"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("1:30", "1:30"),
        ("yes", "yes"),
        ("True", "True"),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("2026-11-22", "2026-11-22"),
        ("'1'", "1"),
        ("<<", "<<"),
    ],
)
def test_scalars_of_yaml_are_those_of_json(scalar: str, value: object) -> None:
    assert read_write(f"create: {scalar}") == {"create": value}


def test_texts_are_read_where_warrants_and_objects_stand() -> None:
    subject = {"objectType": "user", "objectId": "ann", "relation": ""}
    warrant = {"objectType": "memo", "objectId": "a", "relation": "owner", "subject": subject, "policy": ""}
    ref = {"objectType": "memo", "objectId": "a@b"}

    read = read_write(
        '{"preconditions": [{"exists": "memo:a#owner@user:ann"}, {"absent": "memo:a@b", "revision": "t:1#a"}, "x"], '
        '"delete": {"objects": ["memo:a@b", 1], "other": ["memo:a@b"]}, '
        '"create": {"warrants": ["memo:a#owner@user:ann"]}}'
    )

    assert read == {
        "preconditions": [{"exists": warrant}, {"absent": ref, "revision": "t:1#a"}, "x"],
        "delete": {"objects": [ref, 1], "other": ["memo:a@b"]},
        "create": {"warrants": [warrant]},
    }
    with pytest.raises(InvalidRequest, match=r"^delete\.objects\[0\]: "):
        read_write('{"delete": {"objects": ["nothing"]}}')
