"""Holds examples of requests for the OpenAPI document. All of them can be sent to a service that has the example
document-sharing, in this order."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class RequestExample(NamedTuple):
    """Holds the body of a request, and the values of parameters of its path and query by name."""

    body: Any = None
    parameters: Mapping[str, str] = {}


_BOB = {"objectType": "user", "objectId": "bob"}
_READ = {"objectType": "document", "objectId": "roadmap", "relation": "can-read", "subject": _BOB}
_WARRANT = {"objectType": "document", "objectId": "handbook", "relation": "editor", "subject": _BOB}
_NOTE_TYPE = {"type": "note", "relations": {"author": {}, "reader": {"inheritIf": "author"}}}
_PERSON = {"type": "user", "id": "bob"}
_ROADMAP = {"type": "document", "id": "roadmap"}
_READING = {"name": "can-read"}
_FGA_CHECK = {
    "resource_type": "document",
    "resource_id": "roadmap",
    "relation": "can-read",
    "subject": {"resource_type": "user", "resource_id": "bob"},
}
_ROADMAP_PATH = {"objectType": "document", "objectId": "roadmap"}

EXAMPLES: Mapping[tuple[str, str], RequestExample] = {
    ("POST", "/v2/check"): RequestExample({"warrants": [_READ]}),
    ("POST", "/v2/authorize"): RequestExample({"warrants": [_READ]}),
    ("POST", "/v2/explain"): RequestExample({**_READ, "subject": {"objectType": "user", "objectId": "kim"}}),
    ("GET", "/v2/query"): RequestExample(parameters={"q": "select document where user:bob is can-read"}),
    ("POST", "/v2/query"): RequestExample({"q": "select can-read of type user for document:roadmap"}),
    ("POST", "/v2/difference"): RequestExample({"proposal": {"create": [_WARRANT]}, "of": "document#can-write@user"}),
    ("POST", "/v2/object-types"): RequestExample(_NOTE_TYPE),
    ("PUT", "/v2/object-types"): RequestExample([_NOTE_TYPE]),
    ("GET", "/v2/object-types/{type}"): RequestExample(parameters={"type": "document"}),
    ("POST", "/v2/model/validate"): RequestExample([_NOTE_TYPE]),
    ("POST", "/v2/objects"): RequestExample({"objectType": "document", "meta": {"title": "Minutes"}}),
    ("GET", "/v2/objects"): RequestExample(parameters={"objectType": "document"}),
    ("GET", "/v2/objects/{objectType}/{objectId}"): RequestExample(parameters=_ROADMAP_PATH),
    ("PUT", "/v2/objects/{objectType}/{objectId}"): RequestExample({"meta": {"title": "Roadmap"}}, _ROADMAP_PATH),
    ("POST", "/v2/warrants"): RequestExample(_WARRANT),
    ("GET", "/v2/warrants"): RequestExample(parameters={"objectType": "document", "objectId": "roadmap"}),
    ("POST", "/v2/warrants/delete"): RequestExample(
        {"filter": {"objectType": "document", "relation": "blocked"}, "dryRun": True}
    ),
    ("POST", "/v2/writes"): RequestExample({"create": {"warrants": [_WARRANT]}}),
    ("POST", "/v2/sessions"): RequestExample({"type": "sess", "userId": "bob"}),
    ("POST", "/v2/keys"): RequestExample({"name": "billing", "scopes": ["check"], "objectTypes": ["document"]}),
    ("POST", "/access/v1/evaluation"): RequestExample({"subject": _PERSON, "action": _READING, "resource": _ROADMAP}),
    ("POST", "/access/v1/evaluations"): RequestExample(
        {"subject": _PERSON, "action": _READING, "evaluations": [{"resource": _ROADMAP}]}
    ),
    ("POST", "/access/v1/search/subject"): RequestExample(
        {"subject": {"type": "user"}, "action": _READING, "resource": _ROADMAP}
    ),
    ("POST", "/access/v1/search/resource"): RequestExample(
        {"subject": _PERSON, "action": _READING, "resource": {"type": "document"}}
    ),
    ("POST", "/access/v1/search/action"): RequestExample({"subject": _PERSON, "resource": _ROADMAP}),
    ("POST", "/v1/users"): RequestExample({"userId": "zoe", "email": "zoe@example.com"}),
    ("GET", "/v1/query"): RequestExample(parameters={"q": "select document where user:bob is can-read"}),
    ("POST", "/fga/v1/check"): RequestExample({"checks": [_FGA_CHECK]}),
    ("GET", "/fga/v1/query"): RequestExample(parameters={"q": "select document where user:bob is can-read"}),
}
"""Maps methods and paths of routes to examples."""
