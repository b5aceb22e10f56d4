"""Draws the small models of histories, and the objects and warrants in them."""

import random
from collections.abc import Mapping
from typing import Any

USERS = [f"user:u{number}" for number in range(6)]
GROUPS = [f"group:g{number}" for number in range(4)]
FOLDERS = [f"folder:f{number}" for number in range(4)]
DOCUMENTS = [f"document:d{number}" for number in range(6)]
OBJECTS = [*USERS, *GROUPS, *FOLDERS, *DOCUMENTS]
CHECKED = {
    "document": ["viewer", "editor", "blocked", "can-read", "can-edit"],
    "folder": ["viewer", "blocked", "parent"],
    "group": ["member"],
}
OF = ["document#can-read@user", "document#viewer@user", "folder#viewer@user", "group#member@user"]

Types = dict[str, dict[str, Any]]


def draw_types(rng: random.Random) -> Types:
    """Returns object types with groups, nested folders and exclusions, whose rules differ from one call to the next."""
    from_parent = {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}
    not_blocked = {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}
    viewer = rng.choice([from_parent, any_of(from_parent, {"inheritIf": "editor"}), {"inheritIf": "editor"}])
    can_read = all_of(rng.choice([{"inheritIf": "viewer"}, {"inheritIf": "editor"}]), not_blocked)
    can_edit = rng.choice(
        [all_of({"inheritIf": "can-read"}, {"inheritIf": "editor"}), all_of(from_parent, not_blocked)]
    )
    folder = rng.choice([from_parent, {}, all_of(from_parent, not_blocked)])
    return {
        "user": {},
        "mark": {},
        "group": {"member": {}},
        "folder": {"parent": {}, "blocked": {}, "viewer": folder},
        "document": {
            "parent": {},
            "blocked": {},
            "editor": {},
            "viewer": viewer,
            "can-read": can_read,
            "can-edit": can_edit,
        },
    }


def any_of(*rules: Mapping[str, Any]) -> dict[str, Any]:
    return {"inheritIf": "anyOf", "rules": [*rules]}


def all_of(*rules: Mapping[str, Any]) -> dict[str, Any]:
    return {"inheritIf": "allOf", "rules": [*rules]}


def draw_warrant(rng: random.Random) -> str:
    """Returns a warrant that may be written: of a person, a group, or everybody."""
    kind = rng.random()
    if kind < 0.2:
        return f"{rng.choice(GROUPS)}#member@{draw_subject(rng)}"
    if kind < 0.3:
        return f"{rng.choice(FOLDERS)}#parent@{rng.choice(FOLDERS)}"
    if kind < 0.42:
        return f"{rng.choice(DOCUMENTS)}#parent@{rng.choice(FOLDERS)}"
    if kind < 0.6:
        return f"{rng.choice(FOLDERS)}#{rng.choice(['viewer', 'viewer', 'blocked'])}@{draw_subject(rng)}"
    document = "document:*" if kind > 0.98 else rng.choice(DOCUMENTS)
    return f"{document}#{rng.choice(['viewer', 'editor', 'blocked'])}@{draw_subject(rng)}"


def draw_subject(rng: random.Random) -> str:
    kind = rng.random()
    return f"{rng.choice(GROUPS)}#member" if kind < 0.25 else "user:*" if kind < 0.28 else rng.choice(USERS)


def draw_check(rng: random.Random) -> str:
    object_type = rng.choice(["document", "document", "document", "folder", "group"])
    objects = {"document": DOCUMENTS, "folder": FOLDERS, "group": GROUPS}[object_type]
    return f"{rng.choice(objects)}#{rng.choice(CHECKED[object_type])}@{rng.choice(USERS)}"


def render_warrant(body: Mapping[str, Any]) -> str:
    """Returns a warrant of the API in written form."""
    subject = body["subject"]
    userset = f"#{subject['relation']}" if subject.get("relation") else ""
    named = f"{body['objectType']}:{body['objectId']}#{body['relation']}"
    return f"{named}@{subject['objectType']}:{subject['objectId']}{userset}"


def render_object(body: Mapping[str, Any]) -> str:
    """Returns an object of the API in written form, with the mark that it has."""
    mark = body.get("meta", {}).get("write", "")
    return f"{body['objectType']}:{body['objectId']}" + (mark and f"={mark}")


def object_body(text: str) -> dict[str, Any]:
    reference, _, mark = text.partition("=")
    object_type, _, object_id = reference.partition(":")
    return {"objectType": object_type, "objectId": object_id} | ({"meta": {"write": mark}} if mark else {})
