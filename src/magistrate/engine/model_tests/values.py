"""Reads the values of test files, whatever their format."""

from collections.abc import Mapping, Sequence
from typing import Any

from magistrate.errors import InvalidRequest


def read_list(value: object, place: str) -> Sequence[Any]:
    """Returns a list, which is empty if there is no value. Raises InvalidRequest."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidRequest(f"{place}: must be a list")
    return value


def read_object(value: object, place: str) -> Mapping[str, Any]:
    """Returns an object. Raises InvalidRequest."""
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{place}: must be an object")
    return value
