"""Random histories of a service, and what a mirror of it must be at any time."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import apsw
import psycopg

from magistrate.client import Client as ApiClient
from magistrate.mirror.mirroring import MirrorOptions
from magistrate.mirror.open_target import choose_target
from magistrate.mirror.verification import verify_mirror
from tests.mirror.tables import read_position
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

OF = ["document#can-read@user", "folder#viewer@user"]
TYPES: dict[str, Any] = {
    "user": {},
    "group": {"member": {}},
    "folder": {"viewer": {}},
    "document": {
        "parent": {},
        "blocked": {},
        "viewer": {
            "inheritIf": "anyOf",
            "rules": [{"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}],
        },
        "can-read": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "viewer"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}
OTHER_DOCUMENT = {**TYPES["document"], "can-read": {"inheritIf": "viewer"}}
OPTIONS = MirrorOptions(OF)
WITHIN_SECONDS = 60


class History:
    """Writes at random: warrants of groups, folders, exclusions and wildcards, some of which expire or need a context,
    objects that are deleted, and another rule."""

    def __init__(self, client: Client, seed: int) -> None:
        self._client = client
        self._random = Random(seed)
        client.define(TYPES)

    def write(self) -> None:
        choice = self._random.random()
        if choice < 0.6:
            body: dict[str, Any] = warrant_body(self._draw_warrant())
            if self._random.random() < 0.2:
                body |= {"policy": 'tier == "gold"'}
            if self._random.random() < 0.2:
                soon = datetime.now(UTC) + timedelta(seconds=self._random.uniform(0.2, 2))
                body |= {"expiresAt": soon.isoformat().replace("+00:00", "Z")}
            self._client.write([body])
        elif choice < 0.85:
            self._client.delete_json("/v2/warrants", [warrant_body(self._draw_warrant())])
        elif choice < 0.95:
            named = {"objectType": self._draw("document", "user", "folder"), "objectId": self._draw("a", "b", "é")}
            self._client.delete_json("/v2/objects", [named])
        else:
            definition = self._draw(TYPES["document"], OTHER_DOCUMENT)
            body = {"type": "document", "relations": definition}
            self._client.put("/v2/object-types/document", json=body).raise_for_status()

    def _draw(self, *values: Any) -> Any:
        return self._random.choice(values)

    def _draw_warrant(self) -> str:
        subject = self._draw("user:a", "user:b", "user:é", "user:*", "group:g#member")
        document, folder = f"document:{self._draw('a', 'b', 'é')}", f"folder:{self._draw('a', 'b')}"
        return str(
            self._draw(
                f"{document}#viewer@{subject}",
                f"{document}#blocked@{subject}",
                f"{document}#parent@{folder}",
                f"{folder}#viewer@{subject}",
                f"group:g#member@user:{self._draw('a', 'b', 'é')}",
            )
        )


def expect_exact(client: Client, url: str) -> bool:
    """Returns whether there is a position; the table has to be what it was then."""
    target = choose_target(url, "access")
    with ApiClient(str(client.base_url), KEY) as api, closing(target):
        verification = verify_mirror(api, target, OPTIONS)
    assert verification is None or verification.agrees, verification
    return verification is not None


def find_position(url: str) -> object:
    try:
        return read_position(url)
    except (apsw.Error, psycopg.Error):
        return None  # the tables are not there yet
