"""What tests of bearer tokens share: a service, the keys it signs with, and tokens made by others."""

import base64
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import jwt
import msgspec

from tests.databases import dump
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

TYPES: dict[str, Any] = {"report": {"owner": {}, "viewer": {"inheritIf": "owner"}}}
GRANTED = (
    "report:a#viewer@user:ann",
    'report:b#viewer@user:ann[tenant == "acme"]',
    'report:c#viewer@user:ann[tenant == "acme" && amount < 10]',
    "report:d#viewer@user:bob",
)
INVALID = {"code": "unauthorized", "message": "Invalid token"}
EXPIRED = {"code": "token_expired", "message": "Token is expired."}


class Served(NamedTuple):
    client: Client
    database_url: str

    def session(self, **members: Any) -> str:
        """A token for ann, unless the members of the body say otherwise."""
        begun = self.client.post("/v2/sessions", json={"type": "sess", "userId": "ann"} | members)
        assert begun.status_code == 200, begun.text
        return str(begun.json()["token"])

    def ask(self, token: str, *asked: str, path: str = "/v2/check", **members: Any) -> httpx.Response:
        """A check of relations on objects, as `report:a#viewer`, with this token."""
        return self.check(token, {"warrants": [unsubjected(text) for text in asked]} | members, path)

    def check(self, token: str, body: Any, path: str = "/v2/check") -> httpx.Response:
        return self.client.post(path, json=body, headers={"Authorization": f"Bearer {token}"})

    def store_id(self) -> str:
        return str(jwt.decode(self.session(), options={"verify_signature": False})["iss"])

    def signing_key(self) -> tuple[str, str]:
        """The id and the secret of the key that signs, when there has been a session."""
        key_id, secret, _ = max(dump(self.database_url)["session_key"], key=lambda row: int(str(row[2])))
        return str(key_id), str(secret)

    def forged(self, algorithm: str = "HS256", secret: str | None = None, **claims: Any) -> str:
        """A token with the service's own key but for what is said otherwise; a claim that is None is left out."""
        good = jwt.decode(self.session(), options={"verify_signature": False})
        key_id, real = self.signing_key()
        wanted = {name: value for name, value in (good | claims).items() if value is not None}
        return jwt.encode(wanted, real if secret is None else secret, algorithm=algorithm, headers={"kid": key_id})


@contextmanager
def serving(database_url: str, **settings: str | int) -> Iterator[Served]:
    """A service that knows reports and some warrants on them."""
    with running_service(settings_for(database_url, **settings)) as url, Client(url) as client:
        client.define(TYPES)
        client.grant(*GRANTED)
        yield Served(client, database_url)


def unsubjected(asked: str) -> dict[str, Any]:
    """A warrant to check that leaves it to the token whose it is."""
    return {name: value for name, value in warrant_body(f"{asked}@user:x").items() if name != "subject"}


def unsigned(head: Mapping[str, Any], claims: Mapping[str, Any], signature: str = "") -> str:
    """A token as anybody can write it."""
    return ".".join([*(encoded(msgspec.json.encode(part)) for part in (head, claims)), signature])


def encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def decoded(part: str) -> str:
    return base64.urlsafe_b64decode(part + "==").decode()


def seconds_from_now(seconds: float) -> int:
    return int(time.time() + seconds)
