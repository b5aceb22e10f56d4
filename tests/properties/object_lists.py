"""Lists of objects by bitmaps, compared with the oracle's."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from hypothesis import strategies as st
from pyroaring import BitMap

from magistrate.engine.bitmaps.connected_graph import ConnectedGraph, connect_graph
from magistrate.engine.bitmaps.object_pages import OrderedNumbers, OrderedSets, SetPage, cut_page
from magistrate.engine.bitmaps.object_sets import ObjectSets, ObjectSetSearch
from magistrate.engine.bitmaps.subject_pages import OrderedSubjects
from magistrate.engine.cache.adjacency_reads import AdjacencyFetch
from magistrate.engine.cache.graph import Graph
from magistrate.engine.cache.ids import IdTable
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.language import ObjectsQuery, Query
from magistrate.engine.lists.query_search import find_targets
from magistrate.engine.lists.results import QueryRow
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.engine.steps import Steps, WarrantLists
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests import oracle_queries
from tests.memory_source import PLENTY, change_of, model_of, rows_of
from tests.properties.models import POLICIES, Types
from tests.properties.named_policies import NAMED
from tests.properties.queries import CONTEXT, existing

TINY, USUAL = 4_000, 1_000_000
T = TypeVar("T")
Q = TypeVar("Q", bound=Query)
PARENT = {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}
LEAVES = [{"inheritIf": "owner"}, {"inheritIf": "blocked"}, {"inheritIf": "editor"}, PARENT]
POLICY_LEAVES = [{"policy": name} for name in (*NAMED, "gone")]


def combined(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda keyword, rules: {"inheritIf": keyword, "rules": rules},
        st.sampled_from([*RULE_OPERATORS]),
        st.lists(inner, min_size=1, max_size=3),
    )


rules = st.recursive(st.sampled_from([*LEAVES * 3, *POLICY_LEAVES]), combined, max_leaves=5)


@st.composite
def drive(draw: st.DrawFn) -> Types:
    """Folders in folders, groups in groups, and rules that most lists can be computed from with bitmaps."""
    document = {"parent": {}, "owner": {}, "blocked": {}, "editor": draw(st.sampled_from(({}, LEAVES[0], PARENT)))}
    return {
        "user": {},
        "group": {"member": {}},
        "folder": {"parent": {}, "owner": {}, "viewer": {"inheritIf": "anyOf", "rules": [LEAVES[0], PARENT]}},
        "document": {
            **document,
            "viewer": {"inheritIf": "allOf", "rules": [LEAVES[3], draw(rules)]},
            "reader": draw(rules),
        },
    }


KINDS = [
    *[("document", relation, *to) for relation in ("owner", "editor", "blocked", "viewer", "reader")
      for to in (("user", ""), ("group", "member"))],
    *[("folder", relation, *to) for relation in ("owner", "viewer") for to in (("user", ""), ("group", "member"))],
    *[("document", "parent", "folder", "")] * 4,
    *[("folder", "parent", "folder", "")] * 3,
    *[("group", "member", *to) for to in (("user", ""), ("group", "member"))] * 2,
]  # fmt: skip


@st.composite
def drive_warrants(draw: st.DrawFn) -> list[Warrant]:
    has_wildcards = draw(st.integers(0, 5)) == 0
    rows = st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from(("a", "b", "c", "*") if has_wildcards else ("a", "b", "c")),
        st.sampled_from(("a", "b", "c")),
        st.integers(0, 6),
        st.sampled_from(("", "", "", "", *POLICIES)),
    )
    found = []
    for number, ((of_type, relation, to, group), object_id, subject, to_all, policy) in enumerate(
        draw(st.lists(rows, min_size=12, max_size=30, unique=True)), 1
    ):
        subject_id = "*" if to == "user" and not to_all else subject
        names = (
            TypeName(of_type),
            ObjectId(object_id),
            RelationName(relation),
            TypeName(to),
            ObjectId(subject_id),
            group,
        )
        found.append(Warrant(*names, policy, -number % 3, number))
    return list({(one.names, one.policy): one for one in found}.values())


class Case(NamedTuple, Generic[Q]):
    """A model, all warrants there ever are, and in each step the number of one that comes or goes, with queries."""

    types: Types
    ever: list[Warrant]
    steps: list[tuple[int, Q, Q]]

    def carry_out(self, graph: Graph, expect: Callable[[Sequence[Warrant], Q], object]) -> None:
        """Calls `expect` with the stored warrants and each query whose names are defined, before and after each change,
        which the graph follows."""
        stored: list[Warrant] = self.ever[::2]
        for revision, (number, *asked) in enumerate(self.steps, 2):
            defined: list[Q] = [one for one in asked if oracle_queries.undefined_type(self.types, one) is None]
            for one in defined:
                expect(stored, one)
            if self.ever:
                changed = self.ever[number % len(self.ever)]
                stored = [one for one in stored if one != changed] if changed in stored else [*stored, changed]
                graph.apply([change_of(changed, changed in stored)], Revision(revision))
            for one in defined:
                expect(stored, one)


def cases(
    types: st.SearchStrategy[Types], ever: st.SearchStrategy[list[Warrant]], asked: st.SearchStrategy[Q]
) -> st.SearchStrategy[Case[Q]]:
    return st.builds(Case, types, ever, st.lists(st.tuples(st.integers(0, 29), asked, asked), min_size=1, max_size=5))


class Lists:
    """Answers queries with a graph that follows every change."""

    def __init__(self, drawn: Types, ever: Sequence[Warrant], most: int) -> None:
        self.graph = Graph(model_of(drawn, ever, policies=NAMED), Revision(1), most)

    def find(self, stored: Sequence[Warrant], asked: ObjectsQuery) -> OrderedSets | None:
        """None if the query has to be answered without bitmaps."""
        work, current = Work(PLENTY), self.graph.model
        examined = current.without_rules() if asked.is_explicit else current
        targets = find_targets(current, asked)
        self.graph.limit_adjacency()
        fetch = AdjacencyFetch(self.graph)
        conditions = PolicyEvaluator(CONTEXT, 0, work, current.policies)

        def steps() -> Steps[ObjectSets | None]:
            connected: ConnectedGraph | None = yield from connect_graph(examined, asked.subject.type, targets, work)
            if connected is None:
                return None
            return (yield from ObjectSetSearch(connected, fetch, asked.subject, conditions, work).steps())

        sets = carry_out(steps(), work, stored)
        if sets is None:
            return None
        return OrderedSets(sets, numbers_of_existing(sets.tables, stored), absent(sets.tables, stored, sets.itself))


def numbers_of_existing(tables: Mapping[TypeName, IdTable], stored: Sequence[Warrant]) -> dict[TypeName, BitMap]:
    there = {name: BitMap() for name in tables}
    for one in existing(stored, []):
        if one.type in there:
            there[one.type].add(tables[one.type].assign(one.id))
    return there


def absent(
    tables: Mapping[TypeName, IdTable], stored: Sequence[Warrant], ref: ObjectRef | None
) -> dict[TypeName, BitMap]:
    if ref is None or ref in existing(stored, []):
        return {}
    return {ref.type: BitMap([tables[ref.type].assign(ref.id)])}


def carry_out(steps: Steps[T], work: Work, stored: Sequence[Warrant]) -> T:
    rows: WarrantLists | None = None
    while True:
        work.pass_checkpoint()
        try:
            reads = steps.send(rows)
        except StopIteration as stop:
            returned: T = stop.value
            return returned
        rows = None if reads is None else [rows_of(stored, read) for read in reads]


def page(ordered: OrderedNumbers, stored: Sequence[Warrant], after: QueryRow | None, limit: int, back: bool) -> SetPage:
    work = Work(PLENTY)
    boundary = None if after is None else after[:3]
    return carry_out(cut_page(ordered, boundary, limit, back, work), work, stored)


def expect_rows(
    ordered: OrderedSets | OrderedSubjects, stored: Sequence[Warrant], known: oracle_queries.Facts, asked: Query
) -> None:
    expected = oracle_queries.list_rows(known, asked)
    found = page(ordered, stored, None, 1_000, back=False)
    assert [(*row[:3], row.is_implicit) for row in found.results] == [(*row[:3], row.is_implicit) for row in expected]
    assert ordered.count() == len(expected)
    for row, wanted in zip(found.results, expected, strict=True):
        assert row.warrant in wanted.acceptable, row[:3]


def expect_pages(ordered: OrderedNumbers, stored: Sequence[Warrant], limit: int) -> None:
    """Pages of this size make up the list, in both directions."""
    rows = page(ordered, stored, None, 1_000, back=False).results
    for back in (False, True):
        wanted, after, seen = [*rows][:: -1 if back else 1], None, 0
        while seen < len(wanted):
            found = page(ordered, stored, after, limit, back)
            some = wanted[seen : seen + limit]
            assert [*found.results] == some[:: -1 if back else 1]
            goes_on, came_from = seen + limit < len(wanted), seen > 0
            assert (found.has_below, found.has_above) == ((goes_on, came_from) if back else (came_from, goes_on))
            seen, after = seen + len(some), some[-1]
