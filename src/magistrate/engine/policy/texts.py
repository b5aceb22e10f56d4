"""Implements operators and built-in functions on texts. Each charges for what it reads and for what it makes."""

from typing import Any

from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.values import as_whole


def lower(run: PolicyRun, text: str) -> str:
    _charge_case(run, text)
    return text.lower()


def upper(run: PolicyRun, text: str) -> str:
    _charge_case(run, text)
    return text.upper()


def trim(run: PolicyRun, text: str, characters: str | None = None) -> str:
    """Returns the text without the blanks, or the given characters, at both ends."""
    if characters is not None:
        run.charge(len(text) * len(characters) // 256)  # each removed character is looked up among all of them
    run.charge_text(len(text))
    return text.strip(characters) if characters != "" else text


def trim_prefix(run: PolicyRun, text: str, prefix: str) -> str:
    run.charge_text(len(text))
    return text.removeprefix(prefix)


def trim_suffix(run: PolicyRun, text: str, suffix: str) -> str:
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
    return text.find(child)


def split(run: PolicyRun, text: str, separator: str, pieces: float = -1) -> list[str]:
    """Splits the text into at most `pieces` pieces, the last with all the rest; a negative number sets no limit.

    The empty separator stands between any two characters."""
    limit = as_whole(pieces)
    run.charge_search(len(text), len(separator))
    if limit == 0:
        return []
    if not separator:
        run.charge(len(text))
        single = len(text) if limit < 0 else min(limit - 1, len(text))
        return list(text[:single]) + ([text[single:]] if single < len(text) else [])
    run.charge(text.count(separator))
    return text.split(separator, limit - 1 if limit > 0 else -1)


def replace(run: PolicyRun, text: str, sought: str, new: str, times: float = -1) -> str:
    """Replaces the first `times` occurrences; a negative number means all."""
    limit = as_whole(times)
    run.charge_search(len(text), len(sought))
    found = text.count(sought)
    replaced = found if limit < 0 else min(found, limit)
    run.charge(replaced)
    run.charge_text(len(text) + replaced * len(new))
    return text.replace(sought, new, replaced)


def join(run: PolicyRun, elements: Any, separator: str = "") -> str:
    run.charge(len(elements))
    for element in elements:
        if type(element) is not str:
            raise Fault("join needs a list of strings")
    run.charge_text(sum(map(len, elements)) + len(separator) * len(elements))
    return separator.join(elements)


def _charge_case(run: PolicyRun, text: str) -> None:
    # Non-ASCII letters are looked up one by one, and one may become three.
    run.charge_text(len(text) if text.isascii() else 8 * len(text))
