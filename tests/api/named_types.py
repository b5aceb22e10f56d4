"""Every request that names an object type, for keys that are limited to some types."""

from typing import Any

from magistrate.api.route_table import ROUTES


def of(of_type: str) -> dict[str, Any]:
    return {
        "objectType": of_type,
        "objectId": "new",
        "relation": "viewer",
        "subject": {"objectType": "user", "objectId": "u"},
    }


def evaluation(of_type: str) -> dict[str, Any]:
    user = {"type": "user", "id": "u"}
    return {"subject": user, "action": {"name": "viewer"}, "resource": {"type": of_type, "id": "x"}}


AUTHZEN = [one.path for one in ROUTES if one.path.startswith("/access/")]
NAMED = of("{}")

REQUESTS: dict[tuple[str, str], tuple[str, dict[str, str], Any]] = {
    ("POST", "/v2/object-types"): ("/v2/object-types", {}, {"type": "{}", "relations": {}}),
    ("PUT", "/v2/object-types"): ("/v2/object-types", {}, [{"type": "{}", "relations": {}}]),
    ("GET", "/v2/object-types/{type}"): ("/v2/object-types/{}", {}, None),
    ("PUT", "/v2/object-types/{type}"): ("/v2/object-types/{}", {}, {"relations": {}}),
    ("POST", "/v2/object-types/{type}"): ("/v2/object-types/{}", {}, {"relations": {}}),
    ("DELETE", "/v2/object-types/{type}"): ("/v2/object-types/{}", {}, None),
    ("POST", "/v2/objects"): ("/v2/objects", {}, [{"objectType": "document"}, {"objectType": "{}"}]),
    ("GET", "/v2/objects"): ("/v2/objects", {"objectType": "{}"}, None),
    ("DELETE", "/v2/objects"): ("/v2/objects", {}, [{"objectType": "{}", "objectId": "x"}]),
    ("GET", "/v2/objects/{objectType}/{objectId}"): ("/v2/objects/{}/x", {}, None),
    ("PUT", "/v2/objects/{objectType}/{objectId}"): ("/v2/objects/{}/x", {}, {"meta": {}}),
    ("POST", "/v2/objects/{objectType}/{objectId}"): ("/v2/objects/{}/x", {}, {"meta": {}}),
    ("DELETE", "/v2/objects/{objectType}/{objectId}"): ("/v2/objects/{}/x", {}, None),
    ("POST", "/v2/warrants"): ("/v2/warrants", {}, [of("document"), NAMED]),
    ("GET", "/v2/warrants"): ("/v2/warrants", {"objectType": "{}"}, None),
    ("DELETE", "/v2/warrants"): ("/v2/warrants", {}, NAMED),
    ("POST", "/v2/warrants/delete"): ("/v2/warrants/delete", {}, {"filter": {"objectType": "{}"}, "dryRun": True}),
    ("POST", "/v2/writes"): ("/v2/writes", {}, {"create": {"warrants": [of("document"), NAMED]}}),
    ("POST", "/v2/check"): ("/v2/check", {}, {"op": "anyOf", "warrants": [of("document"), NAMED]}),
    ("POST", "/v2/authorize"): ("/v2/authorize", {}, {"warrants": [NAMED]}),
    ("GET", "/v2/query"): ("/v2/query", {"q": "select {} where user:ann is viewer"}, None),
    ("POST", "/v2/query"): ("/v2/query", {}, {"q": "select viewer of type user for {}:a"}),
    **{("POST", path): (path, {}, evaluation("{}")) for path in AUTHZEN},
    ("GET", "/v2/resource-events"): ("/v2/resource-events", {"resourceType": "{}"}, None),
    ("GET", "/v2/access-events"): ("/v2/access-events", {"objectType": "{}"}, None),
    ("GET", "/v2/watch"): ("/v2/watch", {"objectType": "{}"}, None),
}
"""A request for each route of v2 and of AuthZEN that names object types; `{}` stands for one."""


def insert(value: Any, of_type: str) -> Any:
    if isinstance(value, dict):
        return {name: insert(member, of_type) for name, member in value.items()}
    if isinstance(value, list):
        return [insert(member, of_type) for member in value]
    return value.replace("{}", of_type) if isinstance(value, str) else value
