"""Random warrants with time limits at random times: checks, paths, queries and the graph agree with the oracle, for
which a warrant outside its limits is absent."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.cache.entry_reads import Fetch
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.conditions import ALWAYS
from magistrate.engine.lists.language import Query
from magistrate.engine.lists.query_search import begin_search
from magistrate.engine.names import Revision
from magistrate.engine.terms import ObjectRef
from magistrate.engine.walk.cached_entries import CachedEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests import oracle, oracle_queries
from tests.memory_source import PLENTY, change_of, evaluated, found, found_paths, model_of, searched
from tests.properties import graphs as test_graph
from tests.properties import queries as test_query
from tests.properties.models import Types, model, oracle_path, oracle_value, question, values
from tests.properties.time_limits import LAST, Limits, by_the_book, give_limits, limited, limits, times


@given(model(), limited(), st.lists(question(), min_size=1, max_size=5), times)
def test_checks_and_paths_are_those_of_the_warrants_in_force(
    drawn: Types, stored: list[Warrant], asked: list[Check], now: int
) -> None:
    counting = oracle.in_force(stored, now)

    decided, _ = evaluated(model_of(drawn, stored), stored, asked, now)

    assert values(decided) == [oracle_value(drawn, counting, one) for one in asked]
    paths = found_paths(model_of(drawn, stored), stored, asked, now)
    assert paths == [oracle_path(drawn, counting, one) for one in asked]


@given(model(), limited(), test_query.others, test_query.query(), times)
def test_queries_find_the_rows_of_the_warrants_in_force(
    drawn: Types, stored: list[Warrant], more: list[ObjectRef], asked: Query, now: int
) -> None:
    if oracle_queries.undefined_type(drawn, asked) is not None:
        return
    objects = test_query.existing(stored, more)
    expected = oracle_queries.list_rows(test_query.facts(drawn, oracle.in_force(stored, now), objects), asked)

    rows = found(model_of(drawn, stored), stored, objects, asked, test_query.CONTEXT, now).rows

    assert [(row.type, row.id, row.relation, row.is_implicit) for row in rows] == [
        (row.type, row.id, row.relation, row.is_implicit) for row in expected
    ]
    assert all(row.warrant in one.acceptable for row, one in zip(rows, expected, strict=True))


@given(model(), limited(), test_query.others, test_query.query(), times)
def test_rows_stay_as_they_are_until_the_time_that_the_findings_name(
    drawn: Types, stored: list[Warrant], more: list[ObjectRef], asked: Query, now: int
) -> None:
    if oracle_queries.undefined_type(drawn, asked) is not None:
        return
    known, objects = model_of(drawn, stored), test_query.existing(stored, more)
    findings, _ = searched(begin_search(known, asked, test_query.CONTEXT, now, Work(PLENTY)), stored)
    rows = found(known, stored, objects, asked, test_query.CONTEXT, now).rows

    assert findings.valid_until > now
    assert findings.valid_until <= LAST or findings.valid_until == ALWAYS
    if findings.relation_results is not None:
        for later in range(now, min(findings.valid_until, LAST + 1)):
            assert found(known, stored, objects, asked, test_query.CONTEXT, later).rows == rows


def decided(graph: Graph, stored: Sequence[Warrant], asked: Check, now: int) -> tuple[bool, bool] | None:
    """Whether the check is authorized, and whether implicitly; None if the walk cannot decide it."""
    walk = Walk(CachedEntries(graph), now, Work(PLENTY))
    for _ in range(100):
        decision = walk.decide(asked)
        if decision is Undecided.IMPOSSIBLE:
            return None
        if not isinstance(decision, Undecided):
            return decision.is_authorized, decision.is_implicit
        test_graph.filled(Fetch(graph, walk.missing), stored)
        walk.resume_checks()
    raise AssertionError("a walk does not find what was read for it")


@given(
    model(),
    limited(rarely_to_all=True),
    st.lists(st.tuples(st.integers(0, 13), limits, test_graph.question(), times), min_size=1, max_size=6),
    st.sampled_from((1, 2, 500)),
)
def test_a_graph_decides_by_the_time_of_each_check_while_warrants_come_go_and_are_renewed(
    drawn: Types,
    ever: list[Warrant],
    steps: list[tuple[int, Limits, Check, int]],
    max_each: int,
) -> None:
    """The graph gets no notice that time has passed."""
    graph = Graph(model_of(drawn, ever), Revision(1), max_bytes=1_000_000, max_each=max_each)
    stored = list(ever)
    for revision, (number, pair, asked, now) in enumerate(steps, 2):
        for moment in (now, now + 1, LAST):
            if (decision := decided(graph, stored, asked, moment)) is not None:
                assert decision == by_the_book(drawn, ever, stored, asked, moment)
        if ever:
            place = number % len(ever)
            former = next((one for one in stored if one.names == ever[place].names), None)
            stored = [one for one in stored if one is not former]
            change = change_of(former or give_limits(ever[place], pair), exists=former is None)
            if former is None or pair != (None, None):
                stored.append(give_limits(ever[place], pair))
                change = change if former is None else change._replace(exists=None)
            graph.apply([change], Revision(revision))
