"""Builds the decoders of JSON, which let other threads run while they read many long numbers.

A decoder holds the interpreter until it is done. It reads most values in some nanoseconds, but a decimal with 80 digits
in up to 45 microseconds, and a body may have 99,000 of them. So decimals are read by a function in Python, at whose
calls the interpreter can change to the thread of the event loop."""

import math
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

MOST_DECIMAL_CHARACTERS = 4_096
"""Limits the characters of a decimal: a single one of 8 MiB would take 50 ms in one step. A 64-bit number needs 767
digits at most."""


def build_decoder(of_type: type[T]) -> msgspec.json.Decoder[T]:
    """Returns a decoder for values of this type. It raises ValidationError for a decimal that is out of range."""
    return msgspec.json.Decoder(of_type, float_hook=read_decimal)


def read_decimal(text: str) -> float:
    """Returns the value of a decimal in JSON. Raises ValueError if it is too large, or too long to be read."""
    value = float(text) if len(text) <= MOST_DECIMAL_CHARACTERS else math.inf
    if math.isinf(value):
        raise ValueError("Number out of range")
    return value


_ANYTHING: msgspec.json.Decoder[Any] = build_decoder(object)


def decode_json(content: bytes | str) -> Any:
    """Returns the value of any JSON. Raises msgspec.DecodeError."""
    return _ANYTHING.decode(content)
