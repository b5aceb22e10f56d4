"""Regular expressions mean the same with every Python that is supported.

Before 3.11.5, a possessive repetition matches too much if something inside it may be matched in more than one way
(CPython issue 106052). So nothing does so inside one, except alternatives of single characters and pairs of them."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _parser as sre  # internal, and the only parser of patterns there is
from typing import Any

import pytest

import magistrate

REPETITIONS = (sre.MAX_REPEAT, sre.MIN_REPEAT)
POSSESSIVE = (sre.POSSESSIVE_REPEAT, sre.ATOMIC_GROUP)


def parts(parsed: Any) -> Iterator[tuple[Any, Any]]:
    """The operations of a parsed pattern, each with what belongs to it, those inside others too."""
    pending = [parsed]
    while pending:
        one = pending.pop()
        if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], type(sre.BRANCH)):
            yield one
        if isinstance(one, tuple | list | sre.SubPattern):
            pending.extend(one)


def is_matched_alike(pattern: str | bytes, flags: int = 0) -> bool:
    for operation, inside in parts(sre.parse(pattern, flags)):
        if operation in POSSESSIVE:
            within = [name for name, _ in parts(inside)]
            if any(name in REPETITIONS for name in within):
                return False
            if sre.BRANCH in within and any(name in POSSESSIVE for name in within):
                return False
    return True


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for module in pkgutil.walk_packages(magistrate.__path__, "magistrate."):
        if not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, re.Pattern):
                    yield f"{module.name}.{name}", value


def test_patterns_match_alike_with_every_supported_python() -> None:
    found = [*patterns()]

    assert len(found) > 20
    assert [name for name, one in found if not is_matched_alike(one.pattern, one.flags)] == []


@pytest.mark.parametrize(
    ("pattern", "is_alike"),
    [
        (r'"(?:\\.|[^"])*+"', True),
        (r"(?:\s++|//[^\n]*+)*", True),
        (r"(?:\s++|//[^\n]*+)*+", False),
        (r"/\*(?:[^*]++|\*(?!/))*+\*/", False),
        (r"(?:a|/\*.*?\*/)*+", False),
        (r"(?>a+|b)c", False),
    ],
)
def test_patterns_that_differ_are_found(pattern: str, is_alike: bool) -> None:
    assert is_matched_alike(pattern) == is_alike
