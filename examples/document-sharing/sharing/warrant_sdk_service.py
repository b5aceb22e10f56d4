"""Magistrate by the unmodified Warrant SDK, for applications that have it already.

The SDK keeps its endpoint and key in globals: one Magistrate for each process.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import warrant
from requests import PreparedRequest, RequestException, Response
from requests.adapters import HTTPAdapter
from urllib3.util import Retry
from warrant import APIResource, Authz, Object, Subject, User, Warrant, WarrantException

from sharing.items import Item, Kind
from sharing.service import Grant, GrantGone

THREADS = 40
"""How many threads FastAPI runs endpoints in: each may need a connection to Magistrate at the same time."""


class Connections(HTTPAdapter):
    """The SDK waits for ever and sends a request once. A service that hangs would soon hold every thread.

    All requests may be sent twice: checks and queries write nothing, writing a warrant again changes nothing, and
    deleting one that is gone is not found.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        again = Retry(total=1, allowed_methods=None, respect_retry_after_header=False)
        super().__init__(pool_maxsize=THREADS, max_retries=again)

    def send(self, request: PreparedRequest, *args: Any, **options: Any) -> Response:
        return super().send(request, *args, **options | {"timeout": self._timeout_s})


def status_of(error: WarrantException) -> int:
    """The HTTP status that Magistrate answered. The SDK keeps it in the message only: `Warrant error: 404 {...}`."""
    return int(str(error).split()[2])


class WarrantSdkService:
    """Passes on each call. To be made once, before any check."""

    errors: tuple[type[Exception], ...] = (RequestException, WarrantException)

    def __init__(self, server: str, api_key: str, timeout_s: float) -> None:
        warrant.api_endpoint = server.rstrip("/")
        warrant.api_key = api_key
        APIResource.session.trust_env = False  # a ~/.netrc would replace the key, a proxy variable lead elsewhere
        APIResource.session.mount(warrant.api_endpoint, Connections(timeout_s))

    def is_temporary(self, error: Exception) -> bool:
        return not isinstance(error, WarrantException) or status_of(error) >= 500

    def check(self, user: str, asked: Sequence[tuple[str, Item]], token: str) -> list[bool]:
        subject, opts = Subject("user", user), fresh(token)
        return [
            bool(Authz.check(item.kind.name, item.id, permission, subject, opts=opts)) for permission, item in asked
        ]

    def objects(self, kind: Kind, relation: str, subject: str, token: str) -> list[str]:
        return list(find(f"select {kind.name} where {subject} is {relation}", token))

    def subjects(self, item: Item, relation: str, kind: str, token: str) -> list[str]:
        return list(find(f"select {relation} of type {kind} for {item.kind.name}:{item.id}", token))

    def write(self, create: Sequence[Grant], delete: Sequence[Grant] = ()) -> str:
        try:
            return send_write([body_of(grant) for grant in create], [body_of(grant) for grant in delete])
        except WarrantException as error:
            if status_of(error) != 404:
                raise
            raise GrantGone from error

    def add_user(self, name: str) -> None:
        User.create(name)

    def forget(self, item: Item) -> str | None:
        try:
            return str(Object.delete(item.kind.name, item.id))
        except WarrantException as error:
            if status_of(error) != 404:
                raise
            return None

    def open_session(self, user: str) -> str:
        return str(Authz.create_authorization_session(user))


def send_write(create: list[dict[str, Any]], delete: list[dict[str, Any]]) -> str:
    """The methods of the SDK create or delete. Both in one change is of a newer API, for which it has none."""
    if not delete:
        return str(Warrant.batch_create(create)[0].warrant_token)
    if not create and len(delete) == 1:
        [each] = delete
        return str(Warrant.delete(each["objectType"], each["objectId"], each["relation"], each["subject"]))
    written = Warrant._post("/v2/writes", {"delete": {"warrants": delete}, "create": {"warrants": create}})
    return str(written["warrantToken"])


def fresh(token: str) -> dict[str, str]:
    return {"Warrant-Token": token} if token else {}


def find(query: str, token: str) -> Iterator[str]:
    page: dict[str, Any] = {"limit": 1000}
    while True:
        answer = Warrant.query(query, page, opts=fresh(token))
        yield from (found.object_id for found in answer.results)
        if not answer.next_cursor:
            return
        page["nextCursor"] = answer.next_cursor


def body_of(grant: Grant) -> dict[str, Any]:
    """A warrant as the API has it. Granting it again with another end, or none, replaces the end."""
    kind, _, rest = grant.subject.partition(":")
    subject_id, _, relation = rest.partition("#")
    subject = {"objectType": kind, "objectId": subject_id} | ({"relation": relation} if relation else {})
    limits = {"expiresAt": grant.until.isoformat()} if grant.until is not None else {}
    return {
        "objectType": grant.item.kind.name,
        "objectId": grant.item.id,
        "relation": grant.relation,
        "subject": subject,
        **limits,
    }
