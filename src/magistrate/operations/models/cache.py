"""Caches the compiled model of a store as long as no object type changes, and a few models of the past."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from cachetools import LRUCache

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.model.model import Model
from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.names import PolicyName, Revision, TypeName
from magistrate.operations.models.definitions import parse_definition, parse_policies
from magistrate.operations.scheduling import offload
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import StoredModel

MIN_BYTES = 262_144
"""Counts a model of the past without its definitions and patterns (256 KiB), with what checks compile of it."""
BYTES_OF_A_CHARACTER = 40
"""Counts what a character of a definition becomes in memory, compiled plans included."""
BYTES_OF_A_PATTERN = 600
BYTES_FOR_A_PATTERN = 40
"""Counts the bytes of definitions that are read in the time in which a pattern is sorted into a model."""


class _PastModel(NamedTuple):
    model: Model
    size: int


_Span = tuple[Revision, Revision]
"""Holds the first and the last revision at which the object types are those of a model."""


class Models:
    """Holds the newest model that was requested. A check proceeds with it, and learns from its first read whether it
    still is the model of that revision: so the model is read only when it changed, and an outdated one is never
    used. Holds also the models of the past that were used most recently."""

    def __init__(self, store: Store, max_bytes: int) -> None:
        """`max_bytes` limits the models of the past."""
        self._store = store
        self._past: LRUCache[_Span, _PastModel] = LRUCache(max_bytes, getsizeof=lambda kept: kept.size)
        self._known: Model | None = None
        self._definitions: Mapping[TypeName, str] = {}
        self._policies: Mapping[PolicyName, str] = {}

    @property
    def known(self) -> Model | None:
        """Returns the model that `get_known` returns, None if that would have to be read."""
        return self._known

    def measure_past(self) -> CacheBytes:
        """Returns how many bytes the models of the past take, and the limit on them."""
        return CacheBytes("past_models", int(self._past.currsize), int(self._past.maxsize))

    async def get_known(self) -> Model:
        """Returns a model that was the newest at some time."""
        return self._known or await self._keep((await self._store.read_model()).value)

    async def at(self, revision: Revision, model_revision: Revision) -> Model:
        """Returns the model of this revision. `model_revision` is the last revision, then or later, that changed the
        model.

        Raises RevisionUnavailable, HistoryReplaced, StoreUnavailable.
        """
        await self._store.confirm_history()  # models are known by the number of their revision
        if model_revision > revision:
            return await self._find_past(revision)
        if self._known is not None and self._known.revision == model_revision:
            return self._known
        read = await self._store.read_model(revision)
        return await self._keep(replace(read.value, written_at=model_revision))

    async def _find_past(self, revision: Revision) -> Model:
        """Returns the model of a revision that is not the newest. Its patterns may include those of warrants that were
        written later, which does no harm; none may be missing."""
        for since, until in self._past:
            if since <= revision <= until:
                return self._past[since, until].model
        read, newest = (await self._store.read_model(revision)).value, self._known
        assert read.span is not None
        since, until = read.span
        if newest is not None and revision <= newest.revision and self._is_known(read):
            model = newest
            until = min(until, newest.revision)  # it has all patterns up to there
        else:
            model = await self._compile(replace(read, written_at=since))
        texts = (*read.definitions.values(), *read.policies.values())
        size = MIN_BYTES + BYTES_OF_A_CHARACTER * sum(map(len, texts)) + BYTES_OF_A_PATTERN * len(read.patterns)
        if size <= self._past.maxsize:
            self._past[since, until] = _PastModel(model, size)
        return model

    def _is_known(self, read: StoredModel) -> bool:
        """Returns whether the object types and policies are those of the cached model."""
        return (read.definitions, read.policies) == (self._definitions, self._policies)

    async def _keep(self, read: StoredModel) -> Model:
        model = await self._compile(read)
        if self._known is None or self._known.revision < model.revision:
            self._known, self._definitions, self._policies = model, read.definitions, read.policies
        return self._known if self._known.revision == model.revision else model

    async def _compile(self, read: StoredModel) -> Model:
        """Compiles a model, reading only the definitions that differ from those of the cached model."""
        types = dict(self._known.types) if self._known is not None else {}
        before, now = self._definitions, read.definitions
        changed = {name: definition for name, definition in now.items() if before.get(name) != definition}

        def read_changed() -> Mapping[TypeName, ObjectType]:
            return {name: parse_definition(name, definition) for name, definition in changed.items()}

        types |= await offload(read_changed, sum(map(len, changed.values())))
        policies = await offload(partial(parse_policies, read.policies), sum(map(len, read.policies.values())))
        types = {name: types[name] for name in now}
        building = partial(Model, types, read.written_at, read.patterns, policies=policies)
        return await offload(building, BYTES_FOR_A_PATTERN * len(read.patterns))
