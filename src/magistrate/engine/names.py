"""Defines the types of names, and finds the name that a wrong one resembles.

They have a module of their own because the rule operators need the types, and a valid name depends on the operators: a
relation cannot be called like one. terms.py has the functions that validate names.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import NewType

TypeName = NewType("TypeName", str)
RelationName = NewType("RelationName", str)
ObjectId = NewType("ObjectId", str)
PolicyName = NewType("PolicyName", str)
Revision = NewType("Revision", int)

WILDCARD = ObjectId("*")
"""Stands for every object, or every subject, of the type in place of an id. No object can have this id."""


MAX_COMPARED = 200
"""Limits the names that are compared, each of which takes about 20 microseconds."""


def suggest_name(wrong: str, names: Iterable[str]) -> str:
    """Returns `; did you mean X?` with the most similar of the first MAX_COMPARED names, or an empty text if none is
    similar. Case does not count."""
    nearest = nearest_name(wrong, names)
    return f"; did you mean {nearest}?" if nearest else ""


def nearest_name(wrong: str, names: Iterable[str]) -> str:
    """Returns the most similar of the first MAX_COMPARED names, or an empty text if none is similar. Case does not
    count."""
    by_lower_case = {name.lower(): name for name in islice(names, MAX_COMPARED)}
    nearest = get_close_matches(wrong.lower(), by_lower_case, n=1)
    return by_lower_case[nearest[0]] if nearest else ""


def unquote_id(text: str) -> str:
    """Returns an id without the double quotes around it, if there are any. No id contains one."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
