"""Suggests the name that a caller probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

MOST_COMPARED = 200
"""Limits the names that are compared, each of which takes about 20 microseconds."""


def suggest_name(wrong: str, names: Iterable[str]) -> str:
    """Returns `; did you mean X?` with the most similar of the first MOST_COMPARED names, or an empty text if none is
    similar. Case does not count."""
    nearest = nearest_name(wrong, names)
    return f"; did you mean {nearest}?" if nearest else ""


def nearest_name(wrong: str, names: Iterable[str]) -> str:
    """Returns the most similar of the first MOST_COMPARED names, or an empty text if none is similar. Case does not
    count."""
    known = {name.lower(): name for name in islice(names, MOST_COMPARED)}
    nearest = get_close_matches(wrong.lower(), known, n=1)
    return known[nearest[0]] if nearest else ""
