"""All requests to Magistrate, through the Warrant SDK.

The SDK keeps its endpoint and key in globals: one Magistrate for each process.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import warrant
from fastapi import HTTPException
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from urllib3.util import Retry
from warrant import APIResource, Authz, CheckOp, Object, Subject, User, Warrant, WarrantException

from sharing.items import Item, Kind
from sharing.storage import Storage

THREADS = 40
"""How many threads FastAPI runs endpoints in: each may need a connection to Magistrate at the same time."""


class Connections(HTTPAdapter):
    """The SDK waits for ever and sends a request once. A service that hangs would soon hold every thread.

    All requests may be sent twice: checks and queries write nothing, writing a warrant again changes nothing, and
    deleting one that is gone is not found, which `_deleted` takes for done and `replace` reports.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        again = Retry(total=1, allowed_methods=None, respect_retry_after_header=False)
        super().__init__(pool_maxsize=THREADS, max_retries=again)

    def send(self, request: PreparedRequest, *args: Any, **options: Any) -> Response:
        return super().send(request, *args, **options | {"timeout": self._timeout_s})


def connect(server: str, api_key: str, timeout_s: float) -> None:
    """To be called once, before any check."""
    warrant.api_endpoint = server.rstrip("/")
    warrant.api_key = api_key
    APIResource.session.trust_env = False  # a ~/.netrc would replace the key, a proxy variable lead elsewhere
    APIResource.session.mount(warrant.api_endpoint, Connections(timeout_s))


def status_of(error: WarrantException) -> int:
    """The HTTP status that Magistrate answered. The SDK keeps it in the message only: `Warrant error: 404 {...}`."""
    return int(str(error).split()[2])


def add_user(name: str) -> None:
    """A user whom Magistrate knows is among the `readers` of what everyone may read."""
    User.create(name)


class Access:
    """What one user may do, and what is done in the user's name.

    Reads are at least as fresh as the last write of that user, whichever node of Magistrate answers. Errors:
    requests.RequestException or WarrantException (of status 500 and above) if there was no answer; then nothing
    is allowed, and a write may have happened or not.
    """

    def __init__(self, user: str, storage: Storage) -> None:
        self.user = user
        self._storage = storage

    def require(self, *asked: tuple[str, Item]) -> None:
        """Raises HTTPException unless the user has every permission that is needed.

        404 for what the user may not read, the same as for what there is not: nobody learns that it exists. 403
        for what the user may read but not do this with.
        """
        warrants = [warrant_on(item, permission, Subject("user", self.user)) for permission, item in asked]
        if Authz.check_many(CheckOp.ALL_OF, warrants, opts=self._fresh()):
            return
        for permission, item in asked:
            if not self._has("can-read", item):
                raise HTTPException(404, "not found")
            if not self._has(permission, item):
                raise HTTPException(403, f"this takes {permission} on the {item.kind.name}")

    def _has(self, permission: str, item: Item) -> bool:
        subject = Subject("user", self.user)
        return bool(Authz.check(item.kind.name, item.id, permission, subject, opts=self._fresh()))

    def readable(self, kind: Kind) -> list[str]:
        """The ids of all that the user may read: exactly those for which `require` of can-read would not raise."""
        return list(self._found(f"select {kind.name} where user:{self.user} is can-read"))

    def documents_in(self, folder: Item) -> list[str]:
        """The ids of all documents in a folder, whoever may read them."""
        return list(self._found(f"select document where folder:{folder.id} is parent"))

    def folders_of(self, document: Item) -> list[str]:
        return list(self._found(f"select parent of type folder for document:{document.id}"))

    def readers(self, item: Item) -> list[str]:
        """Every user who may read it; `*` among them if everyone may."""
        return list(self._found(f"select can-read of type user for {item.kind.name}:{item.id}"))

    def _found(self, query: str) -> Iterator[str]:
        page: dict[str, Any] = {"limit": 1000}
        while True:
            answer = Warrant.query(query, page, opts=self._fresh())
            yield from (found.object_id for found in answer.results)
            if not answer.next_cursor:
                return
            page["nextCursor"] = answer.next_cursor

    def grant(self, *warrants: dict[str, Any]) -> None:
        """All of them or none; those that are there already stay."""
        written = Warrant.batch_create(list(warrants))
        self._storage.keep_warrant_token(self.user, written[0].warrant_token)

    def revoke(self, *warrants: dict[str, Any]) -> None:
        """One after the other. What is not there is revoked already."""
        for each in warrants:
            self._deleted(Warrant.delete, each["objectType"], each["objectId"], each["relation"], each["subject"])

    def replace(self, old: Sequence[dict[str, Any]], new: dict[str, Any]) -> bool:
        """Revokes and grants in one change: nobody ever sees a part of it. False, and nothing is changed, if one of
        the old warrants is gone."""
        change = {"delete": {"warrants": old}, "create": {"warrants": [new]}}
        try:
            written = Warrant._post("/v2/writes", change)  # of a newer API than the SDK, which has no method for it
        except WarrantException as error:
            if status_of(error) != 404:
                raise
            return False
        self._storage.keep_warrant_token(self.user, written["warrantToken"])
        return True

    def forget(self, item: Item) -> None:
        """Deletes an object, and with it every warrant on it and every one given to it as a group or folder."""
        self._deleted(Object.delete, item.kind.name, item.id)

    def _deleted(self, delete: Any, *arguments: Any) -> None:
        try:
            token = delete(*arguments)
        except WarrantException as error:
            if status_of(error) != 404:
                raise
        else:
            self._storage.keep_warrant_token(self.user, token)

    def session(self) -> str:
        """A token with which a browser may check with Magistrate itself what this user may do, and nothing else."""
        return str(Authz.create_authorization_session(self.user))

    def _fresh(self) -> dict[str, str]:
        token = self._storage.warrant_token(self.user)
        return {"Warrant-Token": token} if token else {}


def warrant_on(item: Item, relation: str, subject: Subject, until: datetime | None = None) -> dict[str, Any]:
    """A warrant as the API has it. Granting it again with another end, or none, replaces the end."""
    to = {"objectType": subject.object_type, "objectId": subject.object_id, "relation": subject.relation}
    limits = {"expiresAt": until.isoformat()} if until is not None else {}
    return {"objectType": item.kind.name, "objectId": item.id, "relation": relation, "subject": to, **limits}
