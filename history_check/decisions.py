"""Decides what is allowed in a state, by the oracle of the tests.

`tests/oracle.py` says what a model means by equations that are iterated to their solution, and nothing of the service
uses it: the engine cannot be wrong in the same way. It is slow, so a decision is remembered with the places of the
warrants that it was made from, and made again only if one of these, or a rule, has changed since."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from history_check.state import Place, State
from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.warrants.warrant import Warrant
from tests.oracle import Ground, Node, Truth, solve_nodes
from tests.oracle_queries import NOBODY

MAX_DECISIONS = 200_000

Key = tuple[Node, Subject, bool]


@dataclass(frozen=True, slots=True)
class StateGround(Ground):
    """Reads the warrants of a state where the oracle would look through all of them, and notes the places."""

    state: State
    places: set[Place]

    def warrants_on(self, node: Node) -> Iterator[Warrant]:
        for object_id in (None,) if node.id == WILDCARD else (node.id, WILDCARD):
            self.places.add((node.type, node.relation, object_id))
            yield from self.state.find_warrants(node.type, node.relation, object_id)


@dataclass(slots=True)
class Decision:
    """Holds a decision, the places that it depends on, and the last revision at which it was seen to be right."""

    holds: bool
    places: tuple[Place, ...]
    revision: int


class Access(NamedTuple):
    """Selects access as `document#viewer@user` does."""

    object_type: str
    relation: str
    subject_type: str


def read_access(of: str) -> Access:
    object_type, _, rest = of.partition("#")
    return Access(object_type, *rest.split("@"))


class Decisions:
    """Decides in a state, which may be written meanwhile."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._decisions: dict[Key, Decision] = {}
        self.made = self.reused = 0

    def holds(self, node: Node, subject: Subject, *, has_rules: bool = True) -> bool:
        """Returns whether the subject has the relation; without rules, whether a warrant alone gives it."""
        state, key = self._state, (node, subject, has_rules)
        decision = self._decisions.get(key)
        if decision is not None and self._is_valid(decision):
            self.reused += 1
            decision.revision = state.revision
            return decision.holds
        types = state.types if has_rules else {name: dict.fromkeys(types) for name, types in state.types.items()}
        ground = StateGround(types, (), subject, lambda warrant: True, state, set())
        is_allowed = solve_nodes(ground, [node])[node] == Truth.TRUE
        if len(self._decisions) >= MAX_DECISIONS:
            self._decisions.clear()
        self._decisions[key] = Decision(is_allowed, tuple(ground.places), state.revision)
        self.made += 1
        return is_allowed

    def list_objects(self, object_type: str, relation: str, subject: Subject) -> set[str]:
        """Returns the objects on which the subject has the relation."""
        return {
            f"{object_type}:{object_id}"
            for object_id in self._state.objects.get(object_type, ())
            if self.holds(Node(object_type, object_id, relation), subject)
        }

    def list_subjects(self, subject_type: str, node: Node) -> set[str]:
        """Returns the subjects of the type, `*` included, that have the relation on the object, as a query does."""
        objects = self._state.objects.get(subject_type, ())
        rows = {f"{subject_type}:{name}" for name in objects if self.holds(node, make_subject(subject_type, name))}
        if self._lists_wildcard(subject_type, node):
            rows.add(f"{subject_type}:{WILDCARD}")
        return rows

    def list_access(self, of: Access) -> frozenset[str]:
        """Returns the access that a difference compares (docs/difference.md#what-access-is)."""
        rows = set()
        for object_id in self._state.objects.get(of.object_type, ()):
            node = Node(of.object_type, object_id, of.relation)
            text = f"{of.object_type}:{object_id}#{of.relation}@"
            rows |= {text + subject for subject in self.list_subjects(of.subject_type, node)}
        return frozenset(rows)

    def _lists_wildcard(self, subject_type: str, node: Node) -> bool:
        """Returns whether `*` has a row: it has what those without a warrant have not."""
        wildcard = make_subject(subject_type, WILDCARD)
        return any(
            self.holds(node, wildcard, has_rules=has_rules) and not self.holds(node, NOBODY, has_rules=has_rules)
            for has_rules in (True, False)
        )

    def _is_valid(self, decision: Decision) -> bool:
        at, since = decision.revision, self._state.since
        if at == self._state.revision:
            return True
        return self._state.types_since <= at and all(since.get(place, 0) <= at for place in decision.places)


def make_subject(subject_type: str, subject_id: str, relation: str = "") -> Subject:
    return Subject(TypeName(subject_type), ObjectId(subject_id), relation)
