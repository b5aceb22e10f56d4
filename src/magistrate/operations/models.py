"""Caches the compiled model of a store as long as no object type changes."""

from collections.abc import Mapping
from dataclasses import replace

from magistrate.engine.model import ObjectType
from magistrate.engine.plans import Model
from magistrate.engine.terms import Revision, TypeName
from magistrate.operations.definitions import parse_definition
from magistrate.operations.scheduling import aside
from magistrate.store.contract import Store, StoredModel


class Models:
    """Holds the newest model that was requested. A check proceeds with it, and learns from its first read whether it
    still is the model of that revision: so the model is read only when it changed, and an outdated one is never
    used."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Model | None = None
        self._definitions: Mapping[TypeName, str] = {}

    async def get_known(self) -> Model:
        """Returns a model that was the newest at some time."""
        return self._known or await self._keep((await self._store.read_model()).value)

    async def at(self, revision: Revision, model_revision: Revision) -> Model:
        """Returns the model of this revision. `model_revision` is the last revision, then or later, that changed the
        model.

        Raises RevisionUnavailable, StoreUnavailable.
        """
        if model_revision > revision:
            return await self._compile((await self._store.read_model(revision)).value)
        if self._known is not None and self._known.revision == model_revision:
            return self._known
        read = await self._store.read_model(revision)
        return await self._keep(replace(read.value, written_at=model_revision))

    async def _keep(self, read: StoredModel) -> Model:
        model = await self._compile(read)
        if self._known is None or self._known.revision < model.revision:
            self._known, self._definitions = model, read.definitions
        return self._known if self._known.revision == model.revision else model

    async def _compile(self, read: StoredModel) -> Model:
        """Compiles a model, reading only the definitions that differ from those of the cached model."""
        types = dict(self._known.types) if self._known is not None else {}
        before, now = self._definitions, read.definitions
        changed = {name: definition for name, definition in now.items() if before.get(name) != definition}

        def read_changed() -> Mapping[TypeName, ObjectType]:
            return {name: parse_definition(name, definition) for name, definition in changed.items()}

        types |= await aside(read_changed, sum(map(len, changed.values())))
        return Model({name: types[name] for name in now}, read.written_at, read.patterns)
