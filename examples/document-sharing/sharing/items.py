"""What is shared, and with whom: the words that storage, access and endpoints have in common."""

import secrets
from enum import StrEnum
from typing import NamedTuple

NAME = "[a-z0-9][a-z0-9._-]{0,63}"
"""Names of users, and ids of items. They go into queries and paths as they are, so nothing else may get in."""

ANONYMOUS = "@anonymous"
"""Whoever did not log in. It is no NAME, so nobody can log in as it or share with it: only what is shared with everyone
reaches it."""


class Kind(StrEnum):
    """The name is the object type at Magistrate, the value how URLs call it."""

    document = "documents"
    folder = "folders"
    group = "groups"


class Item(NamedTuple):
    kind: Kind
    id: str


def new_item(kind: Kind) -> Item:
    return Item(kind, secrets.token_hex(8))


RELATIONS = {
    Kind.document: {"owner", "editor", "viewer", "blocked"},
    Kind.folder: {"owner", "editor", "viewer"},
    Kind.group: {"owner", "member"},
}
"""What an owner may give and take. `parent` is not among them: it is given by creating and moving."""
