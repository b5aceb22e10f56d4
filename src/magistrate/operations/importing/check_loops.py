"""Finds out whether a check leads into a loop of groups and rules, on which a Warrant server spends all its time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.terms import WILDCARD, TypeName
from magistrate.engine.warrants import Warrant
from magistrate.operations.definitions import read_definition
from magistrate.store.contract import Slice, Store, WarrantFilter

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
            _Node(each.subject_type, each.subject_id, each.subject_relation)
            for each in warrants
            if each.relation == node.relation and each.subject_relation
        ]
        return [*groups, *_list_inherited(node, relations[node.relation], warrants)]

    async def _read_warrants(self, node: _Node) -> Sequence[Warrant]:
        only = WarrantFilter({"object_type": node.type}, {"object_id": (node.id, WILDCARD)})
        wanted, warrants = Slice("createdAt", PAGE_ROWS), list[Warrant]()
        while self._warrants_left >= 0:
            page = (await self._store.list_warrants(wanted, only)).value
            warrants += page.rows
            self._warrants_left -= len(page.rows)
            if not page.follows:
                break
            wanted = Slice("createdAt", PAGE_ROWS, boundary=(page.rows[-1].created_at, page.rows[-1].number))
        return warrants


def _list_inherited(node: _Node, rule: RuleDefinition, warrants: Sequence[Warrant]) -> Iterator[_Node]:
    waiting = [rule]
    while waiting:
        one = waiting.pop()
        if one.rules:
            waiting += filter(None, one.rules)
        elif one.inherit_if and one.of_type:
            for each in warrants:
                if each.relation == one.with_relation and each.subject_type == one.of_type:
                    yield _Node(each.subject_type, each.subject_id, one.inherit_if)
        elif one.inherit_if:
            yield _Node(node.type, node.id, one.inherit_if)
