"""Looks up the rows of many keys in few statements, on SQLite."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, compress
from operator import itemgetter

from magistrate.store.database import Find
from magistrate.store.sql import Parameter

KEYS_AT_ONCE = 512
"""Limits the keys that one statement looks up. A statement has at most 32,766 values, and a key up to seven; longer
statements are not faster, and are too long to be kept prepared."""

MANY_KEYS = 32
"""Sets the number of keys from which on columns that are alike in all of them are bound once."""

MOST_GROUPS = 4
"""Limits the groups of keys that are alike in their first column and looked up apart from the others."""

_COLUMNS = re.compile(r"\(([^()]*)\) IN$")

Lookup = tuple[str, Sequence[Parameter]]
"""Holds a statement and its values."""


def find_statements(find: Find) -> Iterator[Lookup]:
    """Yields statements that together find the rows of all keys, four times as fast as one statement per key. The keys
    of a large write are often alike in all columns but one or two, which halves the time."""
    if len(find.keys) == 1:
        yield find.one, find.keys[0]
        return
    for group in _group_keys(find.keys):
        for start in range(0, len(group), KEYS_AT_ONCE):
            yield _find_together(find.any_of, _pad_keys(group[start : start + KEYS_AT_ONCE]))


def _group_keys(keys: Sequence[tuple[str, ...]]) -> Sequence[Sequence[tuple[str, ...]]]:
    """Returns the keys with the same first column together, if these are many and there are few such columns: a write
    has objects and subjects of two types, for example."""
    columns = list(map(itemgetter(0), keys)) if len(keys) >= MANY_KEYS else []
    names = dict.fromkeys(columns)
    if not 1 < len(names) <= MOST_GROUPS:
        return [keys]
    return [list(compress(keys, map(name.__eq__, columns))) for name in names]


def _find_together(any_of: str, keys: Sequence[tuple[str, ...]]) -> Lookup:
    columns = list(zip(*keys, strict=True)) if len(keys) >= MANY_KEYS else ()
    alike = tuple(place for place, column in enumerate(columns) if column.count(column[0]) == len(column))
    values: Iterable[Parameter]
    if 0 < len(alike) < len(columns):
        differing = zip(*(column for place, column in enumerate(columns) if place not in alike), strict=True)
        values = chain((columns[place][0] for place in alike), chain.from_iterable(differing))
    else:
        alike, values = (), chain.from_iterable(keys)
    return _write_statement(any_of, alike, len(keys[0]), len(keys)), list(values)


@lru_cache(maxsize=256)
def _write_statement(any_of: str, alike: Sequence[int], width: int, keys: int) -> str:
    """Returns the statement that looks up `keys` keys of `width` columns. The columns at the places of `alike` are
    equal in all keys; they are bound first, and once."""
    places = ", ".join(["(" + ", ".join("?" * (width - len(alike))) + ")"] * keys)
    if not alike:
        return f"{any_of} (VALUES {places})"
    found = _COLUMNS.search(any_of)
    assert found is not None
    names = found[1].split(", ")
    equal = " AND ".join(f"{names[place]} = ?" for place in alike)
    differing = ", ".join(name for place, name in enumerate(names) if place not in alike)
    return f"{any_of[: found.start()]}{equal} AND ({differing}) IN (VALUES {places})"


def _pad_keys(keys: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Returns the keys, the last of them repeated until their number is a power of two, so that there are few
    different statements."""
    return [*keys, *[keys[-1]] * ((1 << (len(keys) - 1).bit_length()) - len(keys))]
