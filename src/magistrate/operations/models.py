"""The model of a store, compiled, as long as no object type changes."""

from dataclasses import replace

from magistrate.engine.model import ObjectType
from magistrate.engine.plans import Model
from magistrate.engine.terms import Revision, TypeName
from magistrate.operations.definitions import defined_type
from magistrate.operations.turns import give_way
from magistrate.store.contract import Store, StoredModel

BYTES_IN_A_TURN = 16_384
"""Of definitions: some milliseconds."""


class Models:
    """Holds the newest model that was asked for. A check goes on with it, and learns from its first read whether it
    still is the model of that revision: so nobody reads the model again, and nobody uses an old one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Model | None = None
        self._types: dict[TypeName, tuple[str, ObjectType]] = {}
        """Those that were read last, each with the text it was read from."""

    async def known(self) -> Model:
        """One that was the newest at some time."""
        return self._known or await self._keep((await self._store.read_model()).value)

    async def at(self, revision: Revision, model_revision: Revision) -> Model:
        """That of this revision, when `model_revision` was or is the one that last changed the model: then or later.

        Raises RevisionUnavailable, StoreUnavailable.
        """
        if model_revision > revision:
            return await self._read((await self._store.read_model(revision)).value)
        if self._known is not None and self._known.revision == model_revision:
            return self._known
        read = await self._store.read_model(revision)
        return await self._keep(replace(read.value, written_at=model_revision))

    async def _keep(self, stored: StoredModel) -> Model:
        model = await self._read(stored)
        if self._known is None or self._known.revision < model.revision:
            self._known = model
        return model

    async def _read(self, stored: StoredModel) -> Model:
        """Reads the object types that are not as they were the last time, and leaves others a turn between them."""
        types: dict[TypeName, tuple[str, ObjectType]] = {}
        bytes_read = 0
        for name, definition in stored.definitions.items():
            known = self._types.get(name)
            if known is None or known[0] != definition:
                known = (definition, defined_type(name, definition))
                bytes_read += len(definition)
            types[name] = known
            if bytes_read > BYTES_IN_A_TURN:
                bytes_read = 0
                await give_way()
        self._types = types
        return Model({name: known[1] for name, known in types.items()}, stored.written_at, stored.forms)
