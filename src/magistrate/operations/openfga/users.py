"""Lists the users, or the usersets, that have a relation on an object, by authorization models of OpenFGA's API
(docs/openfga.md#lists).

Both are rows of the query for subjects, over the warrants that are stored, with a model and a reader that are derived
for them: see `engine/openfga/user_lists.py`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from magistrate.engine.lists.language import SubjectsQuery
from magistrate.engine.lists.query_search import begin_search
from magistrate.engine.lists.results import Findings, RelationResult
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName
from magistrate.engine.openfga.user_lists import (
    add_named_patterns,
    build_own_warrants,
    divide_read,
    name_named,
    rename_warrants,
)
from magistrate.engine.steps import Checkpoints
from magistrate.engine.subjects import join_subject_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.reader import AnyRead, ReadResult, WarrantRead, WarrantReader
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_AT_ONCE, Work
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.lists.evaluators import ListRequest, NewestRevision, QueryRequest
from magistrate.operations.openfga.checks import require_known
from magistrate.operations.openfga.documents import ModelUse, UsedModel
from magistrate.operations.runs import complete_checkpoints, complete_run
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant


@dataclass(frozen=True, slots=True)
class UserSearch:
    """Holds what is searched for: the users of a type, or with `userset` the usersets of this relation, that have a
    relation on an object."""

    object: ObjectRef
    relation: RelationName
    type: TypeName
    userset: str
    context: Mapping[str, Any]
    contextual: Sequence[NewWarrant]


@dataclass(frozen=True, slots=True)
class UserResults:
    """Holds the ids of the users, or of the objects of the usersets, and whether a wildcard has the relation."""

    ids: Sequence[ObjectId]
    has_wildcard: bool


class _DerivedRequest(ListRequest):
    """Represents a request for rows by a model that is derived from an authorization model."""

    replaces_stored = True

    def __init__(
        self,
        ctx: Context,
        request: QueryRequest,
        newest: NewestRevision,
        used: UsedModel,
        *,
        of_users: bool,
    ) -> None:
        super().__init__(ctx, request, newest, sort="id", now=ctx.now(), is_pinned=True)
        self.counts_stored = used.counts_stored
        self._compiled = used.compiled
        self._of_users = of_users

    async def find_model(self) -> Model:
        use = ModelUse.USER_LISTS if self._of_users else ModelUse.USERSET_LISTS
        return self._compiled.build_model(await super().find_model(), use)

    async def prepare_model(self) -> Model:
        model = await super().prepare_model()
        if self.overlay is None or not self._of_users:
            return model
        return model.with_patterns(add_named_patterns(self.overlay.patterns))


async def list_users(ctx: Context, used: UsedModel, search: UserSearch, freshness: Freshness) -> Snapshot[UserResults]:
    """Raises BudgetExceeded, OpenFgaRefusal if a condition cannot be evaluated, and what reading raises."""
    state = await ctx.store.read_warrants((), None, 1)
    await ctx.store.confirm_history()  # models are known by the number of their revision
    freshness.demand(state.newest)
    relations = (search.relation,) if search.userset else (search.relation, name_named(search.relation))
    subjects = join_subject_type(search.type, search.userset)
    query = SubjectsQuery(search.object, relations, (subjects,), is_explicit=False)
    request = _DerivedRequest(
        ctx,
        QueryRequest(query, search.context, search.contextual),
        NewestRevision(state.revision, state.model_revision),
        used,
        of_users=not search.userset,
    )
    stored = await request.prepare_reader()
    reader: WarrantReader = _NamedReader(stored)
    if search.userset:
        reader = _OwnUsersetReader(stored, search.type, RelationName(search.userset))
    run = begin_search(await request.prepare_model(), query, search.context, request.now, work=request.work)
    findings = await complete_run(reader, run, state.revision)
    require_known(request.work)
    listed = await complete_checkpoints(_collect(findings, search, request.work), request.work)
    return Snapshot(state.revision, listed)


def _collect(findings: Findings, search: UserSearch, work: Work) -> Checkpoints[UserResults]:
    results = {result.relation: result for result in findings.relation_results or ()}
    named = results[search.relation if search.userset else name_named(search.relation)]
    ids: list[ObjectId] = []
    for number, object_id in enumerate(_list_ids(named), 1):
        ids.append(object_id)
        if not number % ITEMS_AT_ONCE:
            yield from work.checkpoint(1)
    has_wildcard = not search.userset and results[search.relation].has_wildcard
    return UserResults(ids, has_wildcard)


def _list_ids(result: RelationResult) -> Iterator[ObjectId]:
    """Yields the ids of rows that are named, and not that of all others."""
    return (object_id for object_id in result.ids(()) if object_id != WILDCARD)


class _NamedReader:
    """Implements WarrantReader: returns stored warrants also as those of the relations of named users."""

    def __init__(self, reader: WarrantReader) -> None:
        self._reader = reader

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        parts: list[WarrantRead] = []
        places: list[tuple[int, bool]] = []
        for place, read in enumerate(reads):
            assert isinstance(read, WarrantRead)  # a search for subjects reads by object
            for part, is_renamed in zip(divide_read(read), (False, True), strict=True):
                if part is not None:
                    parts.append(part)
                    places.append((place, is_renamed))
        result = await self._reader.read_warrants(parts, at, most)
        warrants: list[list[Warrant]] = [[] for _ in reads]
        for (place, is_renamed), rows in zip(places, result.warrants, strict=True):
            warrants[place] += rename_warrants(rows) if is_renamed else rows
        if sum(map(len, result.warrants)) >= most:  # the caller recognizes by their number that some may be missing
            warrants[0] = [row for rows in result.warrants for row in rows]
        return replace(result, warrants=warrants)


class _OwnUsersetReader:
    """Implements WarrantReader: returns stored warrants, and that a relation is given to itself on each object."""

    def __init__(self, reader: WarrantReader, of_type: TypeName, relation: RelationName) -> None:
        self._reader = reader
        self._build = partial(build_own_warrants, of_type=of_type, relation=relation)

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        result = await self._reader.read_warrants(reads, at, most)
        warrants = []
        for read, rows in zip(reads, result.warrants, strict=True):
            assert isinstance(read, WarrantRead)  # a search for subjects reads by object
            warrants.append([*rows, *self._build(read)])
        return replace(result, warrants=warrants)
