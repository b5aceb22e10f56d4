"""Every endpoint that is about something: whom it refuses, and that it answers 503 while Magistrate cannot."""

from dataclasses import dataclass
from typing import Any

from conftest import Person


@dataclass(frozen=True)
class Asked:
    """A request, and the status that somebody gets who may only read what it is about."""

    method: str
    route: str
    path: str
    reader_gets: int
    body: dict[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.path} {'' if self.body is None else '+'.join(self.body)}".strip()

    def sent_by(self, person: Person, ids: dict[str, str]) -> int:
        body = {name: value.format(**ids) for name, value in (self.body or {}).items()}
        return person.request(self.method, self.path.format(**ids), json=body or None).status_code


GIVEN = "/{kind}/{item_id}/{relation}/{subject}"

ABOUT_SOMETHING = (
    Asked("GET", "/documents/{item_id}", "/documents/{document}", 200),
    Asked("PUT", "/documents/{item_id}", "/documents/{document}", 403, {"title": "Taken", "text": "over"}),
    Asked("PUT", "/documents/{item_id}/folder/{folder}", "/documents/{document}/folder/{folder}", 403),
    Asked("GET", "/folders/{item_id}/documents", "/folders/{folder}/documents", 200),
    Asked("POST", "/documents", "/documents", 403, {"title": "Slipped in", "folder": "{folder}"}),
    Asked("POST", "/folders", "/folders", 403, {"title": "Slipped in", "folder": "{folder}"}),
    Asked("GET", "/{kind}/{item_id}/readers", "/documents/{document}/readers", 403),
    Asked("GET", "/{kind}/{item_id}/readers", "/folders/{folder}/readers", 403),
    Asked("GET", "/{kind}/{item_id}/readers", "/groups/{group}/readers", 403),
    Asked("PUT", GIVEN, "/documents/{document}/owner/user:mallory", 403),
    Asked("PUT", GIVEN, "/documents/{document}/viewer/everyone", 403),
    Asked("PUT", GIVEN, "/documents/{document}/blocked/user:mallory", 403),
    Asked("PUT", GIVEN, "/folders/{folder}/editor/user:mallory", 403),
    Asked("PUT", GIVEN, "/groups/{group}/member/user:mallory", 403),
    Asked("DELETE", GIVEN, "/documents/{document}/viewer/user:{reader}", 403),
    Asked("DELETE", GIVEN, "/folders/{folder}/viewer/user:{reader}", 403),
    Asked("DELETE", GIVEN, "/groups/{group}/member/user:{reader}", 403),
    Asked("DELETE", "/{kind}/{item_id}", "/documents/{document}", 403),
    Asked("DELETE", "/{kind}/{item_id}", "/folders/{folder}", 403),
    Asked("DELETE", "/{kind}/{item_id}", "/groups/{group}", 403),
)

ABOUT_ONESELF = {
    ("POST", "/login"),
    ("POST", "/me/session"),
    ("POST", "/documents"),
    ("POST", "/folders"),
    ("POST", "/groups"),
    ("GET", "/{kind}"),
}
"""What everyone may who is logged in; what is listed is filtered."""


def all_shared_by(owner: Person, reader: Person) -> dict[str, str]:
    """A document, a folder and a group which `reader` may read."""
    ids = {kind: owner.creates(f"{kind}s") for kind in ("document", "folder", "group")}
    owner.does("PUT", f"/documents/{ids['document']}/viewer/user:{reader.name}")
    owner.does("PUT", f"/folders/{ids['folder']}/viewer/user:{reader.name}")
    owner.does("PUT", f"/groups/{ids['group']}/member/user:{reader.name}")
    return ids | {"reader": reader.name}
