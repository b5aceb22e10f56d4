"""Random models with named policies: rules that name them answer what the oracle answers."""

from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Check
from magistrate.engine.lists.language import Query
from magistrate.engine.model.model import Model
from magistrate.engine.names import Revision
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.warrant import Warrant
from tests import oracle, oracle_paths, oracle_queries
from tests.memory_source import evaluated, explained, found, found_paths, model_of
from tests.properties.graphs import decided
from tests.properties.graphs import question as plain_question
from tests.properties.models import Types, question, warrants
from tests.properties.named_policies import NAMED, holds, named_model
from tests.properties.queries import CONTEXT, existing, query


def model_with(drawn: Types, stored: list[Warrant]) -> Model:
    return model_of(drawn, stored, policies=NAMED)


def value_of(drawn: Types, stored: list[Warrant], asked: Check) -> int:
    object_ref = asked.object
    return int(oracle.check(drawn, stored, object_ref.type, object_ref.id, asked.relation, asked.subject, holds))


@given(named_model(), warrants(), st.lists(question(), min_size=1, max_size=5))
def test_checks_and_paths_are_those_of_the_oracle(drawn: Types, stored: list[Warrant], asked: list[Check]) -> None:
    nodes, _ = evaluated(model_with(drawn, stored), stored, asked)
    paths = found_paths(model_with(drawn, stored), stored, asked)

    assert [node.value for node in nodes] == [value_of(drawn, stored, one) for one in asked]
    for one, path in zip(asked, paths, strict=True):
        node = oracle.Node(one.object.type, one.object.id, one.relation)
        assert path == oracle_paths.find_path(drawn, stored, node, one.subject, holds)


@given(named_model(), warrants(), query())
def test_queries_find_what_the_oracle_finds(drawn: Types, stored: list[Warrant], asked: Query) -> None:
    if oracle_queries.undefined_type(drawn, asked) is not None:
        return
    objects = existing(stored, [])

    answer = found(model_with(drawn, stored), stored, objects, asked, CONTEXT)

    expected = oracle_queries.list_rows(oracle_queries.Facts(drawn, stored, objects, holds), asked)
    assert [(*row[:3], row.is_implicit) for row in answer.rows] == [(*row[:3], row.is_implicit) for row in expected]


@given(named_model(), warrants(rarely_to_all=True), st.lists(plain_question(), max_size=4))
def test_a_graph_agrees_with_the_oracle(drawn: Types, stored: list[Warrant], asked: list[Check]) -> None:
    graph = Graph(model_with(drawn, stored), Revision(1), max_bytes=1_000_000)

    for one in asked:
        decision = decided(graph, stored, one)
        assert decision is None or decision.is_authorized == (value_of(drawn, stored, one) == TRUE)


@given(named_model(), warrants(), question())
def test_explanations_agree_and_their_suggestions_of_warrants_suffice(
    drawn: Types, stored: list[Warrant], asked: Check
) -> None:
    explanation, _ = explained(model_with(drawn, stored), stored, asked)

    assert explanation.tree.holds == value_of(drawn, stored, asked)
    for suggestion in explanation.suggestions:
        if not suggestion.example:
            created = [
                Warrant(*names, policy, 100, 100 + place) for place, (names, policy) in enumerate(suggestion.create)
            ]
            left = [one for one in stored if one not in suggestion.delete]
            assert value_of(drawn, [*left, *created], asked) == TRUE
