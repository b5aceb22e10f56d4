"""Reads the checks of a batch together, where all are about objects and users with ids that need no escape, as almost
all are (docs/openfga.md#checks). Ids are validated together, and names looked up instead of validated."""

from collections.abc import Iterable
from operator import attrgetter, itemgetter
from typing import Protocol

from magistrate.engine.evaluation.check import Check
from magistrate.engine.id_characters import are_ids
from magistrate.engine.names import ObjectId
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.openfga.ids import PERCENT
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef

MAX_CHARACTERS = 128
"""Limits an object or a user that is read here. Whatever its characters are, it is short enough for a tuple."""

_NAMES = attrgetter("user", "relation", "object")
_USER, _OBJECT = itemgetter(0), itemgetter(2)


class WrittenKey(Protocol):
    """Holds what a check is about, as it is written there."""

    @property
    def user(self) -> str | None: ...

    @property
    def relation(self) -> str | None: ...

    @property
    def object(self) -> str | None: ...


def read_plain_checks(document: OpenFgaDocument, keys: Iterable[WrittenKey]) -> list[Check] | None:
    """Returns the checks of a model, without contexts, or None if one of them has to be read by itself: it may be
    wrong, about a userset or a wildcard, or have an id that is another one here. What is absent shows by its
    exception, and lengths are compared together, because of a batch of 50 every comparison counts."""
    types, ids, checks = document.types, set[str](), list[Check]()
    named: list[tuple[str, str, str]] = [*map(_NAMES, keys)]
    try:
        for user, relation, of_object in named:
            object_type, object_id = of_object.split(":")
            user_type, user_id = user.split(":")
            ids.add(object_id)
            ids.add(user_id)
            declared = types[object_type]
            checks.append(
                Check(
                    ObjectRef(declared.name, ObjectId(object_id)),
                    declared.relations[relation].name,
                    Subject(types[user_type].name, ObjectId(user_id)),
                )
            )
        longest = max(max(map(len, map(_USER, named))), max(map(len, map(_OBJECT, named))))
    except (AttributeError, KeyError, ValueError):  # one is absent, not defined, or has not one colon
        return None
    return checks if longest <= MAX_CHARACTERS and are_ids(ids) and PERCENT not in "".join(ids) else None
