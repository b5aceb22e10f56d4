"""Cases of rows of an application, and of access to them, that conditions have to get right in every ORM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from magistrate_client import AsyncClient, Client

MODEL = """version 1.0

type user
    relation editor [user]
    inherit editor if self

type group
    relation member [user]

type folder
    relation viewer [user]

type document
    relation parent [folder]
    relation viewer [user, user:*, group#member]
    inherit viewer if
        relation viewer on parent [folder]
    relation blocked [user]
    relation can-read []
    inherit can-read if
        all_of
            relation viewer
            none_of
                relation blocked
    relation unblocked []
    inherit unblocked if
        none_of
            relation blocked
"""

UUIDS = [str(UUID(int=number * 0xABCDEF0123456789ABCDEF)) for number in range(1, 9)]
HOSTILE = [
    "o'brien",
    "josé",
    "日本",
    "a%b",
    "%s",
    "%(id)s",
    "a?b",
    "{}",
    ":id",
    "a,b",
    "$1",
    "A",
    "a",
    "07",
    "1;--",
    "a b",
]


@dataclass(frozen=True)
class Case:
    """Access of a subject to the rows with these keys, which are of a kind: text, integer, uuid or composite."""

    warrants: Sequence[str]
    keys: Sequence[str]
    kind: str = "text"
    subject: str = "user:ann"
    relation: str = "can-read"
    type: str = "document"
    context: Mapping[str, Any] | None = None
    objects: Sequence[str] = field(default=())

    @property
    def question(self) -> dict[str, Any]:
        """The arguments of `allowed` that say what access is meant."""
        return {**self.mirrored_question, "context": self.context}

    @property
    def mirrored_question(self) -> dict[str, Any]:
        return {"subject": self.subject, "relation": self.relation, "type": self.type}


def grant(keys: Sequence[str], relation: str = "viewer", subject: str = "user:ann") -> list[str]:
    return [f"document:{key}#{relation}@{subject}" for key in keys]


def number(count: int) -> list[str]:
    return [f"doc-{place:06d}" for place in range(count)]


EVERYTHING = "document:*#viewer@user:ann"

CASES: Mapping[str, Case] = {
    "empty": Case([], number(5)),
    "no rows": Case(grant(number(5)), []),
    "all, on several pages": Case(grant(number(1_100)), number(1_100)),
    "some": Case(grant(number(40)[::3]), number(40)),
    "groups and folders": Case(
        [
            "group:eng#member@user:ann",
            *grant(number(40)[::7], subject="group:eng#member"),
            *grant(number(40)[1::7], "parent", "folder:f"),
            "folder:f#viewer@user:ann",
        ],
        number(40),
    ),
    "a wildcard of subjects": Case(
        [*grant(number(9)[:4], subject="user:*"), *grant(["doc-000001"], "blocked")], number(9)
    ),
    "a subject that does not exist": Case(grant(number(9)[:4], subject="user:*"), number(9), subject="user:nobody"),
    "everything, existing or not": Case([EVERYTHING], number(9)),
    "everything but exclusions": Case([EVERYTHING, *grant(number(9)[::2], "blocked")], number(9)),
    "everything of which some exist": Case([EVERYTHING, *grant(number(9)[:3], subject="user:bob")], number(9)),
    "everything that is not excluded": Case(
        grant(["doc-000001", "doc-000020"], "blocked"), number(9), relation="unblocked"
    ),
    "an exclusion of everything": Case([*grant(number(9)), "document:*#blocked@user:ann"], number(9)),
    "itself": Case([], ["ann", "bob", "zoe"], subject="user:zoe", relation="editor", type="user"),
    "itself, existing": Case(
        ["user:bob#editor@user:zoe"], ["ann", "bob", "zoe"], subject="user:zoe", relation="editor", type="user"
    ),
    "conditional access": Case(
        [*grant(["doc-000001"]), "document:doc-000002#viewer@user:ann[level > 3]"], number(4), context={"level": 5}
    ),
    "conditional access without a context": Case(
        [*grant(["doc-000001"]), "document:doc-000002#viewer@user:ann[level > 3]"], number(4)
    ),
    "quotes, signs and letters": Case(grant([key for key in HOSTILE[::2] if " " not in key]), HOSTILE),
    "letters of the other case": Case(grant(["a", "DOC", "É"]), ["A", "b", "doc", "é"]),
    "everything, with keys that differ in case": Case([EVERYTHING, *grant(["a", "DOC"], "blocked")], ["A", "a", "doc"]),
    "integers": Case(
        grant(["1", "02", "+3", "4.0", "5e0", "-6", "9223372036854775808", "9223372036854775807", "\uff11", "0", "-0"]),
        ["-6", "0", "1", "2", "3", "4", "5", "9223372036854775807", "-9223372036854775808"],
        "integer",
    ),
    "everything but some integers": Case([EVERYTHING, *grant(["1", "02", "x"], "blocked")], ["1", "2", "3"], "integer"),
    "uuids": Case(
        grant([UUIDS[0], UUIDS[1].upper(), UUIDS[2].replace("-", ""), "no-uuid", f"{{{UUIDS[3]}}}", UUIDS[4]]),
        UUIDS,
        "uuid",
    ),
    "everything but some uuids": Case([EVERYTHING, *grant([UUIDS[0], "x"], "blocked")], UUIDS, "uuid"),
    "composite keys": Case(
        grant(["acme.1", "acme.03", "zeta.2", "zeta", "acme.1.1"]),
        ["acme.1", "acme.2", "acme.3", "zeta.1", "zeta.2"],
        "composite",
    ),
}


class Rows(Protocol):
    """A table of documents and one of notes about them, in a database of an application.

    Notes are numbered like the documents that they are about; three more are about none. Each method returns the keys
    of documents in the order of `updated`, or the numbers of notes."""

    def list_allowed(self, client: Client, case: Case) -> list[str]: ...

    def list_others(self, client: Client, case: Case) -> list[str]:
        """The documents that are not allowed."""
        ...

    def list_pages(self, client: Client, case: Case, size: int) -> list[str]:
        """The newest first, by LIMIT and OFFSET."""
        ...

    def list_allowed_or(self, client: Client, case: Case, key: str) -> list[str]: ...

    def list_notes(self, client: Client, case: Case, is_allowed: bool) -> list[int]:
        """The notes, joined with their documents, that are about an allowed one, or are not."""
        ...

    def list_noted(self, client: Client, case: Case) -> list[str]:
        """The documents that are in a subquery of notes about allowed documents."""
        ...

    def list_mirrored(self, case: Case) -> list[str]: ...

    async def list_asynchronously(self, client: AsyncClient, case: Case) -> list[str]: ...
