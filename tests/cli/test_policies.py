"""`magistrate policies`: from a file to the service and back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cases import Magistrate

WEEKDAYS: dict[str, Any] = {"name": "weekdays", "parameters": {"day": "integer"}, "expression": "day < 6"}
ALWAYS = {"name": "always", "expression": "1 == 1", "description": "Holds.\nAlways."}


@pytest.fixture
def clean(magistrate: Magistrate) -> Magistrate:
    """Without any policies."""
    for found in magistrate.json("policies", "list", "--limit", "1000")["results"]:
        magistrate.done("policies", "delete", found["name"])
    return magistrate


def apply(magistrate: Magistrate, value: object) -> list[str]:
    return magistrate.done("policies", "apply", "-", typed=json.dumps(value)).splitlines()


def test_new_changed_and_unchanged_are_distinguished_and_others_stay(clean: Magistrate) -> None:
    assert apply(clean, WEEKDAYS) == ["created    weekdays"]
    assert apply(clean, [ALWAYS, WEEKDAYS]) == ["created    always", "unchanged  weekdays"]
    assert apply(clean, WEEKDAYS | {"expression": "day < 5"}) == ["changed    weekdays"]
    assert apply(clean, ALWAYS) == ["unchanged  always"]

    names = [row["name"] for row in clean.json("policies", "list")["results"]]
    assert names == ["always", "weekdays"]


def test_what_is_listed_can_be_applied_and_imported_again(clean: Magistrate, tmp_path: Path) -> None:
    apply(clean, [ALWAYS, WEEKDAYS])
    before = clean.json("policies", "list")
    lines = "".join(json.dumps(row) + "\n" for row in before["results"])

    again = apply(clean, before)
    imported = clean.done("import", "-", "--database-url", f"sqlite:///{tmp_path}/m.db", typed=lines)

    assert again == ["unchanged  always", "unchanged  weekdays"]
    assert clean.json("policies", "list") == before
    assert imported.endswith("0 object types, 0 objects, 0 warrants, 2 policies\n")


def test_a_policy_is_shown_and_deleted(clean: Magistrate) -> None:
    apply(clean, [ALWAYS, WEEKDAYS])

    assert clean.done("policies", "show", "always").splitlines() == ["Holds.", "Always.", "always()", "    1 == 1"]
    assert clean.json("policies", "show", "weekdays")["parameters"] == {"day": "integer"}
    assert "weekdays  day integer  day < 6" in clean.done("policies", "list")
    assert clean.done("policies", "delete", "always") == "deleted  always\n"
    assert clean.json("policies", "delete", "weekdays") == {"deleted": ["weekdays"]}
    assert "weekdays not found" in clean.failed("policies", "show", "weekdays")


def test_json_holds_the_policies_by_what_became_of_them(clean: Magistrate) -> None:
    done = json.loads(clean.done("policies", "apply", "-", "--json", typed=json.dumps([WEEKDAYS])))

    assert [one["name"] for one in done["created"]] == ["weekdays"]
    assert done["changed"] == done["unchanged"] == []


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("7", "contains no policies; write"),
        ('[{"expression": "1 == 1"}]', "does not contain policies; write"),
        ('[{"name": "a", "expression": "1 == 1"}, {"name": "a", "expression": "1 == 1"}]', "names the policy a twice"),
        ('{"name": "a", "expression": "1 =="}', "expression"),
        ('{"name": "a", "expresion": "1 == 1"}', "expresion"),
        ('{"name": "a", "expression": "1 == 1", "text": ""}', "a: 'text' is not a member of policies; the members are"),
    ],
)
def test_a_file_that_is_wrong_is_refused(clean: Magistrate, value: str, message: str) -> None:
    assert message in clean.failed("policies", "apply", "-", typed=value)
    assert clean.json("policies", "list")["results"] == []


def test_more_policies_than_a_request_takes_are_written_together_or_not_at_all(clean: Magistrate) -> None:
    wanted = [{"name": f"policy_{number:03}", "parameters": {}, "expression": "true"} for number in range(101)]
    wanted[100]["expression"] = "1 +"
    faulty = json.dumps(wanted)
    wanted[100]["expression"] = "false"

    fault = clean.failed("policies", "apply", "-", typed=faulty)
    none_written = clean.json("policies", "list")["results"]
    created = clean.done("policies", "apply", "-", typed=json.dumps(wanted)).splitlines()

    assert fault.startswith("expression of policy_100: ")
    assert none_written == []
    assert created == [f"created    {one['name']}" for one in wanted]
