"""Implements operators and built-in functions on texts. Each charges for what it reads and for what it makes.

Lengths and indexes count bytes of UTF-8, as in Go.
"""

import base64
import binascii
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]  # it comes without types

from magistrate.engine.policy.run import TEXT_STEP, Fault, PolicyRun
from magistrate.engine.policy.values import Strings, to_integer

_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # noqa: E501
_MAX_REPEATS = 1_000_000


def length(run: PolicyRun, text: str) -> int:
    """Returns the number of bytes."""
    if text.isascii():
        return len(text)
    run.charge_text(4 * len(text))
    return len(text.encode(errors="surrogatepass"))


def lower(run: PolicyRun, text: str) -> str:
    _charge_case(run, text)
    return text.lower() if text.isascii() else "".join(map(_lower_one, text))


def upper(run: PolicyRun, text: str) -> str:
    _charge_case(run, text)
    return text.upper() if text.isascii() else "".join(map(_upper_one, text))


def _lower_one(character: str) -> str:
    return character.lower()[0]  # only one character has a lower case of two, and Go takes the first


def _upper_one(character: str) -> str:
    """Returns the upper case if it is one character: Go changes characters one by one."""
    for changed in (character.upper(), character.title()):
        if len(changed) == 1:
            return changed
    return character


def trim(run: PolicyRun, text: str, characters: str | None = None) -> str:
    """Returns the text without the blanks, or the given characters, at both ends."""
    if characters is not None:
        run.charge(len(text) * len(characters) // 256)  # each removed character is looked up among all of them
    run.charge_text(len(text))
    return text.strip(_BLANKS if characters is None else characters) if characters != "" else text


def trim_prefix(run: PolicyRun, text: str, prefix: str = " ") -> str:
    run.charge_text(len(text))
    return text.removeprefix(prefix)


def trim_suffix(run: PolicyRun, text: str, suffix: str = " ") -> str:
    run.charge_text(len(text))
    return text.removesuffix(suffix)


def contains(run: PolicyRun, text: str, child: str) -> bool:
    run.charge_search(len(text), len(child))
    return child in text


def has_prefix(run: PolicyRun, text: str, prefix: str) -> bool:
    run.charge_text(len(prefix))
    return text.startswith(prefix)


def has_suffix(run: PolicyRun, text: str, suffix: str) -> bool:
    run.charge_text(len(suffix))
    return text.endswith(suffix)


def index_of(run: PolicyRun, text: str, child: str) -> int:
    """Returns the index of the part, -1 if it does not occur."""
    run.charge_search(len(text), len(child))
    return _in_bytes(run, text, text.find(child))


def last_index_of(run: PolicyRun, text: str, child: str) -> int:
    """Returns the index of the last occurrence of the part, -1 if it does not occur."""
    run.charge_search(len(text), len(child))
    return _in_bytes(run, text, text.rfind(child))


def _in_bytes(run: PolicyRun, text: str, index: int) -> int:
    return length(run, text[:index]) if index > 0 else index


def split(run: PolicyRun, text: str, separator: str, pieces: Any = -1) -> Strings:
    """Splits the text into at most `pieces` pieces, the last with all the rest; a negative number sets no limit.

    The empty separator stands between any two characters."""
    limit = _limit_pieces(pieces)
    run.charge_search(len(text), len(separator))
    if not separator:
        run.charge(len(text))
        single = len(text) if limit < 0 else min(limit - 1, len(text))
        return Strings([*text[:single], *([text[single:]] if single < len(text) else [])])
    run.charge(text.count(separator))
    return Strings(text.split(separator, limit - 1 if limit > 0 else -1))


def split_after(run: PolicyRun, text: str, separator: str, pieces: Any = -1) -> Strings:
    """Splits the text as `split` does, and leaves the separators at the ends of the pieces."""
    texts = split(run, text, separator, pieces)
    run.charge_text(len(text))
    return Strings([*(piece + separator for piece in texts[:-1]), *texts[-1:]])


def _limit_pieces(pieces: Any) -> int:
    limit = to_integer(pieces)
    if limit == 0:
        raise Fault("a text cannot be split into no pieces")
    return limit


def replace(run: PolicyRun, text: str, sought: str, new: str, times: Any = -1) -> str:
    """Replaces the first `times` occurrences; a negative number means all."""
    limit = to_integer(times)
    run.charge_search(len(text), len(sought))
    occurrences = text.count(sought)
    replaced = occurrences if limit < 0 else min(occurrences, limit)
    run.charge(replaced)
    run.charge_text(len(text) + replaced * len(new))
    return text.replace(sought, new, replaced)


def repeat(run: PolicyRun, text: str, times: Any) -> str:
    count = to_integer(times)
    if not 0 <= count < _MAX_REPEATS:
        raise Fault("a text cannot be repeated so often")
    run.charge_text(len(text) * count)
    return text * count


def join(run: PolicyRun, elements: Any, separator: str = "") -> str:
    run.charge(len(elements))
    for element in elements:
        if type(element) is not str:
            raise Fault("join needs a list of strings")
    run.charge_text(sum(map(len, elements)) + len(separator) * len(elements))
    return separator.join(elements)


def to_base64(run: PolicyRun, text: str) -> str:
    run.charge_text(4 * len(text))
    return base64.b64encode(text.encode(errors="surrogatepass")).decode()


def from_base64(run: PolicyRun, text: str) -> str:
    """Returns the text that is encoded. Raises Fault if it is none."""
    run.charge_text(4 * len(text))
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise Fault("the string is not encoded in base64") from error


def _charge_case(run: PolicyRun, text: str) -> None:
    # Non-ASCII letters are looked up one by one.
    run.charge_text(len(text) if text.isascii() else 40 * len(text))


MAX_PATTERN_LENGTH = 1_000
"""Limits a regular expression in characters."""

MAX_PATTERNS = 32
"""Limits the literal regular expressions in one policy to fewer than are cached compiled, so that no policy can force
all of its own to be compiled again in each iteration of a loop."""

_MAX_MEMORY = 524_288  # (512 KiB) for one expression; enough for about ten classes such as \pL
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
