"""How much work something is, in calls of functions: no clock is as even as they are."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


def count_calls(step: Callable[[], T]) -> tuple[T, int]:
    """Returns what `step` returns, and how many functions it called, of Python's and built-in ones."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        return step(), calls
    finally:
        sys.setprofile(None)
