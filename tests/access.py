"""All access of a state, by the oracle: every relation on every object, for every subject, without a context; and what
may be allowed with one."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from magistrate.engine.names import WILDCARD, TypeName
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from tests import oracle, oracle_queries

Types = Mapping[str, Mapping[str, Any]]


class AccessRow(NamedTuple):
    """A subject that has a relation on an object; `is_conditional`: it depends on a context whether it does."""

    type: str
    id: str
    relation: str
    subject_type: str
    subject_id: str
    is_conditional: bool


Access = frozenset[AccessRow]
Difference = list[tuple[AccessRow, bool]]
"""Each row that is in one state only, in order, and whether it was gained."""


def access(types: Types, warrants: Sequence[Warrant], objects: Collection[ObjectRef], now: int) -> Access:
    counting = oracle.in_force(warrants, now)

    def holds(warrant: Warrant) -> bool | None:
        return read_policy(warrant.policy).outcome({}, warrant, now).value

    def may_hold(warrant: Warrant) -> bool | None:
        return None if {*read_policy(warrant.policy).names} - {"now"} else holds(warrant)

    allowed = {row for row, value in _rows(types, counting, objects, holds) if value == oracle.Truth.TRUE}
    undecided = {row for row, value in _rows(types, counting, objects, may_hold) if value == oracle.Truth.UNKNOWN}
    return frozenset({*allowed, *(row._replace(is_conditional=True) for row in undecided - allowed)})


def _rows(
    types: Types,
    warrants: Sequence[Warrant],
    objects: Collection[ObjectRef],
    holds: Callable[[Warrant], bool | None],
) -> Iterator[tuple[AccessRow, oracle.Truth]]:
    nodes = [oracle.Node(one.type, one.id, relation) for one in objects for relation in types.get(one.type, ())]
    bare = {name: dict.fromkeys(relations) for name, relations in types.items()}
    of_nobody = _values(types, warrants, nodes, oracle_queries.NOBODY, holds)
    for subject in objects:
        values = _values(types, warrants, nodes, Subject(subject.type, subject.id), holds)
        yield from ((AccessRow(*node, subject.type, subject.id, False), values[node]) for node in nodes)
    for name in sorted({*types, *(one.subject_type for one in warrants), *(one.type for one in objects)}):
        wildcard = Subject(TypeName(name), WILDCARD)
        values = _values(types, warrants, nodes, wildcard, holds)
        explicit = _values(bare, warrants, nodes, wildcard, holds)
        for node in nodes:
            value, unnamed = values[node], of_nobody[node]
            is_own = explicit[node] == oracle.Truth.TRUE or unnamed == oracle.Truth.FALSE
            if is_own or value == oracle.Truth.TRUE != unnamed:
                yield AccessRow(*node, name, WILDCARD, False), value


def _values(
    types: Mapping[str, Any],
    warrants: Sequence[Warrant],
    nodes: Sequence[oracle.Node],
    subject: Subject,
    holds: Callable[[Warrant], bool | None],
) -> Mapping[oracle.Node, oracle.Truth]:
    return oracle.solve_nodes(oracle.Ground(types, warrants, subject, holds), nodes)


def difference(before: Access, after: Access) -> Difference:
    return sorted((row, row in after) for row in before ^ after)
