"""Renders values as bytes: JSON bodies that end with a newline, and timestamps."""

import msgspec

from magistrate.operations.times import render_time as render_time

_ENCODER = msgspec.json.Encoder()


def render_json(value: object) -> bytes:
    return _ENCODER.encode(value) + b"\n"
