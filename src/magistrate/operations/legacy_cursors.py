"""Reads the legacy cursors of v1 (docs/compatibility.md#lists-and-cursors): a row by its id and, where the list is
sorted by something else, its value there. No value stands for null, an empty one for the empty text."""

from collections.abc import Mapping
from dataclasses import dataclass

from magistrate.errors import InvalidParameter, InvalidRequest, MissingParameter
from magistrate.operations.times import read_time

SIDES = ("after", "before")

EARLIEST = -1
"""Precedes every creation time."""


@dataclass(frozen=True, slots=True)
class LegacyCursor:
    """Represents the row that a request names; it need not exist. `is_upwards`: rows above it in sort order are
    wanted."""

    side: str
    id: str
    value: str | None
    is_upwards: bool

    @property
    def id_parameter(self) -> str:
        return f"{self.side}Id"

    def invalid_value(self, message: str) -> InvalidParameter:
        return InvalidParameter(f"{self.side}Value", message)

    def text(self) -> str | None:
        """Returns the value as text. Raises InvalidParameter for one that no store can hold."""
        if self.value is not None and "\0" in self.value:
            raise self.invalid_value("must not contain the character NUL")
        return self.value

    def time(self) -> int:
        """Returns the value in microseconds since 1970 UTC. Raises InvalidParameter unless it is an RFC 3339 time."""
        return EARLIEST if self.value is None else read_time(self.value, f"{self.side}Value")


def legacy_side(parameters: Mapping[str, str]) -> str | None:
    """Returns on which side of a row the page lies; None if no legacy cursor is given.

    Raises InvalidRequest if both sides are given, or newer cursors besides, MissingParameter for a value without its
    id.
    """
    given = [side for side in SIDES if f"{side}Id" in parameters or f"{side}Value" in parameters]
    if not given:
        return None
    if len(given) > 1:
        raise InvalidRequest("cannot pass both after and before parameters together")
    if "nextCursor" in parameters or "prevCursor" in parameters:
        raise InvalidRequest(f"cannot pass {given[0]} parameters and a cursor together")
    if not parameters.get(f"{given[0]}Id"):
        raise MissingParameter(f"{given[0]}Id")
    return given[0]
