"""Matches regular expressions, in the syntax of RE2, which finds a match in time linear in the text.

Linear is not yet fast: a step through the text may touch every instruction of the compiled expression. A match is
therefore charged by the product of both, and an expression that comes from the context by its length as well, whether
it had been compiled before or not: the answer must not depend on other requests.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]  # it comes without types

from magistrate.engine.policy.run import TEXT_STEP, Fault, PolicyRun

MAX_PATTERN_LENGTH = 1_000
"""Limits a regular expression in characters."""

MAX_PATTERNS = 32
"""Limits the literal regular expressions in one policy to fewer than are cached compiled, so that no policy can force
all of its own to be compiled again in each iteration of a loop."""

_MAX_MEMORY = 524_288  # (512 KiB) for one expression; room for about ten classes such as \pL
_COMPILE_STEPS = 190  # per character of an expression: 25 microseconds for the worst, `\pL` many times
_COMPILE_BASE_STEPS = 1_000  # for an expression, however short: `\pL{9}` is compiled to as much as a longer one
_SEARCH_STEPS = 10  # for a call of RE2, however little there is to read
_MATCH_STEP = 32  # instructions times characters: 6 nanoseconds each at worst, such as `(a?){300}b`


class Pattern(NamedTuple):
    """Holds a compiled expression, and the number of its instructions."""

    search: Callable[[str], Any]
    size: int


def _compile_pattern(text: str) -> Pattern:
    if len(text) > MAX_PATTERN_LENGTH:
        raise Fault(f"a regular expression must be at most {MAX_PATTERN_LENGTH} characters long")
    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.never_capture = True
    options.log_errors = False
    try:
        compiled = re2.compile(text, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise Fault(f"cannot read the regular expression: {_describe_error(error)}") from error
    return Pattern(compiled.search, compiled.programsize)


literal_pattern = lru_cache(maxsize=64)(_compile_pattern)
"""Returns the pattern of a literal expression in a policy. Raises Fault if it cannot be parsed. These and those of
contexts take _MAX_MEMORY each at most, 40 MiB together."""

_context_pattern = lru_cache(maxsize=16)(_compile_pattern)


def find_pattern_fault(text: str) -> str:
    """Returns why a literal expression cannot be parsed; "" if it can."""
    try:
        literal_pattern(text)
    except Fault as fault:
        return str(fault)
    return ""


def matches(run: PolicyRun, text: str, expression: str) -> bool:
    """Returns whether the expression, whatever its source, matches some part of the text."""
    run.charge(_COMPILE_BASE_STEPS + min(len(expression), MAX_PATTERN_LENGTH) * _COMPILE_STEPS)
    return _search_text(run, text, _context_pattern(expression))


def matches_literal(run: PolicyRun, text: Any, expression: str) -> bool:
    """Returns whether a literal expression matches; the kind of the text has not been checked before."""
    if type(text) is not str:
        raise Fault("only a string can match")
    return _search_text(run, text, literal_pattern(expression))


def _search_text(run: PolicyRun, text: str, pattern: Pattern) -> bool:
    run.charge(_SEARCH_STEPS + len(text) // TEXT_STEP + len(text) * pattern.size // _MATCH_STEP)
    try:
        return pattern.search(text) is not None
    except UnicodeEncodeError as error:
        raise Fault("the text is not valid Unicode") from error


def _describe_error(error: Exception) -> str:
    reason = error.args[0]
    return reason.decode(errors="replace") if isinstance(reason, bytes) else "it is not valid Unicode"
