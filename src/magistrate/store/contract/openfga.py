"""Defines what a store promises about the authorization models of OpenFGA's API (docs/openfga.md). Every sentence has a
test in tests/store/test_openfga_models.py."""

from typing import NamedTuple, Protocol

import msgspec

from magistrate.engine.names import Revision
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewModel, Stamp, ValidateTypes

FIRST_ULID = "0" * 26
LAST_ULID = "7" + "Z" * 25
"""Sort before and behind the ids of all models."""


class StoredOpenFgaModel(msgspec.Struct, frozen=True):
    """Holds a model: ('01JDKZ...', '{"schema_version":"1.1",...}', '[]', 1763683200000000, 7).

    `document` never changes; `assertions` are an array in JSON. `created_at` is in microseconds since 1970 UTC;
    `created_revision` is that of the write, and 1 in a store that was restored."""

    id: str
    document: str
    assertions: str
    created_at: int
    created_revision: int


class NewestOpenFgaModel(NamedTuple):
    """Holds the id of the newest model, None if there is none, and the revision that last changed the model of the
    store, which is at least as late as that of every write of an authorization model."""

    id: str | None
    model_revision: Revision


class OpenFgaStore(Protocol):
    """Represents the part of a store that has these models."""

    async def put_openfga_model(
        self, document: str, model: NewModel, validate: ValidateTypes, stamp: Stamp
    ) -> Snapshot[tuple[str, ...]]:
        """Stores a model, and makes `model` that of the store, as one write, which changes the model even if it is as
        before. Returns the id, which is greater than that of every other model of the store."""
        ...

    async def find_openfga_model(self, model_id: str) -> Snapshot[StoredOpenFgaModel | None]: ...

    async def find_newest_openfga_model(self) -> Snapshot[NewestOpenFgaModel]: ...

    async def list_openfga_models(self, before: str, limit: int) -> Snapshot[tuple[StoredOpenFgaModel, ...]]:
        """Lists the models with ids below this one, the greatest id first."""
        ...

    async def put_openfga_assertions(self, model_id: str, assertions: str) -> Snapshot[bool]:
        """Replaces the assertions of a model, and returns whether there is such a model. Makes no revision."""
        ...
