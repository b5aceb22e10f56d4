"""Expands one relation of an object as OpenFGA's API shows it: its rewrite in an authorization model, with the
users that tuples give it (docs/openfga.md#expand)."""

from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

from magistrate.engine.importers.names import STABLE
from magistrate.engine.names import WILDCARD, Revision
from magistrate.engine.nesting import fold, walk
from magistrate.engine.openfga.documents import AllowedUser, DocumentRelation
from magistrate.engine.openfga.tuples import NamedObject
from magistrate.engine.openfga.validation import convert_object
from magistrate.engine.steps import take_pieces
from magistrate.engine.subjects import render_allowed_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work, sort_in_steps
from magistrate.operations.context import Context
from magistrate.operations.openfga.documents import UsedModel
from magistrate.operations.openfga.names import ForeignNames
from magistrate.operations.readers.contextual_warrants import build_contextual_warrants
from magistrate.operations.runs import complete_checkpoints
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work
from magistrate.store.contract.lists import Slice, Snapshot, WarrantFilter
from magistrate.store.contract.new_rows import NewWarrant

ROWS_AT_ONCE = 500
TreeNode = dict[str, Any]
"""Holds a node as it is answered."""


class ExpandedRelation(NamedTuple):
    """Names a relation of an object."""

    object: NamedObject
    relation: str

    def render(self) -> str:
        return f"{self.object.type}:{self.object.id}#{self.relation}"


async def expand(
    ctx: Context, used: UsedModel, expanded: ExpandedRelation, contextual: Sequence[NewWarrant]
) -> Snapshot[TreeNode]:
    """Returns the root of the tree. Raises BudgetExceeded if all users in it, each time that they are in it, are more
    than a query may read."""
    relations = used.compiled.document.types[expanded.object.type].relations
    rewrite = relations[expanded.relation].rewrite
    names = list(dict.fromkeys(name for part in walk(rewrite, _list_operands) for name in _list_given(part, expanded)))
    work = limit_work(ctx.max_query_work)
    users = _GivenUsers(ctx, used, work)
    for name in names:
        await users.read(convert_object(expanded.object), name, relations[name], contextual=contextual)
    names_by_relation = {
        name: await complete_checkpoints(_sort(unsorted, work), work) for name, unsorted in users.by_relation.items()
    }
    root = fold(rewrite, _list_operands, partial(_build_node, expanded, names_by_relation, work))
    return Snapshot(users.revision or await ctx.store.check(), root)


def _list_operands(rewrite: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    [(kind, body)] = rewrite.items()
    if kind == "difference":
        return body["base"], body["subtract"]
    return body["child"] if kind in ("union", "intersection") else ()


def _list_given(rewrite: Mapping[str, Any], expanded: ExpandedRelation) -> Sequence[str]:
    """Returns the relations whose tuples a part of the rewrite shows."""
    if "this" in rewrite:
        return (expanded.relation,)
    return (rewrite["tupleToUserset"]["tupleset"]["relation"],) if "tupleToUserset" in rewrite else ()


def _sort(users: dict[str, None], work: Work) -> Any:
    return take_pieces(sort_in_steps(users, str), work)


def _build_node(
    expanded: ExpandedRelation,
    users: Mapping[str, list[str]],
    work: Work,
    rewrite: Mapping[str, Any],
    operands: Sequence[TreeNode],
) -> TreeNode:
    [(kind, body)] = rewrite.items()
    return {"name": expanded.render(), **_build_content(expanded, users, work, kind, body=body, operands=operands)}


def _build_content(
    expanded: ExpandedRelation,
    users: Mapping[str, list[str]],
    work: Work,
    kind: str,
    *,
    body: Mapping[str, Any],
    operands: Sequence[TreeNode],
) -> TreeNode:
    """Returns the one member that a node has besides its name."""
    of_type, object_id = expanded.object
    match kind:
        case "this":
            work.spend(len(users[expanded.relation]))
            return {"leaf": {"users": {"users": users[expanded.relation]}}}
        case "computedUserset":
            return {"leaf": {"computed": {"userset": f"{of_type}:{object_id}#{body['relation']}"}}}
        case "tupleToUserset":
            link, linked = body["tupleset"]["relation"], body["computedUserset"]["relation"]
            work.spend(len(users[link]))
            computed = [{"userset": f"{user}#{linked}"} for user in users[link]]
            tupleset = f"{of_type}:{object_id}#{link}"
            return {"leaf": {"tupleToUserset": {"tupleset": tupleset, "computed": computed}}}
        case "difference":
            return {kind: {"base": operands[0], "subtract": operands[1]}}
        case _:
            return {kind: {"nodes": [*operands]}}


class _GivenUsers:
    """Reads the users that tuples give the relations of an object, all at one revision."""

    def __init__(self, ctx: Context, used: UsedModel, work: Work) -> None:
        self._ctx = ctx
        self._names = ForeignNames()
        self._names.add(used.compiled.document)
        self._counts = used.counts_stored
        self._work = work
        self._now = ctx.now()
        self.revision: Revision | None = None
        self.by_relation: dict[str, dict[str, None]] = {}

    async def read(
        self, on_object: ObjectRef, name: str, relation: DocumentRelation, contextual: Sequence[NewWarrant]
    ) -> None:
        """Reads those of a relation, as far as the model allows them. Raises BudgetExceeded."""
        names = self.by_relation[name] = {}
        if relation.direct is None:
            return
        allowed = frozenset(map(_name_here, relation.allowed))
        added = build_contextual_warrants(contextual, self._now).warrants
        on_relation = (on_object.type, on_object.id, relation.direct)
        self._add(names, [row for row in added if row.names[:3] == on_relation], allowed)
        equal = dict(zip(("object_type", "object_id", "relation"), on_relation, strict=True))
        only, boundary = WarrantFilter(equal, unexpired_at=self._now), None
        while True:
            part = Slice("createdAt", ROWS_AT_ONCE, boundary=boundary)
            listed = await self._ctx.store.list_warrants(part, only, self.revision)
            self.revision = listed.revision
            rows = listed.value.rows
            self._work.spend(len(rows))
            self._add(names, rows if self._counts is None else list(filter(self._counts, rows)), allowed)
            if not listed.value.follows:
                return
            boundary = (rows[-1].created_at, rows[-1].number)
            if is_time_up():
                await checkpoint()

    def _add(self, names: dict[str, None], rows: Sequence[Warrant], allowed: Set[str]) -> None:
        for row in rows:
            allowed_type = render_allowed_type(row.subject_type, row.subject_id, row.subject_relation)
            if allowed_type in allowed and row.is_in_force(self._now):
                names[self._names.describe(row).user] = None


def _name_here(user: AllowedUser) -> str:
    relation = STABLE.name_relation(user.relation) if user.relation else ""
    return render_allowed_type(STABLE.name_type(user.type), WILDCARD if user.is_wildcard else "", relation)
