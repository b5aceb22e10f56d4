"""`magistrate types`: from a file to the service and back, and described in words."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from magistrate.cli.models.object_types import describe_relations
from magistrate.client import Client
from tests.cli.cases import Magistrate

FOLDER: dict[str, Any] = {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}}
FILE: dict[str, Any] = {"owner": {}, "editor": {"inheritIf": "owner"}}


@pytest.fixture
def clean(magistrate: Magistrate) -> Magistrate:
    """Without any object types."""
    for found in magistrate.json("types", "list", "--limit", "1000")["results"]:
        magistrate.done("types", "delete", found["type"])
    return magistrate


def applied(magistrate: Magistrate, value: object) -> list[str]:
    return magistrate.done("types", "apply", "-", typed=json.dumps(value)).splitlines()


@pytest.mark.parametrize(
    "value",
    [
        {"type": "file", "relations": FILE},
        [{"type": "file", "relations": FILE}],
        {"file": FILE},
        {"file": {**FILE, "owner": None}},
    ],
)
def test_each_form_of_a_file_defines_the_type(clean: Magistrate, value: object) -> None:
    assert applied(clean, value) == ["created    file"]
    assert clean.json("types", "show", "file")["relations"] == FILE
    assert applied(clean, value) == ["unchanged  file"]


def test_what_is_listed_can_be_applied_again(clean: Magistrate, tmp_path: Path) -> None:
    source = {"dbType": "postgres", "dbName": "main", "table": "file", "primaryKey": ["id"]}
    applied(clean, [{"type": "folder", "relations": FOLDER}, {"type": "file", "relations": FILE, "source": source}])
    before = clean.json("types", "list")
    for listed in (before, before["results"]):
        (tmp_path / "types.json").write_text(json.dumps(listed))

        again = clean.done("types", "apply", str(tmp_path / "types.json"))

        assert again.splitlines() == ["unchanged  file", "unchanged  folder"]
    assert clean.json("types", "list") == before


def test_new_changed_and_unchanged_are_distinguished_and_others_stay(clean: Magistrate) -> None:
    applied(clean, {"file": FILE, "folder": FOLDER, "other": {}})

    done = applied(clean, {"file": {"owner": {}}, "folder": FOLDER, "user": {}})

    assert done == ["changed    file", "created    user", "unchanged  folder"]
    assert [found["type"] for found in clean.json("types", "list")["results"]] == ["file", "folder", "other", "user"]


def test_names_that_do_not_exist_are_written_with_a_warning(clean: Magistrate) -> None:
    rules = {"viewer": {"inheritIf": "owner"}, "editor": {"inheritIf": "x", "ofType": "no", "withRelation": "viewer"}}

    for options in ([], ["--json"]):
        clean("types", "delete", "file")
        result = clean("types", "apply", "-", *options, typed=json.dumps({"file": rules}))

        assert result.exit_code == 0
        assert sorted(result.stderr.splitlines()) == [
            "Warning: file#editor: object type no is not defined",
            "Warning: file#viewer: relation owner is not defined on file",
        ]


def test_json_holds_the_types_by_what_became_of_them(clean: Magistrate) -> None:
    applied(clean, {"file": FILE})

    done = json.loads(clean.done("types", "apply", "-", "--json", typed=json.dumps({"file": {}, "folder": FOLDER})))

    assert {word: [one["type"] for one in found] for word, found in done.items()} == {
        "created": ["folder"],
        "changed": ["file"],
        "unchanged": [],
    }
    assert done["created"][0]["relations"] == FOLDER


def test_more_types_than_a_request_takes_are_changed(clean: Magistrate) -> None:
    names = [f"type-{number:03}" for number in range(101)]

    created = applied(clean, {name: {} for name in names})
    changed = applied(clean, {name: FILE for name in names})

    assert created == [f"created    {name}" for name in names]
    assert changed == [f"changed    {name}" for name in names]


def test_changes_are_made_together_or_not_at_all(clean: Magistrate) -> None:
    applied(clean, {"file": FILE, "folder": FOLDER})

    fault = clean.failed("types", "apply", "-", typed='{"file": {}, "folder": {"a": {"inheritIf": "anyOf"}}}')

    assert fault == "folder#a: the rule has no rules"
    assert clean.json("types", "show", "file")["relations"] == FILE


def test_more_types_than_a_request_takes_are_written_together_or_not_at_all(clean: Magistrate) -> None:
    names = [f"type-{number:03}" for number in range(100)]
    applied(clean, {"other": FILE})
    clean.done("policies", "apply", "-", typed='{"name": "open", "expression": "true"}')

    fault = clean.failed("types", "apply", "-", typed=json.dumps({name: {} for name in [*names, "Folder"]}))

    loop = {"a": {"inheritIf": "noneOf", "rules": [{"inheritIf": "a"}]}}
    in_loop = clean.failed("types", "apply", "-", typed=json.dumps({name: loop for name in [*names, "folder"]}))

    assert fault.startswith("type of Folder: can only contain lower-case")
    assert in_loop == "a relation depends on its own negation: folder#a -> not folder#a"
    assert [found["type"] for found in clean.json("types", "list", "--limit", "1000")["results"]] == ["other"]
    assert len(applied(clean, {name: {"a": None} for name in [*names, "folder"]})) == 101
    listed = clean.json("types", "list", "--limit", "1000")["results"]
    assert [found["type"] for found in listed] == ["folder", "other", *names]
    assert [found["name"] for found in clean.json("policies", "list")["results"]] == ["open"]


def test_a_model_that_was_changed_in_between_is_not_overwritten(
    clean: Magistrate, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_model = Client.read_model

    def read_before_another_writes(client: Client) -> tuple[dict[str, Any], str]:
        found = read_model(client)
        applied(clean, {"other": FILE})
        return found

    monkeypatch.setattr(Client, "read_model", read_before_another_writes)

    fault = clean.failed("types", "apply", "-", typed=json.dumps({f"type-{number}": {} for number in range(101)}))

    assert "the model has changed since that token" in fault
    assert [found["type"] for found in clean.json("types", "list")["results"]] == ["other"]


@pytest.mark.parametrize(
    ("typed", "fault"),
    [
        ("", "the file is not valid JSON"),
        ("[1", "the file is not valid JSON"),
        ('{"file": {}, "file": {}}', "a member is given twice"),
        ("1", "the file contains no object types; write {"),
        ("[1]", "does not contain object types; write {"),
        ('{"file": 1}', "does not contain object types"),
        ('{"type": "file"}', "does not contain object types"),
        ('[{"relations": {}}]', "does not contain object types"),
        ('[{"type": "a", "relations": {}}, {"type": "a", "relations": {}}]', "the file names the type a twice"),
        (
            '{"file": {"a": {"inheritsIf": "b"}}}',
            "'inheritsIf' is not a member of rules; the members are forAll, inheritIf, ",
        ),
        ('{"file": {"a": {"inheritIf": "anyOf", "rules": [{}, {"x": 1}]}}}', "file#a: 'x' is not a member of rules"),
        ('{"file": {"relations": {"viewer": {}}}}', "file#relations: 'viewer' is not a member of rules"),
        ('{"file": {"a": []}}', "file#a: a rule is a JSON object"),
        ('{"file": {"a": {"inheritIf": "anyOf", "rules": 1}}}', "file#a: the rules in a rule are a JSON array"),
        ('{"file": {"a": {"inheritIf": "anyOf", "rules": {"b": 1}}}}', "file#a: the rules in a rule are"),
        ('{"file": {"a": {"inheritIf": "anyOf", "rules": []}}}', "file#a: the rule has no rules"),
        ('{"file": {"a": {"inheritIf": "b", "ofType": "c"}}}', "file#a: the rule has no withRelation"),
        ('{"file": {"a": {"inheritIf": "b", "withRelation": "c"}}}', "file#a: the rule has no ofType"),
        ('{"file": {"a": {"inheritIf": "allOf", "rules": [{"rules": [{}]}]}}}', "file#a: the rule has no inheritIf"),
        ('{"File": {}}', "type of File: can only contain lower-case"),
    ],
)
def test_a_file_that_cannot_be_is_reported_and_changes_nothing(clean: Magistrate, typed: str, fault: str) -> None:
    assert fault in clean.failed("types", "apply", "-", typed=typed)
    assert clean.json("types", "list") == {"results": []}


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["apply", "no-such-file"], "no-such-file"),
        (["show", "no-such"], "ObjectType no-such not found; `magistrate types list` shows"),
        (["delete", "no-such"], "ObjectType no-such not found"),
        (["show", ""], "'' cannot be the name of an object type"),
        (["delete", "../objects"], "'../objects' cannot be the name of an object type"),
        (["show", "\udcff"], "the input is not valid UTF-8"),
    ],
)
def test_what_is_not_there_is_reported(clean: Magistrate, arguments: list[str], fault: str) -> None:
    assert fault in clean.failed("types", *arguments)


def test_a_deleted_type_is_gone(clean: Magistrate) -> None:
    applied(clean, {"file": FILE, "folder": FOLDER})

    assert clean.done("types", "delete", "file") == "deleted  file\n"
    assert clean.json("types", "delete", "folder") == {"deleted": ["folder"]}
    assert clean("types", "list").stderr == "There are none\n"


def test_a_list_names_the_relations(clean: Magistrate) -> None:
    applied(clean, {"folder": FOLDER, "file": FILE})

    rows = [re.split(" {2,}", line) for line in clean.done("types", "list").splitlines()]

    assert [row[:2] for row in rows] == [
        ["TYPE", "RELATIONS"],
        ["file", "owner, editor"],
        ["folder", "parent, viewer"],
    ]


def test_a_type_is_shown_in_words(clean: Magistrate) -> None:
    applied(clean, {"folder": {**FOLDER, "owner": {}}})

    assert clean.done("types", "show", "folder").splitlines() == [
        "RELATION  GRANTED BY WARRANT, OR TO",
        "parent",
        "viewer    viewer of any folder that is its parent",
        "owner",
    ]


OWNER, BLOCKED = {"inheritIf": "owner"}, {"inheritIf": "blocked"}
OF_PARENT = {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}
NOT_BLOCKED = {"inheritIf": "noneOf", "rules": [BLOCKED]}
NEWER = {"inheritIf": "mostOf", "rules": [{}, BLOCKED, {"inheritIf": "anyOf", "rules": [OWNER, BLOCKED]}]}


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        ({}, [""]),
        (OWNER, ["owner"]),
        ({"inheritIf": "anyOf", "rules": [OWNER, OF_PARENT]}, ["owner", "viewer of any folder that is its parent"]),
        ({"inheritIf": "allOf", "rules": [OWNER, NOT_BLOCKED]}, ["owner and not blocked"]),
        ({"inheritIf": "noneOf", "rules": [OWNER, BLOCKED]}, ["not owner and not blocked"]),
        (
            {"inheritIf": "noneOf", "rules": [{"inheritIf": "allOf", "rules": [OWNER, BLOCKED]}]},
            ["not (owner and blocked)"],
        ),
        (
            {"inheritIf": "allOf", "rules": [{"inheritIf": "anyOf", "rules": [OWNER, OF_PARENT]}, NOT_BLOCKED]},
            ["(owner or (viewer of any folder that is its parent)) and not blocked"],
        ),
        ({"inheritIf": "anyOf", "rules": [{}, None, NOT_BLOCKED]}, ["", "", "not blocked"]),
        ({"inheritIf": "allOf", "rules": [{}, OWNER]}, ["nobody and owner"]),
        ({"inheritIf": "allOf", "rules": [OWNER, NEWER]}, ["owner and (mostOf(nobody, blocked, owner or blocked))"]),
    ],
)
def test_rules_in_words(rule: dict[str, Any], lines: list[str]) -> None:
    assert [line for _, line in describe_relations({"viewer": rule})] == lines


def test_a_file_that_is_not_utf_8_is_reported(clean: Magistrate, tmp_path: Path) -> None:
    (tmp_path / "types.json").write_bytes(b'{"a": "\xff"}')

    assert "not valid UTF-8" in clean.failed("types", "apply", str(tmp_path / "types.json"))


LIMITED = {"type": "file", "relations": {"a": {}, "b": {"inheritIf": "a"}}, "allowedTypes": {"a": ["user"], "b": []}}


def test_allowed_types_are_applied_and_shown(clean: Magistrate) -> None:
    applied(clean, {"user": {}})
    assert clean.done("types", "apply", "-", typed=json.dumps(LIMITED)).startswith("created")
    assert clean.done("types", "apply", "-", typed=json.dumps(LIMITED)).startswith("unchanged")

    shown = clean.done("types", "show", "file")

    assert [line.split() for line in shown.splitlines()] == [
        ["RELATION", "ALLOWED", "TYPES", "GRANTED", "BY", "WARRANT,", "OR", "TO"],
        ["a", "user"],
        ["b", "none", "a"],
    ]


def test_warrants_that_are_not_allowed_any_more_are_kept_if_that_is_asked_for(clean: Magistrate) -> None:
    applied(clean, {"file": {"a": {}}, "user": {}})
    clean.done("warrants", "create", "file:x#a@team:eng#member")
    limited = json.dumps({"type": "file", "relations": {"a": {}}, "allowedTypes": {"a": ["user"]}})

    refused = clean.failed("types", "apply", "-", typed=limited)
    clean.done("types", "apply", "-", "--keep-existing", typed=limited)

    assert "file:x#a@team:eng#member" in refused
    assert "file:x#a@team:eng#member" in clean.done("warrants", "list", "--stranded")


def test_descriptions_stand_above_the_relations(clean: Magistrate) -> None:
    texts = {"description": "A file.", "descriptions": {"a": "May read it.\nAnd nothing else."}}
    clean.done("types", "apply", "-", typed=json.dumps({"type": "file", "relations": {"a": {}}} | texts))

    shown = clean.done("types", "show", "file").splitlines()

    assert shown[:4] == ["A file.", "a: May read it.", "   And nothing else.", ""]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_what_nobody_reads_is_applied_and_no_failure(
    magistrate: Magistrate, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "types.json").write_text('{"sheet": {"viewer": {}}, "cell": {}}')
    (tmp_path / "policies.json").write_text('[{"name": "early", "expression": "true"}]')

    for kind in ("types", "policies"):
        assert magistrate.run_unread(kind, "apply", str(tmp_path / f"{kind}.json"), *options) == (0, b"")

    assert {"sheet", "cell"} <= {one["type"] for one in magistrate.json("types", "list")["results"]}
    assert "early" in {one["name"] for one in magistrate.json("policies", "list")["results"]}
