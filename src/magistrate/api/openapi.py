"""Generates the OpenAPI 3.1 document from the table of routes and the types that decode requests and encode answers."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

import magistrate
from magistrate.api.http.event_frames import EVENT_STREAM
from magistrate.api.http.request_values import MAX_BATCH
from magistrate.api.route import TEXT, Parameter, Route
from magistrate.api.route_table import ROUTES
from magistrate.api.v1.routes import VIEWS


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

REQUEST_EXAMPLES: Mapping[tuple[str, str], RequestExample] = {
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


Schema = dict[str, Any]

REQUIRED: Mapping[str, list[str]] = {
    "ObjectTypeBody": ["type", "relations"],
    "ObjectBody": ["objectType"],
    "ObjectRefBody": ["objectType", "objectId"],
    "WarrantBody": ["objectType", "objectId", "relation", "subject"],
    "SubjectBody": ["objectType", "objectId"],
    "SingleCheckBody": ["objectType", "objectId", "relation", "subject"],
    "CheckBody": ["warrants"],
    "QueryBody": ["q"],
    "ExplainBody": ["objectType", "objectId", "relation", "subject"],
    **{view.body.__name__: [resource.id_member] for resource, view in VIEWS.items() if not resource.is_numerous},
    **{view.ref_body.__name__: [resource.id_member] for resource, view in VIEWS.items() if resource.is_numerous},
    "SessionBody": ["type", "userId"],
    "KeyBody": ["name", "scopes"],
    "StoredRefBody": ["objectType", "objectId"],
    "NamedObjectBody": ["objectType", "objectId"],
    "FilteredDeletionBody": ["filter"],
    "EntityBody": ["type", "id"],
    "ActionBody": ["name"],
    "SearchedEntityBody": ["type"],
    "EvaluationBody": ["subject", "action", "resource"],
    "SubjectSearchBody": ["subject", "action", "resource"],
    "ResourceSearchBody": ["subject", "action", "resource"],
    "ActionSearchBody": ["subject", "resource"],
    "FgaCheckBody": ["checks"],
    "FgaSingleCheckBody": ["resource_type", "resource_id", "relation", "subject"],
    "FgaSubjectBody": ["resource_type", "resource_id"],
    "FgaWarrantBody": ["resource_type", "resource_id", "relation", "subject"],
    "FgaResourceBody": ["resource_type"],
    "FgaBatchBody": ["op", "resources"],
}
"""Lists members by type that are optional to the decoder, so that their absence is reported in the words that clients
expect."""

TAGS = {
    "/v2/": ("v2", "The API of this service, which clients of the Warrant v2 API can use."),
    "/access/": ("AuthZEN", "The authorization API 1.0 of the OpenID Foundation."),
    "/v1/": ("v1", "The first version of the Warrant API: users, tenants, roles, permissions, features and tiers."),
    "/fga/": ("/fga/v1", "The last hosted generation of the Warrant API, for its clients."),
}
"""Maps the beginnings of paths to the name and the description of a group of requests."""

_NO_EXAMPLE = RequestExample()

_REF = "#/components/schemas/{name}"

_TOKEN_PARAMETERS = [
    Parameter(name, "a token of an earlier write: answer with data at least as fresh; or `latest`", TEXT)
    for name in ("Service-Token", "Warrant-Token")
]
_KEY_PARAMETER = Parameter(
    "Idempotency-Key",
    "a request sent again with the same key within 24 hours has no second effect, and the same answer",
    TEXT | {"minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
)
_MATCH_PARAMETER = Parameter("If-Match", "a token: the model must not have changed since that revision", TEXT)
_TOKEN_HEADERS = {
    name: {"description": meaning, "schema": {"type": "string"}, "required": True}
    for name, meaning in {
        "Service-Token": "the revision of this answer, as a token",
        "Warrant-Token": "the same",
        "Warrant-Request-Id": "another one for each request",
    }.items()
}
_TEXT = {"text/plain": {"schema": {"type": "string"}}}
_ERROR: Schema = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {
        **{name: {"type": "string"} for name in ("code", "message", "parameter", "type", "key", "oldest")},
        "index": {"type": "integer"},
        "errors": {"type": "array", "items": {"type": "object"}},
        **{name: {"type": "array", "items": {"type": "string"}} for name in ("allowed", "warrants")},
    },
    "additionalProperties": False,
}
_ERRORS = {
    400: "the request cannot be understood, or a part of it is not allowed",
    401: "no key or bearer token, or not a good one",
    403: "the key or token does not have the scope of the request, or is limited to other object types or users",
    404: "what the request names does not exist",
    408: "the request body did not arrive in time",
    409: "a precondition does not hold, or what is stored stands in the way; nothing was written",
    410: "what was stored at that time is not kept any more; `oldest` is the oldest time that can be read; or "
    "what a replay of a decision takes, or events after the place that is named, were not kept",
    412: "the model has changed since the revision that the request names; nothing was written",
    413: "the request body is too large",
    422: "the idempotency key was used before with another request",
    429: "the key or token has made as many requests as it may for now; `Retry-After` says when to try again",
    500: "a fault of the service",
    503: "the store cannot be reached, and nothing was written unless it was acknowledged; or a check needs more work "
    "than is allowed; or more requests are waiting than can be answered soon",
}


def document(public_url: str = "") -> dict[str, Any]:
    """Returns the document; `public_url` is where the service is, if it knows."""
    types = [kind for route in ROUTES for kind in (route.body, route.answer) if kind is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    by_type = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        body = next(by_type) if route.body is not None else None
        answer = next(by_type) if route.answer is not None else None
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, body, answer)
    for name, required in REQUIRED.items():
        components[name]["required"] = required
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Magistrate",
            "version": magistrate.__version__,
            "description": "Fine-grained authorization: object types, objects, warrants and checks. "
            "Compatible with the Warrant v2 API.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        **({"servers": [{"url": public_url}]} if public_url else {}),
        "security": [{"ApiKey": []}],
        "tags": [{"name": name, "description": meaning} for name, meaning in TAGS.values()],
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": _ERROR},
            "securitySchemes": {
                "ApiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "`Authorization: ApiKey <key>`; `Bearer <key>` is the same",
                },
                "Bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "the token of a user, for checks of this user; or of a service with scopes",
                },
            },
        },
    }


def _operation(route: Route, body: Schema | None, answer: Schema | None) -> dict[str, Any]:
    example = REQUEST_EXAMPLES.get((route.method, route.path), _NO_EXAMPLE)
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "tags": [name for start, (name, _) in TAGS.items() if route.path.startswith(start)],
        "summary": route.summary,
        "description": f"Needs the scope `{route.scope}`.",
        # The names of scopes stand where OAuth has them (OpenAPI 3.1, security requirement object).
        "security": [{"ApiKey": [str(route.scope)]}, {"Bearer": [str(route.scope)]}],
        "parameters": [_add_example(parameter, example) for parameter in _parameters(route)],
        "responses": {
            str(route.status): _success(route, answer),
            **{str(status): _error(status) for status in _statuses(route)},
        },
    }
    if body is not None:
        as_json = {"schema": _batch(body)} | ({} if example.body is None else {"example": example.body})
        content = {"application/json": as_json} | (_TEXT if route.takes_text else {})
        operation["requestBody"] = {"required": True, "content": content}
    if route.upload is not None:
        uploaded = {media_type: {"schema": {"type": "string"}} for media_type in route.upload.media_types}
        operation["requestBody"] = {"required": True, "content": uploaded}
    return operation


def _operation_id(route: Route) -> str:
    """Returns the id of an operation: `PUT /v2/objects/{objectType}/{objectId}` becomes
    `put_objects_objectType_objectId`; `v1` remains."""
    return "_".join([route.method.lower(), *re.findall(r"[A-Za-z0-9]+", route.path.removeprefix("/v2"))])


def _parameters(route: Route) -> list[dict[str, Any]]:
    path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    headers = [
        *([] if route.writes else _TOKEN_PARAMETERS),
        *([_MATCH_PARAMETER] if route.takes_if_match else []),
        *([_KEY_PARAMETER] if route.takes_key else []),
    ]
    others = [("query", parameter) for parameter in route.parameters] + [("header", header) for header in headers]
    return path + [
        {"name": parameter.name, "in": place, "description": parameter.meaning, "schema": parameter.schema}
        for place, parameter in others
    ]


def _add_example(parameter: dict[str, Any], example: RequestExample) -> dict[str, Any]:
    value = example.parameters.get(parameter["name"])
    return parameter if value is None else parameter | {"example": value}


def _batch(body: Schema) -> Schema:
    """Adds the bounds of array bodies, 1 to MAX_BATCH elements, which `read_batch` checks instead of the decoder."""
    if body.get("type") == "array":
        return body | {"minItems": 1, "maxItems": MAX_BATCH}
    return {key: [_batch(option) for option in value] if key == "anyOf" else value for key, value in body.items()}


_STREAMED: dict[str, Schema] = {EVENT_STREAM: {}}
"""Has the schemas of streams that are no text: tools read the events of one as objects."""


def _success(route: Route, answer: Schema | None) -> dict[str, Any]:
    success: dict[str, Any] = {"description": "done", "headers": _TOKEN_HEADERS}
    if answer is not None:
        success["content"] = {"application/json": {"schema": answer}} | (_TEXT if route.answers_text else {})
    if route.stream is not None:
        success["content"] = {
            media_type: {"schema": _STREAMED.get(media_type, TEXT)} for media_type in route.stream.media_types
        }
    return success


def _statuses(route: Route) -> list[int]:
    body = [408, 413] if route.body is not None or route.upload is not None else []
    others = {
        404: route.not_found or "{" in route.path,
        409: route.may_conflict,
        410: route.takes_as_of or route.reads_past,
        412: route.takes_if_match,
        422: route.takes_key,
    }
    return sorted([400, 401, 403, 429, 500, 503, *body, *(status for status, may_be in others.items() if may_be)])


def _error(status: int) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name="Error")}
    return {"description": _ERRORS[status], "content": {"application/json": {"schema": schema}}}
