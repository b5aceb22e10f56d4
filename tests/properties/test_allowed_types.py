"""Random models with allowed types: warrants that they forbid are as good as absent, whatever is checked."""

from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Check
from magistrate.engine.lists.language import Query
from magistrate.engine.names import Revision
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.warrant import Warrant
from tests import oracle_queries
from tests.memory_source import evaluated, explained, found, model_of
from tests.properties.graphs import decided
from tests.properties.graphs import question as plain_question
from tests.properties.models import RELATIONS, TYPES, Types, model, oracle_value, question, warrants
from tests.properties.queries import CONTEXT, existing, facts, query
from tests.scenario_files import counting

Allowed = dict[str, dict[str, tuple[str, ...]]]

FORMS = [text for name in TYPES for text in (name, f"{name}:*", *(f"{name}#{one}" for one in RELATIONS))]


@st.composite
def allowed_types(draw: st.DrawFn) -> Allowed:
    forms = st.lists(st.sampled_from(FORMS), max_size=12, unique=True).map(tuple)
    names = st.dictionaries(st.sampled_from(RELATIONS), forms, max_size=3)
    drawn: Allowed = draw(st.dictionaries(st.sampled_from(TYPES), names, max_size=3))
    return drawn


def among(allowed: Allowed, drawn: Types) -> Allowed:
    """Those of relations that are defined."""
    return {
        name: {relation: forms for relation, forms in relations.items() if relation in drawn[name]}
        for name, relations in allowed.items()
        if name in drawn
    }


@given(model(), allowed_types(), warrants(), st.lists(question(), min_size=1, max_size=5))
def test_a_check_is_decided_as_if_only_what_is_allowed_were_stored(
    drawn: Types, drawn_forms: Allowed, stored: list[Warrant], asked: list[Check]
) -> None:
    allowed = among(drawn_forms, drawn)

    nodes, _ = evaluated(model_of(drawn, stored, allowed), stored, asked)

    assert [node.value for node in nodes] == [oracle_value(drawn, counting(stored, allowed), one) for one in asked]


@given(model(), allowed_types(), warrants(), query())
def test_a_query_finds_what_is_there_if_only_what_is_allowed_is_stored(
    drawn: Types, drawn_forms: Allowed, stored: list[Warrant], asked: Query
) -> None:
    allowed, objects = among(drawn_forms, drawn), existing(stored, [])
    if oracle_queries.undefined_type(drawn, asked) is not None:
        return

    answer = found(model_of(drawn, stored, allowed), stored, objects, asked, CONTEXT)

    expected = oracle_queries.list_rows(facts(drawn, counting(stored, allowed), objects), asked)
    assert [(*row[:3], row.is_implicit) for row in answer.rows] == [(*row[:3], row.is_implicit) for row in expected]


@given(model(), allowed_types(), allowed_types(), warrants(rarely_to_all=True), st.lists(plain_question(), max_size=4))
def test_a_graph_whose_allowed_types_change_answers_like_one_that_never_had_others(
    drawn: Types, first: Allowed, second: Allowed, stored: list[Warrant], asked: list[Check]
) -> None:
    graph = Graph(model_of(drawn, stored, among(first, drawn)), Revision(1), max_bytes=1_000_000)
    for one in asked:
        decided(graph, stored, one)

    for revision, forms in enumerate((second, first, second), 2):
        allowed = among(forms, drawn)
        graph.change_model(model_of(drawn, stored, allowed), Revision(revision))
        for one in asked:
            decision = decided(graph, stored, one)
            if decision is not None:
                value = oracle_value(drawn, counting(stored, allowed), one)
                assert decision.is_authorized == (value == TRUE)


@given(model(), allowed_types(), warrants(), question())
def test_no_suggestion_is_forbidden_and_every_one_suffices(
    drawn: Types, drawn_forms: Allowed, stored: list[Warrant], asked: Check
) -> None:
    allowed = among(drawn_forms, drawn)
    counted = counting(stored, allowed)

    explanation, _ = explained(model_of(drawn, stored, allowed), stored, asked)

    assert explanation.is_allowed == (oracle_value(drawn, counted, asked) == TRUE)
    for suggestion in explanation.suggestions:
        created = [Warrant(*names, policy, 100, 100 + place) for place, (names, policy) in enumerate(suggestion.create)]
        assert counting(created, allowed) == created
        if not suggestion.example:
            left = [one for one in counted if one not in suggestion.delete]
            assert oracle_value(drawn, [*left, *created], asked) == TRUE
