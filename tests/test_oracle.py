"""The oracle against answers worked out by hand, and the checks of scenarios against the oracle."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from magistrate.engine.model.object_types import read_object_type
from magistrate.engine.model.stratification import find_negation_loop
from magistrate.engine.rules.rule import RuleDefinition
from tests.oracle import (
    ANYTHING,
    OPERATORS,
    Combined,
    Expression,
    Interval,
    Node,
    Truth,
    all_of,
    any_of,
    check,
    in_force,
    interval,
    solution,
)
from tests.scenario_files import (
    ASKED_AT,
    CREATED_AT,
    FIRST_LINE,
    SCHEMA,
    Check,
    Scenario,
    claim,
    every_scenario,
    read_scenarios,
    scenario_paths,
    scenarios,
    schema,
    stored_warrant,
    warrant_body,
)

FALSE, UNKNOWN, UNDEFINED, TRUE = Truth


FOUR: dict[str, dict[str, Any]] = {"document": {"f": {}, "u": {}, "m": {}, "t": {}}}
FOUR_WARRANTS = ["document:1#u@user:ann[broken]", "document:1#m@team:eng#member", "document:1#t@user:ann"]
"""On document:1, ann has each relation with the value of its letter: FALSE, UNKNOWN, UNDEFINED, TRUE."""


def truth(model: dict[str, dict[str, Any]], warrants: list[str], ask: str) -> Truth:
    """The oracle's answer where the policies are only the words yes, no and broken."""
    stored = [stored_warrant(text, number, CREATED_AT) for number, text in enumerate(warrants, start=1)]
    outcomes = {"yes": True, "no": False, "broken": None}
    return check(model, stored, *claim(ask), lambda warrant: outcomes[warrant.policy])


def rule(keyword: str, *relations: str) -> dict[str, Any]:
    return {"inheritIf": keyword, "rules": [{"inheritIf": relation} for relation in relations]}


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ([], FALSE),
        ([""], TRUE),
        (["[yes]"], TRUE),
        (["[no]"], FALSE),
        (["[broken]"], UNKNOWN),
        (["[no]", "[broken]"], UNKNOWN),
        (["[broken]", "[yes]"], TRUE),
    ],
)
def test_a_direct_warrant_counts_as_much_as_its_policy(policies: list[str], expected: Truth) -> None:
    warrants = [f"document:1#viewer@user:ann{policy}" for policy in policies]

    assert truth({"document": {"viewer": {}}}, warrants, "document:1#viewer@user:ann") == expected


@pytest.mark.parametrize(
    ("warrant", "ask", "expected"),
    [
        ("document:1#viewer@user:*", "document:1#viewer@user:ann", TRUE),
        ("document:1#viewer@user:ann", "document:1#viewer@user:*", FALSE),
        ("document:*#viewer@user:ann", "document:1#viewer@user:ann", TRUE),
        ("document:1#viewer@user:ann", "document:*#viewer@user:ann", TRUE),
        ("document:1#viewer@team:eng#member", "document:1#viewer@team:eng#member", TRUE),
        ("document:1#viewer@team:eng#member", "document:1#viewer@team:eng", FALSE),
        ("document:1#viewer@team:eng", "document:1#viewer@team:eng#member", FALSE),
        ("document:1#viewer@team:*#member", "document:1#viewer@team:eng#member", TRUE),
        ("document:1#viewer@team:*", "document:1#viewer@team:eng#member", FALSE),
    ],
)
def test_a_direct_warrant_matches_by_id_or_wildcard_and_by_group(warrant: str, ask: str, expected: Truth) -> None:
    model: dict[str, dict[str, Any]] = {"document": {"viewer": {}}, "team": {"member": {}}}

    assert truth(model, [warrant], ask) == expected


@pytest.mark.parametrize(("policy", "expected"), [("", TRUE), ("[no]", UNDEFINED), ("[broken]", UNDEFINED)])
def test_on_an_undefined_type_only_a_direct_match_is_better_than_missing(policy: str, expected: Truth) -> None:
    assert truth({}, [f"document:1#viewer@user:ann{policy}"], "document:1#viewer@user:ann") == expected


def test_on_an_undefined_relation_groups_are_not_followed() -> None:
    model: dict[str, dict[str, Any]] = {"document": {}, "team": {"member": {}}}
    warrants = ["document:1#viewer@team:eng#member", "team:eng#member@user:ann", "document:1#viewer@user:bob"]

    assert truth(model, warrants, "document:1#viewer@user:ann") == FALSE
    assert truth(model, warrants, "document:1#viewer@user:bob") == TRUE


@pytest.mark.parametrize(
    ("group", "membership", "expected"),
    [
        ("", "", TRUE),
        ("[broken]", "", UNKNOWN),
        ("", "[broken]", UNKNOWN),
        ("[no]", "[broken]", FALSE),
        ("[broken]", "[no]", FALSE),
    ],
)
def test_a_group_is_as_true_as_the_lower_of_its_warrant_and_the_membership(
    group: str, membership: str, expected: Truth
) -> None:
    model: dict[str, dict[str, Any]] = {"document": {"viewer": {}}, "team": {"member": {}}}
    warrants = [f"document:1#viewer@team:eng#member{group}", f"team:eng#member@user:ann{membership}"]

    assert truth(model, warrants, "document:1#viewer@user:ann") == expected


def test_a_userset_wildcard_stands_for_the_relation_on_any_object() -> None:
    model: dict[str, dict[str, Any]] = {
        "document": {"viewer": {}},
        "team": {"lead": {}, "member": {"inheritIf": "lead"}},
    }
    warrants = ["document:1#viewer@team:*#member", "team:eng#lead@user:ann"]

    assert truth(model, warrants, "document:1#viewer@user:ann") == TRUE
    assert truth(model, warrants, "document:1#viewer@user:bob") == FALSE


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("document:1#parent@folder:f", TRUE),
        ("document:1#parent@folder:f[broken]", UNKNOWN),
        ("document:1#parent@folder:f#viewer", TRUE),
        ("document:1#parent@folder:*", TRUE),
        ("document:*#parent@folder:f", TRUE),
        ("document:1#parent@folder:g", FALSE),
        ("document:1#parent@shelf:f", FALSE),
        ("document:1#home@folder:f", FALSE),
        ("document:2#parent@folder:f", FALSE),
    ],
)
def test_a_related_object_is_one_that_a_stored_warrant_names(link: str, expected: Truth) -> None:
    through = {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}
    model: dict[str, dict[str, Any]] = {
        "document": {"home": {}, "parent": {"inheritIf": "home"}, "viewer": through},
        "folder": {"viewer": {}},
        "shelf": {"viewer": {}},
    }

    assert truth(
        model, [link, "folder:f#viewer@user:ann", "shelf:f#viewer@user:ann"], "document:1#viewer@user:ann"
    ) == (expected)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"inheritIf": "u"}, UNKNOWN),
        (rule("anyOf", "f", "u"), UNKNOWN),
        (rule("anyOf", "u", "m"), UNDEFINED),
        (rule("anyOf", "m", "t"), TRUE),
        (rule("allOf", "m", "t"), UNDEFINED),
        (rule("allOf", "u", "m"), UNKNOWN),
        (rule("allOf", "f", "u"), FALSE),
        (rule("noneOf", "f"), TRUE),
        (rule("noneOf", "u"), UNKNOWN),
        (rule("noneOf", "m"), UNDEFINED),
        (rule("noneOf", "t"), FALSE),
        (rule("noneOf", "f", "t"), FALSE),
        ({"inheritIf": "noneOf", "rules": [rule("noneOf", "u")]}, UNKNOWN),
        ({"inheritIf": "noneOf", "rules": [rule("noneOf", "t")]}, TRUE),
        ({"inheritIf": "noneOf", "rules": [None, {}]}, TRUE),
        ({"inheritIf": "t", "rules": [{"inheritIf": "f"}]}, TRUE),
        ({"inheritIf": "anyOf", "ofType": "x", "withRelation": "y", "rules": [{"inheritIf": "t"}]}, TRUE),
        ({"inheritIf": "AnyOf"}, FALSE),
        ({"inheritIf": ""}, FALSE),
        ({}, FALSE),
        (None, FALSE),
    ],
)
def test_a_rule_has_the_value_its_operator_makes_of_the_others(asked: dict[str, Any] | None, expected: Truth) -> None:
    model = {"document": {**FOUR["document"], "asked": asked}}

    assert truth(model, FOUR_WARRANTS, "document:1#asked@user:ann") == expected


def test_a_relation_that_ties_itself_through_noneof_is_unknown_and_the_rest_is_known() -> None:
    model = {
        "document": {
            "member": {},
            "blocked": {},
            "open": rule("noneOf", "blocked"),
            "viewer": rule("allOf", "member", "open"),
        }
    }
    warrants = ["document:1#blocked@document:1#viewer", "document:1#member@user:ann"]

    assert truth(model, warrants, "document:1#viewer@user:ann") == UNKNOWN
    assert truth(model, warrants, "document:1#blocked@user:ann") == UNKNOWN
    assert truth(model, warrants, "document:1#member@user:ann") == TRUE
    assert truth(model, warrants, "document:1#viewer@user:bob") == FALSE
    assert truth(model, warrants, "document:1#open@user:bob") == TRUE


def none_of(part: Expression) -> Expression:
    return Combined(OPERATORS["noneOf"], (part,))


P, Q, R = (Node("document", name, "viewer") for name in "pqr")


@pytest.mark.parametrize(
    ("equations", "expected"),
    [
        ({P: Q, Q: P}, {P: FALSE, Q: FALSE}),
        ({P: any_of(Q, UNKNOWN), Q: all_of(P, UNDEFINED)}, {P: UNKNOWN, Q: UNKNOWN}),
        ({P: none_of(P)}, {P: UNKNOWN}),
        ({P: none_of(Q), Q: none_of(P)}, {P: UNKNOWN, Q: UNKNOWN}),
        ({P: none_of(none_of(P))}, {P: UNKNOWN}),
        ({P: any_of(none_of(P), TRUE)}, {P: TRUE}),
        ({P: all_of(none_of(P), FALSE)}, {P: FALSE}),
        ({P: none_of(Q), Q: none_of(R), R: FALSE}, {P: FALSE, Q: TRUE, R: FALSE}),
        ({P: none_of(Q), Q: none_of(any_of(P, R)), R: TRUE}, {P: TRUE, Q: FALSE, R: TRUE}),
        ({P: none_of(Q), Q: Q}, {P: TRUE, Q: FALSE}),
        ({P: none_of(P), Q: any_of(P, R), R: all_of(Q, P)}, {P: UNKNOWN, Q: UNKNOWN, R: UNKNOWN}),
        ({P: none_of(P), Q: none_of(all_of(P, R)), R: FALSE}, {P: UNKNOWN, Q: TRUE, R: FALSE}),
        ({P: none_of(all_of(P, UNDEFINED))}, {P: UNKNOWN}),
    ],
)
def test_equations_have_their_well_founded_solution(
    equations: dict[Node, Expression], expected: dict[Node, Truth]
) -> None:
    assert solution(equations) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (P, (FALSE, TRUE)),
        (Q, (UNDEFINED, UNDEFINED)),
        (any_of(), (FALSE, FALSE)),
        (any_of(P, Q), (UNDEFINED, TRUE)),
        (all_of(P, Q), (FALSE, UNDEFINED)),
        (none_of(P), (FALSE, TRUE)),
        (none_of(Q), (UNDEFINED, UNDEFINED)),
        (none_of(all_of(P, Q)), (UNKNOWN, TRUE)),
        (none_of(any_of(P, Q)), (FALSE, UNDEFINED)),
        (none_of(all_of(P, FALSE)), (TRUE, TRUE)),
    ],
)
def test_an_expression_can_be_anything_between_what_its_unsettled_nodes_allow(
    expression: Expression, expected: Interval
) -> None:
    assert interval(expression, {Q: UNDEFINED}, ANYTHING) == expected


def scenario_answer(scenario: Scenario, question: Check, model: dict[str, dict[str, Any]]) -> Truth:
    warrants = in_force(scenario.warrants_with(question.contextual, CREATED_AT), ASKED_AT)

    return check(model, warrants, *question.claim(), scenario.policies_in(question.context, ASKED_AT))


@pytest.mark.parametrize("scenario", [pytest.param(scenario, id=scenario.name) for scenario in scenarios()])
def test_a_scenario_expects_what_the_oracle_answers(scenario: Scenario) -> None:
    for question in scenario.checks:
        answer = scenario_answer(scenario, question, scenario.final_types())

        assert ("missing" if answer == UNDEFINED else answer == TRUE) == question.answer, question.ask


def test_a_scenario_names_the_one_type_that_is_missing() -> None:
    for scenario in scenarios():
        for question in scenario.checks:
            if question.missing is not None:
                mended = scenario.final_types() | {question.missing: {}}

                assert scenario_answer(scenario, question, mended) != UNDEFINED, f"{scenario.name}: {question.ask}"


@pytest.mark.parametrize("scenario", [pytest.param(scenario, id=scenario.name) for scenario in every_scenario()])
def test_a_scenario_could_be_written_to_a_server(scenario: Scenario) -> None:
    first, final = scenario.first_types(), scenario.final_types()
    bodies = scenario.bodies()

    assert all(body["relation"] in first[body["objectType"]] for body in bodies)
    for types in (first, final):
        forms = msgspec.convert(types, dict[str, dict[str, RuleDefinition | None]])
        model = {read.name: read for read in (read_object_type(name, None, forms[name]) for name in forms)}
        assert find_negation_loop(model.get, model) is None


def test_every_scenario_file_points_to_the_schema_and_the_schema_is_up_to_date() -> None:
    assert scenario_paths()
    assert [path for path in scenario_paths() if path.read_text().splitlines()[0] != FIRST_LINE] == []
    assert schema() == SCHEMA.read_bytes()


@pytest.mark.parametrize(
    "question",
    [
        "{document:1#a@user:ann: maybe}",
        "{ask: 'document:1#a@user:ann', answer: missing}",
        "{ask: 'document:1#a@user:ann', answer: true, missing: document}",
        "{ask: 'document:1#a@user:ann', answer: false, path: []}",
        "{ask: 'document:1#a@user:ann', answer: true, because: owner}",
    ],
)
def test_a_check_that_contradicts_itself_is_refused(question: str, tmp_path: Path) -> None:
    file = tmp_path / "check-x.yaml"
    file.write_text(f"- {{name: x, types: {{}}, checks: [{question}]}}")

    with pytest.raises(msgspec.ValidationError):
        read_scenarios(file)


@pytest.mark.parametrize(
    "scenario",
    [
        "{name: x, types: {}}",
        "{name: x, types: {}, queries: [{q: select * where user:ann is *}]}",
        "{name: x, types: {}, queries: [{q: select * where user:ann is *, rows: [], missing: user}]}",
        "{name: x, types: {}, queries: [{q: select * where user:ann is *, rows: ['document:1#viewer E']}]}",
        "{name: x, types: {}, queries: [{q: select * where user:ann is *, rows: ['document:1#viewer X -']}]}",
    ],
)
def test_a_query_without_an_answer_or_with_two_is_refused(scenario: str, tmp_path: Path) -> None:
    file = tmp_path / "query-x.yaml"
    file.write_text(f"- {scenario}")

    with pytest.raises(msgspec.ValidationError):
        read_scenarios(file)


def test_what_a_warrant_ever_named_exists_until_it_is_deleted(tmp_path: Path) -> None:
    file = tmp_path / "query-x.yaml"
    file.write_text("""
        - name: x
          types: {document: {viewer: {}}, team: {member: {}}}
          warrants: [document:b#viewer@team:eng#member, "document:*#viewer@user:ann", "document:a#viewer@user:*"]
          then: {delete_warrants: [document:b#viewer@team:eng#member], delete_objects: [document:a]}
          query_levels: [1]
          queries: [{q: select * where user:ann is *, rows: []}]
    """)

    [scenario] = read_scenarios(file)

    assert [f"{ref.type}:{ref.id}" for ref in scenario.final_objects()] == ["document:b", "team:eng", "user:ann"]


def test_a_written_warrant_is_taken_apart_at_its_first_bracket() -> None:
    written = 'a:x:y|z@w.v#can_Do-1@b:*#in[team in ["a", "b"] && t["k"] == "#@]"]'

    assert stored_warrant(written, 7, 5).render() == written
    assert warrant_body(written) == {
        "objectType": "a",
        "objectId": "x:y|z@w.v",
        "relation": "can_Do-1",
        "subject": {"objectType": "b", "objectId": "*", "relation": "in"},
        "policy": 'team in ["a", "b"] && t["k"] == "#@]"',
    }
    assert warrant_body("a:x#r@b:y") == {
        "objectType": "a",
        "objectId": "x",
        "relation": "r",
        "subject": {"objectType": "b", "objectId": "y"},
    }


@pytest.mark.parametrize("written", ["a:x#r", "a:x@b:y", "a#r@b:y", "a:x#r@b:y[]", "a:x#r@b:y[p", "a:x#r@b:y#", ""])
def test_what_is_not_a_written_warrant_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is not of the form"):
        warrant_body(written)
