"""Draws checks from the warrants that two servers share; both servers should answer them alike."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations.models.definitions import read_definition
from magistrate.store.contract.lists import Slice, WarrantFilter
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.store import Store

SEED = 20_251_115
"""Makes the sample reproducible: the same store gets the same checks each time."""

NOBODY = ObjectId("nobody-in-particular")
"""Stands for `*` where no id is known."""

_EQUALS = re.compile(r"""\b([A-Za-z_]\w*) *== *(?:"([^"\\]*)"|'([^'\\]*)')""")


class Sample:
    """Samples a fixed number of the warrants it is shown, each with the same chance (Vitter's algorithm R). Samples of
    the same warrants in the same order differ by their `number`."""

    def __init__(self, size: int, number: int = 0) -> None:
        self._size = size
        self._shown = 0
        self._random = random.Random(SEED + number)
        self.warrants: list[NewWarrant] = []

    def show(self, warrants: Sequence[NewWarrant]) -> None:
        for warrant in warrants:
            self._shown += 1
            if len(self.warrants) < self._size:
                self.warrants.append(warrant)
            elif (place := self._random.randrange(self._shown)) < self._size:
                self.warrants[place] = warrant


def draw_checks(
    warrants: Sequence[NewWarrant], relations: Mapping[TypeName, Sequence[RelationName]], count: int
) -> list[Check]:
    """Returns up to this many checks; duplicates are left out. They alternate between what a warrant says, another
    relation for the same two, and what one of them has on the object of another, which mostly is nothing. Policies get
    the values that they compare with."""
    drawn = random.Random(SEED)
    ids = _ids_by_type(warrants)
    checks: dict[str, Check] = {}
    for number in range(count if warrants else 0):
        warrant, other = warrants[number % len(warrants)], drawn.choice(warrants)
        acquire = (number + number // len(warrants)) % 3  # a different variant each time a warrant comes again
        subject = other.subject if acquire == 2 else warrant.subject
        relation = (
            warrant.relation if acquire == 0 else drawn.choice(relations.get(warrant.object.type, [warrant.relation]))
        )
        object_id = _concrete(warrant.object.id, ids.get(warrant.object.type), drawn)
        subject_id = _concrete(subject.id, ids.get(subject.type), drawn)
        context = {name: a or b for name, a, b in _EQUALS.findall(warrant.policy + " " + other.policy)}
        checked_subject = Subject(subject.type, subject_id, subject.relation)
        check = Check(ObjectRef(warrant.object.type, object_id), relation, checked_subject, context)
        checks[repr(check)] = check
    return [*checks.values()]


def _ids_by_type(warrants: Sequence[NewWarrant]) -> dict[TypeName, list[ObjectId]]:
    ids: dict[TypeName, list[ObjectId]] = {}
    for warrant in warrants:
        for of_type, object_id in (
            (warrant.object.type, warrant.object.id),
            (warrant.subject.type, warrant.subject.id),
        ):
            if object_id != WILDCARD:
                ids.setdefault(of_type, []).append(object_id)
    return ids


def _concrete(object_id: ObjectId, ids: Sequence[ObjectId] | None, drawn: random.Random) -> ObjectId:
    if object_id != WILDCARD:
        return object_id
    return drawn.choice(ids) if ids else NOBODY


MAX_WARRANTS = 10_000
"""Limits the warrants that are read to find a loop; beyond it, none counts as found."""
MAX_NODES = 10_000
"""Limits the relations of objects that are looked at, likewise."""
PAGE_ROWS = 1_000


class _Node(NamedTuple):
    """Represents a relation of an object."""

    type: str
    id: str
    relation: str


class LoopSearch:
    """Searches for loops in the warrants of a store with these object types, by depth and without recursion."""

    def __init__(self, store: Store, definitions: Mapping[TypeName, str]) -> None:
        self._store = store
        self._definitions = definitions
        self._warrants_left = 0

    async def reaches_loop(self, object_type: str, object_id: str, relation: str) -> bool:
        """Returns whether the relation of the object depends on a relation of an object that depends on itself; False
        also if that would take more than MAX_WARRANTS or MAX_NODES."""
        self._warrants_left = MAX_WARRANTS
        root = _Node(object_type, object_id, relation)
        seen, on_path = {root}, {root}
        walk = [(root, iter(await self._dependencies(root)))]
        while walk and self._warrants_left >= 0 and len(seen) <= MAX_NODES:
            node, following = walk[-1]
            child = next(following, None)
            if child is None:
                on_path.remove(node)
                walk.pop()
            elif child in on_path:
                return True
            elif child not in seen:
                seen.add(child)
                on_path.add(child)
                walk.append((child, iter(await self._dependencies(child))))
        return False

    async def _dependencies(self, node: _Node) -> Sequence[_Node]:
        """Returns the relations that the relation depends on: by groups that a warrant names, and by its rule."""
        definition = self._definitions.get(TypeName(node.type))
        relations = read_definition(definition).relations if definition is not None else {}
        if node.relation not in relations:
            return ()
        warrants = await self._read_warrants(node)
        groups = [
            _Node(warrant.subject_type, warrant.subject_id, warrant.subject_relation)
            for warrant in warrants
            if warrant.relation == node.relation and warrant.subject_relation
        ]
        return [*groups, *_list_inherited(node, relations[node.relation], warrants)]

    async def _read_warrants(self, node: _Node) -> Sequence[Warrant]:
        only = WarrantFilter({"object_type": node.type}, {"object_id": (node.id, WILDCARD)})
        page_slice, warrants = Slice("createdAt", PAGE_ROWS), list[Warrant]()
        while self._warrants_left >= 0:
            page = (await self._store.list_warrants(page_slice, only)).value
            warrants += page.rows
            self._warrants_left -= len(page.rows)
            if not page.follows:
                break
            page_slice = Slice("createdAt", PAGE_ROWS, boundary=(page.rows[-1].created_at, page.rows[-1].number))
        return warrants


def _list_inherited(node: _Node, rule: RuleDefinition, warrants: Sequence[Warrant]) -> Iterator[_Node]:
    waiting = [rule]
    while waiting:
        branch = waiting.pop()
        if branch.rules:
            waiting += filter(None, branch.rules)
        elif branch.inherit_if and branch.of_type:
            for warrant in warrants:
                if warrant.relation == branch.with_relation and warrant.subject_type == branch.of_type:
                    yield _Node(warrant.subject_type, warrant.subject_id, branch.inherit_if)
        elif branch.inherit_if:
            yield _Node(node.type, node.id, branch.inherit_if)
