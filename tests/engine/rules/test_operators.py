"""Every operator over rules keeps what its interface promises (engine/rules/rule_operator.py), whatever it means; and
one that no code knows of, exactlyOneOf, is decided, listed, explained and written alike everywhere."""

import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from magistrate.cli.models.object_types import describe_relations, describe_rule
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Check
from magistrate.engine.lists.language import ObjectsQuery, SubjectsQuery
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.rules import RULE_OPERATORS, IncompleteOperator, build_registry, list_missing_members
from magistrate.engine.rules.any_of import AnyOf
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.text.json_documents import read_body, read_members, render_body
from magistrate.engine.text.lint import lint_text
from magistrate.engine.text.parser import parse_model
from magistrate.engine.text.rendering import format_model, render_model
from magistrate.engine.truth import FALSE, TRUE, UNDEFINED, UNKNOWN, Truth
from magistrate.engine.warrants.warrant import Warrant
from tests.engine.rules.exactly_one_of import USES, ExactlyOneOf, registered
from tests.fga.requests import check
from tests.generated_docs import ROOT, console_operators
from tests.memory_source import evaluated, explained, found, model_of
from tests.properties.example_counts import count_for_all_answers
from tests.properties.graphs import decided
from tests.properties.models import Types, oracle_value
from tests.running import Client
from tests.scenario_files import stored_warrant, warrant_body

VALUES = (FALSE, UNKNOWN, UNDEFINED, TRUE)
DECIDED = (FALSE, TRUE)
SIZES = (1, 2, 3)
ONE = ObjectId("1")

OPERATORS: Sequence[type[RuleOperator]] = (*RULE_OPERATORS.values(), ExactlyOneOf)
operators = pytest.mark.parametrize("operator", [pytest.param(one, id=one.keyword) for one in OPERATORS])


def of_size(operator: type[RuleOperator], size: int) -> RuleOperator:
    return operator((Direct(),) * size)


def between(low: Truth, high: Truth) -> list[Truth]:
    return [value for value in VALUES if low <= value <= high]


@operators
def test_what_it_decides_with_unknown_rules_it_decides_whatever_they_are(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        for values in product(VALUES, repeat=size):
            found = operator.combine(values)
            if found in DECIDED:
                completions = product(*(VALUES if value == UNKNOWN else (value,) for value in values))
                assert {operator.combine(one) for one in completions} == {found}, values


@operators
def test_only_a_decisive_value_decides_it_early(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        for values in product(VALUES, repeat=size):
            for place in range(size):
                before = [UNKNOWN if at == place else value for at, value in enumerate(values)]
                is_early = UNKNOWN in values and operator.combine(values) in DECIDED
                if is_early and operator.combine(before) not in DECIDED:
                    assert values[place] == operator.decisive, values


@operators
def test_its_bounds_are_the_least_and_the_greatest_of_what_is_possible(operator: type[RuleOperator]) -> None:
    ends = [(low, high) for low in VALUES for high in VALUES if low <= high]
    for size in SIZES:
        for intervals in product(ends, repeat=size):
            lows, highs = zip(*intervals, strict=True)
            possible = [operator.combine(values) for values in product(*(between(*one) for one in intervals))]
            assert of_size(operator, size).bounds(lows, highs) == (min(possible), max(possible)), intervals


@operators
def test_if_it_is_monotone_more_never_makes_it_less_and_only_what_holds_matters(operator: type[RuleOperator]) -> None:
    def is_kept(values: tuple[Truth, ...], more: tuple[Truth, ...]) -> bool:
        return operator.combine(values) <= operator.combine(more)

    def holds_alike(values: tuple[Truth, ...]) -> bool:
        crisp = [TRUE if value == TRUE else FALSE for value in values]
        return (operator.combine(values) == TRUE) == (operator.combine(crisp) == TRUE)

    all_values = [values for size in SIZES for values in product(VALUES, repeat=size)]
    pairs = [
        (values, (*values[:place], *more, *values[place + 1 :]))
        for values in all_values
        for place in range(len(values))
        for more in [(value,) for value in VALUES if value >= values[place]]
    ]
    keeps = all(is_kept(*pair) for pair in pairs) and all(map(holds_alike, all_values))

    assert keeps or not operator.is_monotone
    if operator.is_monotone:
        assert all(operator.combine((FALSE,) * size) == FALSE for size in SIZES), "a list begins with nothing"


@operators
def test_the_rules_it_gives_as_reasons_hold(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        for values in product(VALUES, repeat=size):
            if operator.combine(values) == TRUE:
                reasons = of_size(operator, size).reasons(values)
                assert all(values[place] == TRUE for place in reasons), values


@operators
def test_it_combines_sets_as_it_combines_the_values_of_each_id(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        every = list(product(DECIDED, repeat=size))
        within = BitMap(range(len(every)))
        sets = [
            BitMap(object_id for object_id, values in enumerate(every) if values[place] is TRUE)
            for place in range(size)
        ]

        found = operator.combine_sets(sets, within)

        assert [*found] == [object_id for object_id, values in enumerate(every) if operator.combine(values) is TRUE]


@operators
def test_what_it_requires_is_enough_and_nothing_else_is(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        for holds, values in product((True, False), product(VALUES, repeat=size)):
            is_met = any(
                values.count(TRUE) >= one.holding and values.count(FALSE) >= one.failing
                for one in operator.require(holds, size)
            )
            assert is_met == (operator.combine(values) is (TRUE if holds else FALSE)), (holds, values)


@operators
def test_if_it_is_associative_rules_of_the_same_operator_count_as_its_own(operator: type[RuleOperator]) -> None:
    pairs = [
        (operator.combine([operator.combine(inner), *outer]), operator.combine([*inner, *outer]))
        for size in SIZES
        for inner in product(VALUES, repeat=size)
        for outer in product(VALUES, repeat=1)
    ]

    assert operator.is_associative == all(nested is flat for nested, flat in pairs)


@operators
def test_it_is_a_union_if_each_rule_alone_is_enough(operator: type[RuleOperator]) -> None:
    alone = all(operator.combine((*before, TRUE)) is TRUE for size in SIZES for before in product(VALUES, repeat=size))

    assert operator.is_union() == alone


@operators
def test_it_names_the_rules_that_matter_for_any_value(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        for values in product((None, *VALUES), repeat=size):
            assert set(of_size(operator, size).explain(values)) <= set(range(size))


@operators
def test_what_it_counts_is_what_it_combines_whatever_their_order(operator: type[RuleOperator]) -> None:
    for size in SIZES:
        for before, values in product(product(VALUES, repeat=size), repeat=2):
            counter = of_size(operator, size).count_operands(FALSE)
            for one in before:
                counter.add(TRUE, one)
            for one, value in zip(before, values, strict=True):
                counter.replace(TRUE, one, value)
            assert counter.compute_value() is operator.combine(values) is operator.combine(sorted(values))


@operators
def test_if_it_is_antitone_more_that_holds_never_makes_it_hold(operator: type[RuleOperator]) -> None:
    if operator.is_antitone:
        for size in SIZES:
            for values in product(DECIDED, repeat=size):
                for place in range(size):
                    more = (*values[:place], TRUE, *values[place + 1 :])
                    assert operator.combine(more) <= operator.combine(values)


PARTS = (
    "keyword",
    "words",
    "decisive",
    "is_monotone",
    "is_antitone",
    "combine",
    "combine_sets",
    "explain",
    "require",
    "bounds",
)


@pytest.mark.parametrize("part", PARTS)
def test_a_registry_refuses_an_operator_that_lacks_a_part_and_names_the_part(part: str) -> None:
    parts = {name: value for name, value in vars(ExactlyOneOf).items() if name in PARTS and name != part}
    lacking = type("Lacking", (RuleOperator,), {"__slots__": (), **parts})

    with pytest.raises(IncompleteOperator, match=f"^the operator Lacking lacks {part}"):
        build_registry([AnyOf, lacking])


def test_the_parts_that_a_registry_wants_are_all_that_an_operator_must_define() -> None:
    bare = type("Bare", (RuleOperator,), {"__slots__": ()})

    assert [*list_missing_members(bare), "bounds"] == [*PARTS]
    assert [*list_missing_members(ExactlyOneOf)] == []


@pytest.mark.parametrize("word", ["keyword", "text"])
def test_a_registry_refuses_an_operator_that_has_a_word_of_another_one(word: str) -> None:
    words = ExactlyOneOf.words
    parts: dict[str, object] = {"keyword": AnyOf.keyword}
    if word != "keyword":
        parts = {"words": words._replace(**{word: getattr(AnyOf.words, word)})}
    same = type("Same", (ExactlyOneOf,), {"__slots__": (), **parts})

    with pytest.raises(IncompleteOperator, match="the operator Same lacks a word of its own for any"):
        build_registry([AnyOf, same])


PROPERTIES: dict[str, Sequence[str]] = {
    "combine": [
        "test_check.py::test_checks_answer_what_the_oracle_answers_and_a_batch_what_single_checks_do",
        "test_check.py::test_the_reported_path_is_the_one_that_the_rules_reach_first",
        "test_graph.py::test_a_graph_that_follows_every_change_answers_like_an_evaluation",
        "test_graph.py::test_checks_that_share_warrants_are_answered_as_if_each_were_the_only_one",
        "test_graph.py::test_a_cached_decision_is_what_a_walk_decides_at_any_time_and_in_any_context",
        "test_walking_ahead.py::test_a_walk_decides_as_an_evaluation_does",
        "test_reading_ahead.py::test_on_sqlite_reading_ahead_changes_no_answer",
        "test_overlay.py::test_checks_over_an_overlay_answer_what_they_answer_once_the_changes_are_made",
        "test_overlay.py::test_a_walk_over_an_overlay_decides_what_an_evaluation_decides_once_the_warrants_are_written",
        "test_query.py::test_queries_find_what_the_oracle_finds",
        "test_difference.py::test_on_sqlite_differences_are_those_of_all_access",
    ],
    "combine_sets": [
        "test_set_queries.py::test_lists_that_follow_every_change_have_the_rows_of_the_oracle",
        "test_subject_sets.py::test_lists_of_subjects_that_follow_every_change_have_the_rows_of_the_oracle",
        "test_subject_sets.py::test_rows_report_what_the_search_without_bitmaps_reports",
    ],
    "explain": [
        "test_explain.py::test_an_explanation_agrees_with_the_decision_and_its_path",
        "test_explain.py::test_every_check_in_the_tree_has_the_value_that_the_oracle_gives_it",
        "test_denial_sentences.py::test_no_sentence_of_a_denial_says_what_is_not_so",
    ],
    "require": [
        "test_explain.py::test_every_suggestion_suffices_and_no_proper_part_of_it_does",
        "test_explain.py::test_a_suggestion_is_found_whenever_a_single_warrant_would_do",
    ],
}
"""Properties that compare the evaluators with the oracle or with each other on random models, by the member of the
operator that each of them uses. The models have every operator that is registered."""
BY_DAY = ("explain",)


@pytest.mark.parametrize(
    "member",
    [each if each in BY_DAY else pytest.param(each, marks=pytest.mark.nightly) for each in PROPERTIES],
)
def test_an_operator_that_no_code_knows_of_has_one_meaning_in_every_evaluator(member: str) -> None:
    """The properties run in a process in which the operator is registered from the beginning. The seed is fixed: with
    others, once in a hundred runs no example of a test happens to use the member. Without the operator, the same
    properties run on other examples each time."""
    plugin = ["-p", "tests.engine.rules.registered_operator", f"--uses={member}", "-p", "no:cacheprovider"]
    plugin += ["--hypothesis-seed=2"]
    chosen = [f"tests/properties/{name}" for name in PROPERTIES[member]]
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", *plugin, *chosen], cwd=ROOT, capture_output=True)

    assert run.returncode == 0, run.stdout.decode()[-20_000:]


@st.composite
def circles(draw: st.DrawFn) -> list[Warrant]:
    """Warrants through which a relation may depend on itself, with the operator in between."""
    to = st.sampled_from(("user:1", "document:1#a", "document:2#a", "document:1#b"))
    each = st.tuples(st.sampled_from(("1", "2")), st.sampled_from("bcd"), to)
    rows = draw(st.lists(each, min_size=2, max_size=8, unique=True))
    return [
        stored_warrant(f"document:{object_id}#{name}@{one}", number, 0)
        for number, (object_id, name, one) in enumerate(rows, 1)
    ]


def test_it_has_the_same_meaning_in_cycles() -> None:
    parts = [{"inheritIf": name} for name in "bcd"]
    rule = {"inheritIf": ExactlyOneOf.keyword, "rules": parts}
    types: Types = {"user": {}, "document": {"a": rule, **{name: {} for name in "bcd"}}}
    asked = Check(ObjectRef(TypeName("document"), ObjectId("1")), RelationName("a"), Subject(TypeName("user"), ONE))
    seen: set[int | None] = set()

    @settings(max_examples=count_for_all_answers())
    @given(circles())
    def prove(stored: list[Warrant]) -> None:
        [node], _ = evaluated(model_of(types, stored), stored, [asked])

        assert node.value == oracle_value(types, stored, asked)
        seen.add(node.value)

    with registered():
        prove()

    assert seen == {FALSE, UNKNOWN, TRUE}
    assert USES["bounds"] > 0


def test_somebody_who_has_two_of_the_relations_has_neither_by_it_however_that_is_found_out() -> None:
    parts = [{"inheritIf": "paid"}, {"inheritIf": "trial"}]
    rule = {"inheritIf": ExactlyOneOf.keyword, "rules": parts}
    types: Types = {"user": {}, "plan": {"paid": {}, "trial": {}, "member": rule}}
    names = ("plan:1#paid@user:ann", "plan:1#trial@user:ann", "plan:1#trial@user:bob")
    stored = [stored_warrant(text, number, 0) for number, text in enumerate(names, 1)]
    plan, member = ObjectRef(TypeName("plan"), ObjectId("1")), RelationName("member")
    subjects = {name: Subject(TypeName("user"), ObjectId(name)) for name in ("ann", "bob", "kim")}
    checks = [Check(plan, member, subject) for subject in subjects.values()]

    with registered():
        model = model_of(types, stored)
        nodes, _ = evaluated(model, stored, checks)
        graph = Graph(model, Revision(1), 1_000_000)
        walked = [decided(graph, stored, one) for one in checks]
        listed = found(model, stored, [plan], SubjectsQuery(plan, (member,), (TypeName("user"),), False), {}).rows
        objects = [
            found(model, stored, [plan], ObjectsQuery(ObjectRef(*one), (member,), None, False), {}).rows
            for one in ((subject.type, subject.id) for subject in subjects.values())
        ]
        explanation, _ = explained(model, stored, checks[0])

    assert [node.value for node in nodes] == [FALSE, TRUE, FALSE]
    assert [one is not None and one.is_authorized for one in walked] == [False, True, False]
    assert [row.id for row in listed] == ["bob"]
    assert [len(rows) for rows in objects] == [0, 1, 0]
    suggested = [([names.render() for names, _ in one.create], one.delete) for one in explanation.suggestions]
    assert suggested == [([], [stored[0]]), ([], [stored[1]]), (["plan:1#member@user:ann"], [])]


TEXT = """version 1.0

type user

type plan
    relation paid [user]
    relation trial [user]

    relation member []
    inherit member if
        exactly_one_of
            relation paid
            exactly_one_of
                relation paid
                relation trial
"""
PARTS_OF_MEMBER = [
    {"inheritIf": "paid"},
    {"inheritIf": "exactlyOneOf", "rules": [{"inheritIf": "paid"}, {"inheritIf": "trial"}]},
]
MEMBER: dict[str, Any] = {"inheritIf": "exactlyOneOf", "rules": PARTS_OF_MEMBER}


def test_it_is_written_in_texts_and_in_json() -> None:
    with registered():
        parsed = parse_model(TEXT)
        body = render_body(parsed.document)
        document, faults = read_body(read_members(msgspec.to_builtins(body)), lambda path: (0, 0))

        assert [*parsed.faults, *faults, *lint_text(parsed)] == []
        assert msgspec.to_builtins(body.object_types[1].relations["member"]) == MEMBER
        assert render_model(document) == format_model(parsed) == TEXT


def test_texts_and_json_do_not_know_it_unless_it_is_registered() -> None:
    assert [fault.code for fault in parse_model(TEXT).faults][:1] == ["unknown_keyword"]


@pytest.mark.parametrize(
    ("brackets", "code"), [("[]", "unobtainable_relation"), ("[user]", "repeated_rule")], ids=["never", "twice"]
)
def test_lint_knows_when_it_never_holds_and_what_is_repeated_in_it(brackets: str, code: str) -> None:
    rules = "        exactly_one_of\n            relation a\n            relation a\n"
    text = f"version 1.0\n\ntype user\n\ntype plan\n    relation a {brackets}\n    relation b []\n\n    inherit b if\n"

    with registered():
        assert code in [fault.code for fault in lint_text(parse_model(text + rules))]


def test_the_command_line_describes_it() -> None:
    with registered():
        assert describe_rule(MEMBER) == "exactlyOneOf(paid, exactlyOneOf(paid, trial))"
        assert [row[-1] for row in describe_relations({"member": MEMBER})] == [describe_rule(MEMBER)]


def test_the_console_has_its_words() -> None:
    with registered():
        written = console_operators()

    row = 'exactlyOneOf: { text: "exactly_one_of", phrase: "exactly one of these", requires: "other" },'
    assert row in written


OTHER = {"type": "other", "relations": {"member": {"inherit_if": "exactlyOneOf", "rules": [{"inherit_if": "paid"}]}}}


def test_it_is_stored_and_checked_and_cannot_be_said_in_fga_v1(client: Client) -> None:
    with registered():
        plan = {"type": "plan", "relations": {"paid": {}, "trial": {}, "member": MEMBER}}
        client.put("/v2/object-types", json=[plan]).raise_for_status()
        warrants = [warrant_body(f"plan:1#{one}@user:ann") for one in ("paid", "trial")]
        client.post("/v2/warrants", json=warrants).raise_for_status()
        stored = client.get("/v2/object-types/plan").json()["relations"]["member"]
        checked = check(client, "plan:1#member@user:ann")
        read = client.get("/fga/v1/resource-types/plan")
        written = client.post("/fga/v1/resource-types", json=OTHER)
        other = client.get("/v2/object-types/other")
        client.delete("/v2/object-types/plan").raise_for_status()

    assert stored == MEMBER
    assert checked["result"] == "authorized"
    assert (read.status_code, written.status_code, other.status_code) == (400, 400, 404)
    assert "exactlyOneOf, which /fga/v1 cannot say" in read.json()["message"]
    assert "/fga/v1 cannot say exactlyOneOf" in written.json()["message"]
