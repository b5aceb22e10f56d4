"""Magistrate by its own client, which keeps deadlines, and sends again what is safe to send again."""

from collections.abc import Sequence

import httpx

from magistrate_client import (
    Client,
    InternalError,
    NotFound,
    ObjectRef,
    TooManyRequests,
    Unavailable,
    Unreachable,
    Warrant,
)
from magistrate_client.refs import read_warrant
from sharing.items import Item, Kind
from sharing.service import Grant, GrantGone

TEMPORARY = (Unreachable, Unavailable, TooManyRequests, InternalError, httpx.TransportError)


class MagistrateService:
    """Passes on each call. One client is for all threads; the token of each user goes with each read."""

    errors: tuple[type[Exception], ...] = (*TEMPORARY, httpx.HTTPStatusError)

    def __init__(self, server: str, api_key: str, timeout_s: float) -> None:
        self._client = Client(server, api_key, timeout=timeout_s, consistency="none")
        self._sessions = httpx.Client(
            base_url=server, headers={"Authorization": f"ApiKey {api_key}"}, timeout=timeout_s, trust_env=False
        )

    def is_temporary(self, error: Exception) -> bool:
        if isinstance(error, httpx.HTTPStatusError):
            return error.response.status_code >= 500
        return isinstance(error, TEMPORARY)

    def check(self, user: str, asked: Sequence[tuple[str, Item]], token: str) -> list[bool]:
        checks = [(f"user:{user}", permission, name(item)) for permission, item in asked]
        return self._client.check_many(checks, token=token or None)

    def objects(self, kind: Kind, relation: str, subject: str, token: str) -> list[str]:
        return [id_of(found) for found in self._client.objects(subject, relation, kind.name, token=token or None)]

    def subjects(self, item: Item, relation: str, kind: str, token: str) -> list[str]:
        return [id_of(found) for found in self._client.subjects(name(item), relation, kind, token=token or None)]

    def write(self, create: Sequence[Grant], delete: Sequence[Grant] = ()) -> str:
        try:
            return self._client.write(create=map(warrant_of, create), delete=map(warrant_of, delete)).token
        except NotFound as error:
            raise GrantGone from error

    def add_user(self, name: str) -> None:
        self._client.write(create=[ObjectRef("user", name)])

    def forget(self, item: Item) -> str | None:
        try:
            return self._client.write(delete=[name(item)]).token
        except NotFound:
            return None

    def open_session(self, user: str) -> str:
        answer = self._sessions.post("/v2/sessions", json={"type": "sess", "userId": user}).raise_for_status()
        return str(answer.json()["token"])


def name(item: Item) -> ObjectRef:
    return ObjectRef(item.kind.name, item.id)


def id_of(found: str) -> str:
    return found.partition(":")[2]


def warrant_of(grant: Grant) -> Warrant:
    written = read_warrant(f"{name(grant.item)}#{grant.relation}@{grant.subject}")
    return written._replace(expires_at=grant.until)
