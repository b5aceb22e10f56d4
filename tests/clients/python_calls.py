"""Watching warrant-python from outside: which of its methods run, and what they send."""

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any
from urllib.parse import urlsplit

import requests
import warrant

PACKAGE = str(Path(warrant.__file__).parent)


def public_methods() -> list[str]:
    """`Class.method` for what the classes that the package exports define themselves."""
    classes = [found for found in vars(warrant).values() if inspect.isclass(found)]
    return [
        f"{kind.__name__}.{name}"
        for kind in classes
        for name, member in vars(kind).items()
        if not name.startswith("_") and isinstance(member, FunctionType | classmethod | staticmethod)
    ]


@contextmanager
def watched_calls() -> Iterator[dict[str, set[str]]]:
    """What ran in this thread, by method; with each that was called from outside the SDK what it sent:
    `POST /v2/objects (array)`."""
    calls: dict[str, set[str]] = {}

    def note_call(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and _is_of_sdk(frame):
            calls.setdefault(frame.f_code.co_qualname, set())

    def note_request(response: requests.Response, **_: Any) -> None:
        calls[_outermost_method()].add(_told(response.request))

    hooks = warrant.APIResource.session.hooks["response"]
    hooks.append(note_request)
    sys.setprofile(note_call)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        hooks.remove(note_request)


def _is_of_sdk(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(PACKAGE)


def _outermost_method() -> str:
    frame: FrameType | None = inspect.currentframe()
    method = ""
    while frame is not None:
        if _is_of_sdk(frame):
            method = frame.f_code.co_qualname
        frame = frame.f_back
    return method


def _told(request: requests.PreparedRequest) -> str:
    suffix = " (array)" if isinstance(request.body, bytes) and request.body.startswith(b"[") else ""
    return f"{request.method} {urlsplit(str(request.url)).path}{suffix}"
