"""Reads the parameter `asOf`, which asks for the state at a past point in time (docs/history.md)."""

from typing import NamedTuple

from magistrate.engine.terms import Revision
from magistrate.errors import InvalidParameter
from magistrate.operations.consistency import LATEST, is_token, read_token
from magistrate.operations.times import read_time
from magistrate.store.contract import Identity

AS_OF = "asOf"
"""Names the parameter."""

_MUST_BE = "must be a token, or a time in the format 2006-01-02T15:04:05Z07:00"


class AsOf(NamedTuple):
    """Represents the point in time that a read asks for: either a revision, which is the one with these `bits` if they
    are known, or a time, in microseconds since 1970 UTC."""

    revision: Revision | None = None
    time: int | None = None
    bits: int | None = None

    def names(self, revision: Revision, now: int) -> bool:
        """Returns whether a listing whose first page asked for this point is at this revision and time."""
        return revision == self.revision or now == self.time


def read_as_of(identity: Identity, text: str) -> AsOf:
    """Returns the point in time that a text asks for: a token, which names its revision, or an RFC 3339 time.

    Raises InvalidParameter for anything else, `latest` included, and for the token of another store."""
    if text != LATEST and is_token(text):
        revision, bits = read_token(identity, AS_OF, text).id
        return AsOf(revision, bits=bits)
    try:
        return AsOf(time=read_time(text, AS_OF))
    except InvalidParameter:
        raise InvalidParameter(AS_OF, _MUST_BE) from None
