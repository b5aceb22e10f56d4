"""Reads the checks of a batch together, where all are about objects and users with ids that need no escape, as almost
all are (docs/openfga.md#checks). Ids are validated together, and names looked up instead of validated."""

from collections.abc import Iterable
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
    wrong, about a userset or a wildcard, or have an id that is another one here."""
    types, ids, checks = document.types, set[str](), list[Check]()
    try:
        for key in keys:
            user, relation, of_object = key.user, key.relation, key.object
            if user is None or relation is None or of_object is None:
                return None
            if len(user) > MAX_CHARACTERS or len(of_object) > MAX_CHARACTERS:
                return None
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
    except (KeyError, ValueError):  # a name that is not defined, or another number of colons than one
        return None
    return checks if are_ids(ids) and PERCENT not in "".join(ids) else None
