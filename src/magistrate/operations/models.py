"""The model of a store, compiled, as long as no object type changes."""

from dataclasses import replace

from magistrate.engine.plans import Model
from magistrate.engine.terms import Revision
from magistrate.operations.definitions import defined_type
from magistrate.store.contract import Store, StoredModel


class Models:
    """Holds the newest model that was asked for. A check goes on with it, and learns from its first read whether it
    still is the model of that revision: so nobody reads the model again, and nobody uses an old one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Model | None = None

    async def known(self) -> Model:
        """One that was the newest at some time."""
        return self._known or self._keep((await self._store.read_model()).value)

    async def at(self, revision: Revision, model_revision: Revision) -> Model:
        """That of this revision, when `model_revision` was or is the one that last changed the model: then or later.

        Raises RevisionUnavailable, StoreUnavailable.
        """
        if model_revision > revision:
            return _compiled((await self._store.read_model(revision)).value)
        if self._known is not None and self._known.revision == model_revision:
            return self._known
        read = await self._store.read_model(revision)
        return self._keep(replace(read.value, written_at=model_revision))

    def _keep(self, read: StoredModel) -> Model:
        model = _compiled(read)
        if self._known is None or self._known.revision < model.revision:
            self._known = model
        return model


def _compiled(read: StoredModel) -> Model:
    types = {name: defined_type(name, definition) for name, definition in read.definitions.items()}
    return Model(types, read.written_at, read.forms)
