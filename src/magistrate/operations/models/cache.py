"""Caches the compiled model of a store as long as no object type changes, and a few models of the past."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from cachetools import LRUCache

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.cache.segments import stay_as_large
from magistrate.engine.model.model import Model
from magistrate.engine.names import PolicyName, Revision, TypeName
from magistrate.operations.models.compiled_models import CompiledModels, ParsedDefinitions
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import StoredModel

MIN_BYTES = 262_144
"""Counts a model of the past without its definitions and patterns (256 KiB), with what checks compile of it."""
BYTES_OF_A_CHARACTER = 40
"""Counts what a character of a definition becomes in memory, compiled plans included."""
BYTES_OF_A_PATTERN = 600


class _PastModel(NamedTuple):
    model: Model
    size: int


_Span = tuple[Revision, Revision]
"""Holds the first and the last revision at which the object types are those of a model."""


class Models:
    """Holds the newest model that was requested. A check proceeds with it, and learns from its first read whether it
    still is the model of that revision: so the model is read only when it changed, and an outdated one is never
    used. Holds also the models of the past that were used most recently."""

    def __init__(
        self,
        store: Store,
        max_bytes: int,
        grow: Callable[[], bool] = stay_as_large,
        compiled: CompiledModels | None = None,
    ) -> None:
        """`max_bytes` limits the models of the past. `grow` is called when there is no space; it may set another limit
        with `resize`, and returns whether it has. `compiled` has the models that stores share."""
        self._store = store
        self._compiled = compiled or CompiledModels()
        self._grow = grow
        self._max_bytes = max_bytes
        self._past: LRUCache[_Span, _PastModel] = LRUCache(math.inf, getsizeof=attrgetter("size"))
        self._known: Model | None = None
        self._parsed: ParsedDefinitions | None = None
        """Is what the newest model was made of."""

    @property
    def known(self) -> Model | None:
        """Returns the model that `get_known` returns, None if that would have to be read."""
        return self._known

    @property
    def definitions(self) -> tuple[Mapping[TypeName, str], Mapping[PolicyName, str]] | None:
        """Returns the definitions of the object types and policies of the known model, None if there is none."""
        return None if self._parsed is None else (self._parsed.definitions, self._parsed.policies)

    def measure_past(self) -> CacheBytes:
        """Returns how many bytes the models of the past take, and the limit on them."""
        return CacheBytes("past_models", int(self._past.currsize), self._max_bytes)

    def resize(self, max_bytes: int) -> None:
        """Sets the limit on the models of the past, and evicts what exceeds it."""
        self._max_bytes = max_bytes
        self._evict_above(max_bytes)

    def _evict_above(self, max_bytes: int) -> None:
        while self._past and self._past.currsize > max_bytes:
            self._past.popitem()

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
            model, _ = await self._compiled.compile(replace(read, written_at=since), self._parsed)
        texts = (*read.definitions.values(), *read.policies.values())
        size = MIN_BYTES + BYTES_OF_A_CHARACTER * sum(map(len, texts)) + BYTES_OF_A_PATTERN * len(read.patterns)
        while self._past.currsize + size > self._max_bytes and self._grow():
            pass
        if size <= self._max_bytes:
            self._evict_above(self._max_bytes - size)
            self._past[since, until] = _PastModel(model, size)
        return model

    def _is_known(self, read: StoredModel) -> bool:
        """Returns whether the object types and policies are those of the cached model."""
        parsed = self._parsed
        return parsed is not None and (read.definitions, read.policies) == (parsed.definitions, parsed.policies)

    async def _keep(self, read: StoredModel) -> Model:
        model, parsed = await self._compiled.compile(read, self._parsed)
        if self._known is None or self._known.revision < model.revision:
            self._known, self._parsed = model, parsed
        return self._known if self._known.revision == model.revision else model
