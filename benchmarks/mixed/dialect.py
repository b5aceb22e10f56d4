"""The requests of a kind of server: one file beside this for each kind."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from benchmarks.datasets.dataset import Check, WarrantRow

MAX_LISTED = 25
"""Rows requested in a list, where the server has pages."""


class RelationResult(NamedTuple):
    """Ids of objects. `reaches`: an id up to which, bytewise and inclusive, no object is left out; None if none is left
    out at all."""

    ids: frozenset[str]
    reaches: str | None


class Dialect(Protocol):
    """Requests are whole, with head and body; what is read is the body of an answer. `constant` is a request that the
    server answers without looking at anything. `max_checks`: in one batch."""

    @property
    def constant(self) -> bytes: ...

    @property
    def max_checks(self) -> int: ...

    def check(self, question: Check) -> bytes: ...

    def batch(self, questions: Sequence[Check]) -> bytes: ...

    def list_objects(self, question: Check) -> bytes:
        """Lists the objects of the type of the check's object on which the subject has the relation."""
        ...

    def write(self, row: WarrantRow) -> bytes: ...

    def delete(self, row: WarrantRow) -> bytes: ...

    def decision(self, body: bytes) -> bool:
        """Of the answer to a check: whether it is allowed."""
        ...

    def decisions(self, body: bytes) -> list[bool]:
        """Of the answer to a batch, in the order of its checks."""
        ...

    def listed(self, body: bytes) -> RelationResult: ...
