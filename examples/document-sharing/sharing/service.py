"""What the application needs of Magistrate, so that the rest does not depend on which client calls it."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from sharing.items import Item, Kind


class Grant(NamedTuple):
    """A warrant. The subject is written `user:ann`, `user:*`, `group:51c0#member` or `folder:7f3a`."""

    item: Item
    relation: str
    subject: str
    until: datetime | None = None


class GrantGone(Exception):
    """A warrant to delete is not there, so nothing was written."""


class Service(Protocol):
    """A Magistrate. Reads are at least as fresh as `token`, if there is one; writes return a token.

    Every method raises one of `errors` if there was no answer: then nothing is allowed, and a write may have happened
    or not."""

    errors: tuple[type[Exception], ...]

    def is_temporary(self, error: Exception) -> bool:
        """Whether sending the same again later can help. All else is a fault of ours."""

    def check(self, user: str, asked: Sequence[tuple[str, Item]], token: str) -> list[bool]:
        """Whether the user has each permission on its item."""

    def objects(self, kind: Kind, relation: str, subject: str, token: str) -> list[str]:
        """The ids of all items of a kind on which the subject has the relation."""

    def subjects(self, item: Item, relation: str, kind: str, token: str) -> list[str]:
        """The ids of all subjects of a kind that have the relation on the item; `*` among them for everyone."""

    def write(self, create: Sequence[Grant], delete: Sequence[Grant] = ()) -> str:
        """All in one change, or nothing. What is there already stays, with the new end. Raises GrantGone."""

    def add_user(self, name: str) -> None:
        """A user whom Magistrate knows is among the `subjects` of what everyone may read."""

    def forget(self, item: Item) -> str | None:
        """Deletes an object, and with it every warrant on it and every one given to it as a group or folder. None if
        it was not there."""

    def open_session(self, user: str) -> str:
        """A token with which a browser may check with Magistrate itself what this user may do, and nothing else."""
