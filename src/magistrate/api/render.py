"""Renders values as bytes: JSON bodies that end with a newline, and timestamps."""

import secrets
from collections.abc import Sequence
from typing import Protocol

import msgspec

from magistrate.operations.scheduling import checkpoint, is_time_up
from magistrate.operations.times import render_time as render_time

ELEMENTS_AT_ONCE = 50
"""Limits the elements that are rendered before the time slice may end: with the most meta, a few milliseconds."""

_ENCODER = msgspec.json.Encoder()


def render_json(value: object) -> bytes:
    """Returns the value and a newline."""
    return _ENCODER.encode_lines((value,))


class AnswerMemory(Protocol):
    """Counts the bytes of an answer."""

    async def reserve(self, size: int) -> None:
        """Waits until there is room for so many more bytes. Raises Overloaded."""
        ...


async def render_in_steps(value: object, memory: AnswerMemory | None = None) -> bytes | bytearray:
    """Returns what `render_json` does. Other requests run between the elements of a long array, which the value is or
    has as a member: a thousand objects may have tens of megabytes. Raises Overloaded if there is no room in `memory`
    for them."""
    member, elements = _find_elements(value)
    if len(elements) <= ELEMENTS_AT_ONCE:
        return render_json(value)
    before, after = b"[", b"]\n"
    if isinstance(value, msgspec.Struct):
        mark = secrets.token_hex(16)  # what callers wrote may have an array of the same name
        before, after = render_json(msgspec.structs.replace(value, **{member: [mark]})).split(f'"{mark}"'.encode())
    body, reserved = bytearray(before + b"]"), 0
    for start in range(0, len(elements), ELEMENTS_AT_ONCE):
        if start and is_time_up():
            await checkpoint()
        end = len(body) - 1
        if memory is not None:
            await memory.reserve(end - reserved)
            reserved = end
        _ENCODER.encode_into(elements[start : start + ELEMENTS_AT_ONCE], body, end)
        if start:
            body[end] = ord(",")
        else:
            del body[end]
    body += after[1:]
    return body


def _find_elements(value: object) -> tuple[str, Sequence[object]]:
    """Returns the longest array that a value is or has as a member, and the attribute that holds it."""
    if isinstance(value, list):
        return "", value
    arrays: dict[str, Sequence[object]] = {"": ()}
    if isinstance(value, msgspec.Struct):
        members = ((name, getattr(value, name)) for name in value.__struct_fields__)
        arrays |= {name: member for name, member in members if isinstance(member, list)}
    return max(arrays.items(), key=lambda item: len(item[1]))
