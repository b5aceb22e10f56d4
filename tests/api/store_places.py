"""Every place of a request in which something of another store can stand: for each route of the table, in its path, its
parameters, its headers and its body.

A text like `<type>` stands for a value of the other store. `<near-type>` is that value but for a letter, for messages
that suggest what is spelled alike."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from magistrate.api.http.consistency_tokens import TOKEN_HEADERS
from magistrate.api.route import Route
from magistrate.api.v1.routes import VIEWS

TYPES = ("<type>", "<near-type>")
RELATIONS = ("<relation>", "<near-relation>")
POLICIES = ("<policy>", "<near-policy>")
IDS = ("<object>", "<user>")
CURSORS = (
    "<cursor-objects>",
    "<cursor-warrants>",
    "<cursor-query>",
    "<cursor-keys>",
    "<cursor-events>",
    "<cursor-types>",
    "<cursor-saved>",
)
KEYS = ("<key-id>", "<key>", "<secret>", "<webhook>", "<saved>")
DECISIONS = ("<decision>", "<request-id>", "<key-id>")
STORES = ("<store>", "<store-id>")
TOKENS = ("<token>", "<old-token>", "<store-id>")
QUERIES = (
    "select <type> where user:<user> is <relation>",
    "select <near-type> where user:<user> is <relation>",
    "select <type> where user:<user> is <near-relation>",
    "select <relation> of type user for <type>:<object>",
    "select report where user:<user> is viewer",
)
WARRANT = {
    "objectType": "<type>",
    "objectId": "<object>",
    "relation": "<relation>",
    "subject": {"objectType": "user", "objectId": "<user>"},
}
OWN_TYPE = {**WARRANT, "objectType": "report", "relation": "viewer"}
NEAR = {**WARRANT, "objectType": "<near-type>"}
NEAR_RELATION = {**WARRANT, "relation": "<near-relation>"}
CONDITIONAL = {**OWN_TYPE, "policy": "<policy>"}
NEAR_POLICY = {**OWN_TYPE, "policy": "<near-policy>"}
WARRANTS = (WARRANT, OWN_TYPE, NEAR, NEAR_RELATION, CONDITIONAL, NEAR_POLICY)
NAMED_WARRANTS = (
    WARRANT,
    CONDITIONAL,
    {**OWN_TYPE, "subject": {"objectType": "<type>", "objectId": "<object>", "relation": "<relation>"}},
)
REFERRING = {
    "type": "other",
    "relations": {"reader": {"inheritIf": "<relation>", "ofType": "<type>", "withRelation": "p"}, "p": {}},
}
NEAR_REFERRING = json.loads(json.dumps(REFERRING).replace("<type>", "<near-type>"))
DEFINED = {"type": "<type>", "relations": {"<relation>": {}}}
MODELS: tuple[Any, ...] = ([DEFINED], [REFERRING], [NEAR_REFERRING])
POLICY = {"name": "<policy>", "parameters": {"x": "integer"}, "expression": "x == 1"}
REFERRING_POLICY = {"name": "other", "parameters": {"x": "integer"}, "expression": "<policy>(x) && <near-policy>(x)"}
FGA_POLICY = {"name": "<policy>", "parameters": [{"name": "x", "type": "integer"}], "expression": "x == 1"}
PERSON, THING = {"type": "user", "id": "<user>"}, {"type": "<type>", "id": "<object>"}
ENTITIES = tuple(
    {"subject": PERSON, "action": {"name": action}, "resource": {"type": kind, "id": "<object>"}}
    for kind, action in (
        ("<type>", "<relation>"),
        ("<near-type>", "<relation>"),
        ("report", "<near-relation>"),
        ("report", "viewer"),
    )
)
FGA_WARRANT = {
    "resource_type": "<type>",
    "resource_id": "<object>",
    "relation": "<relation>",
    "subject": {"resource_type": "user", "resource_id": "<user>"},
}
FGA_WARRANTS = (
    FGA_WARRANT,
    {**FGA_WARRANT, "resource_type": "report", "relation": "viewer"},
    {**FGA_WARRANT, "resource_type": "<near-type>"},
)
FGA_TYPE = {"type": "<type>", "relations": {"<relation>": {}}}
OBJECTS = tuple({"objectType": kind, "objectId": "<object>"} for kind in (*TYPES, "report", "user"))
FGA_OBJECTS = tuple({"resource_type": kind, "resource_id": "<object>"} for kind in (*TYPES, "report", "user"))

MODEL_SETUP = "setup: {warrants: ['report:r#viewer@user:u']}"

BODIES: Mapping[str, Sequence[Any]] = {
    "object-types": (DEFINED, REFERRING, NEAR_REFERRING),
    "PUT object-types": MODELS,
    "object-types/{type}": (DEFINED, REFERRING, NEAR_REFERRING),
    "policies": (POLICY, REFERRING_POLICY),
    "PUT policies": ([POLICY], [REFERRING_POLICY]),
    "policies/{name}": (POLICY, REFERRING_POLICY),
    "model": MODELS,
    "model/plan": MODELS,
    "model/validate": MODELS,
    "model/convert": MODELS,
    "model/test": tuple(
        {"content": f"{MODEL_SETUP}\ntests: [{{name: t, check: '{check}', expect: true}}]"}
        for check in (
            "<type>:<object>#<relation>@user:<user>",
            "<near-type>:<object>#<relation>@user:<user>",
            "report:r#viewer@user:u",
        )
    ),
    "objects": (*OBJECTS, {"objectType": "<type>"}),
    "DELETE objects": [[each] for each in OBJECTS],
    "objects/{objectType}/{objectId}": ({"meta": {"<policy>": "<object>"}},),
    "warrants": WARRANTS,
    "warrants/delete": (
        {"filter": {"objectType": "<type>"}},
        {"filter": {"objectType": "<near-type>"}, "dryRun": True},
        {"filter": {"objectType": "report", "relation": "<relation>"}},
    ),
    "writes": (
        *({"create": {"warrants": [each]}} for each in WARRANTS),
        {"delete": {"warrants": [WARRANT]}},
        {"delete": {"objects": [OBJECTS[0]]}},
        {"create": {"objects": [OBJECTS[2]]}, "preconditions": [{"revision": "<token>"}]},
        {"create": {"objects": [OBJECTS[3]]}, "preconditions": [{"absent": WARRANT}]},
        {"create": {"objects": [OBJECTS[3]]}, "preconditions": [{"exists": OBJECTS[0]}]},
    ),
    "check": (
        *({"warrants": [each]} for each in WARRANTS[:4]),
        *({"warrants": [each], "strict": True, "debug": True} for each in WARRANTS[:4]),
        *({"warrants": [OWN_TYPE], "contextualWarrants": [each]} for each in NAMED_WARRANTS),
        {"warrants": [OWN_TYPE], "asOf": "<token>"},
    ),
    "explain": (
        *WARRANTS[:4],
        {**OWN_TYPE, "asOf": "<token>"},
        *({**OWN_TYPE, "contextualWarrants": [each]} for each in NAMED_WARRANTS),
    ),
    "query": (
        *({"q": text} for text in QUERIES),
        {"q": QUERIES[-1], "asOf": "<token>"},
        *({"q": QUERIES[-1], "nextCursor": each} for each in CURSORS),
    ),
    "difference": (
        *({"proposal": {"create": [each]}} for each in WARRANTS),
        {"proposal": {"delete": [WARRANT]}},
        {"proposal": {"create": [OWN_TYPE]}, "of": "<type>#<relation>@user"},
        {"proposal": {"create": [OWN_TYPE]}, "nextCursor": "<cursor-query>"},
    ),
    "sessions": ({"type": "sess", "userId": "<user>", "tenantId": "<object>"},),
    "keys": (
        {"name": "<key>", "scopes": ["check"]},
        {"name": "other", "scopes": ["check"], "objectTypes": ["<type>", "<near-type>"]},
    ),
    "keys/{id}/rotate": ({},),
    "webhooks": (
        {"url": "https://127.0.0.1/<key>", "objectType": ["<type>"]},
        {"url": "https://8.8.8.8/hook", "enabled": False, "objectType": ["<type>", "<near-type>"]},
        {"url": "https://8.8.8.8/hook", "enabled": False, "of": ["<type>#<relation>@user"]},
        {"url": "https://8.8.8.8/hook", "enabled": False, "of": ["report#<near-relation>@user"]},
    ),
    "saved-queries": (
        {"name": "<key>", "q": QUERIES[0]},
        {"name": "<saved-name>", "q": QUERIES[-1], "context": {"<policy>": "<object>"}},
    ),
    "saved-queries/{id}": ({"name": "<saved-name>"}, {"q": QUERIES[1]}),
    "webhooks/{id}": ({"description": "other"}, {"enabled": False}),
    "webhooks/{id}/rotate": ({},),
    "webhooks/{id}/test": (None,),
    "webhooks/{id}/replay": ({"since": "<token>"}, {"since": "<old-token>"}),
    "stores": ({"name": "<store>"}, {"name": "other", "from": "<store>"}, {"name": "other", "from": "<store-id>"}),
    "stores/{store}": ({"name": "other"}, {"limits": {"warrants": 1}}),
    "evaluation": ENTITIES,
    "evaluations": ({"evaluations": [*ENTITIES]},),
    "search/subject": tuple(
        each | {"subject": {"type": kind}} for each in ENTITIES for kind in ("user", "<type>", "<near-type>")
    ),
    "search/resource": (
        *(each | {"resource": {"type": each["resource"]["type"]}} for each in ENTITIES),
        ENTITIES[3] | {"resource": {"type": "report"}, "page": {"token": "<cursor-query>"}},
    ),
    "search/action": ENTITIES,
    "fga check": tuple({"checks": [each]} for each in FGA_WARRANTS),
    "fga warrants": (
        *({"op": "create", **each} for each in FGA_WARRANTS),
        *FGA_WARRANTS,
        *({"op": "delete", **each} for each in FGA_WARRANTS),
    ),
    "fga resources": FGA_OBJECTS,
    "fga resources/batch": tuple(
        {"op": op, "resources": [each]} for op in ("create", "delete") for each in FGA_OBJECTS
    ),
    "fga resources/{resource_type}/{resource_id}": ({"meta": {"<policy>": "<object>"}},),
    "fga resource-types": (FGA_TYPE, REFERRING, NEAR_REFERRING),
    "fga PUT resource-types": ([FGA_TYPE], [REFERRING], [NEAR_REFERRING]),
    "fga resource-types/{type}": (FGA_TYPE, REFERRING, NEAR_REFERRING),
    "fga policies": (FGA_POLICY,),
    "fga policies/{name}": (FGA_POLICY,),
    "fga schema": ({"schema": {"resource_types": [FGA_TYPE]}}, {"schema": "model <type>"}),
    "fga schema/convert": ({"schema": {"resource_types": [FGA_TYPE]}}, {"schema": "model <type>"}),
    **{
        f"{view.resource.path}": ({view.resource.id_member: "<user>"}, {view.resource.id_member: "<object>"})
        for view in VIEWS.values()
    },
    **{
        f"DELETE {view.resource.path}": ([{view.resource.id_member: "<user>"}], [{view.resource.id_member: "<object>"}])
        for view in VIEWS.values()
    },
    **{f"{view.resource.path}/{{{view.resource.id_member}}}": ({"name": "<object>"}, {}) for view in VIEWS.values()},
}
"""Has the bodies of each path, without its API where several share them; the method is named where it matters."""

VARIABLES: Mapping[str, Sequence[str]] = {
    "type": TYPES,
    "resource_type": TYPES,
    "objectType": TYPES,
    "name": POLICIES,
    "objectId": IDS,
    "resource_id": IDS,
    "store": STORES,
    "id": (*KEYS, *DECISIONS[:2]),
    **{view.resource.id_member: IDS for view in VIEWS.values()},
}
"""Has the values of each variable of paths."""

_NO_NAMES: tuple[str, ...] = (
    "keepExisting",
    "replace",
    "expired",
    "stranded",
    "total",
    "snapshot",
    "strict",
    "limit",
    "sortBy",
)
_NO_NAMES += ("sortOrder", "since", "until", "kind", "order", "withKeys", "verify", "origin", "leaveOut")
PARAMETERS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(_NO_NAMES, ("<object>",)),
    **dict.fromkeys(
        ("objectType", "resource_type", "resourceType", "subjectType", "subject_type", "type"), (*TYPES, "report")
    ),
    **dict.fromkeys(("objectId", "resource_id", "resourceId", "subjectId", "subject_id"), IDS),
    **dict.fromkeys(("relation", "subjectRelation", "subject_relation"), RELATIONS),
    **dict.fromkeys(
        ("nextCursor", "prevCursor", "lastId", "after", "before"), (*CURSORS, *DECISIONS, "<token>", "<object>")
    ),
    **dict.fromkeys(("afterId", "beforeId", "afterValue", "beforeValue", "search", "source"), IDS),
    **dict.fromkeys(("asOf", "from", "to", "expectedRevision"), TOKENS),
    "ticket": ("<secret>", "<object>"),
    "q": (*QUERIES, *IDS, "<store>"),
    "context": ('{"<policy>": "<object>"}',),
    "contextualWarrants": tuple(json.dumps([each]) for each in NAMED_WARRANTS),
    "select": ("<relation>", "warrants"),
    "for": ("<type>:<object>", "subject=user:<user>"),
    "where": ("<relation>", "object=<type>:<object>,relation=<relation>"),
    "of": ("<type>#<relation>@user", "<near-type>#<relation>@user", "report#<near-relation>@user"),
    "subject": ("user:<user>", "<type>:<object>"),
    "object": ("<type>:<object>", "report:<object>"),
}
"""Has the values of each parameter of queries."""

QUERY = {"q": "select report where user:u is viewer"}
NEEDED: Mapping[str, Mapping[str, str]] = {"/v2/query": QUERY, "/v1/query": QUERY, "/fga/v1/query": QUERY}
"""Has the parameters without which a route answers nothing else than that they are missing."""


class PlacedRequest(NamedTuple):
    """A request whose texts contain what stands for values of another store."""

    method: str
    path: str
    parameters: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    body: Any = None


def list_bodies(route: Route) -> Sequence[Any]:
    """The bodies of a route. Raises KeyError for one that has no place in the matrix."""
    if route.body is None:
        return (None,)
    path = re.sub(r"^/(access/v1|fga/v1|v1|v2)/", "", route.path).replace("authorize", "check")
    api = "fga " if route.path.startswith("/fga/") else ""
    if f"{api}{route.method} {path}" in BODIES:
        return BODIES[f"{api}{route.method} {path}"]
    return BODIES[f"{api}{path}"]


def list_paths(route: Route) -> Sequence[str]:
    """The paths of a route, with everything of another store that fits. Raises KeyError for a new variable."""
    names = re.findall(r"{(\w+)}", route.path)
    template = re.sub(r"{\w+}", "{}", route.path)
    return [template.format(*values) for values in itertools.product(*(VARIABLES[name] for name in names))]


def list_requests(route: Route) -> Iterator[PlacedRequest]:
    """Every request of a route. Raises KeyError if something of it has no place in the matrix."""
    paths, bodies = list_paths(route), list_bodies(route)
    needed = NEEDED.get(route.path, {}) if route.method == "GET" else {}
    if route.path == "/v2/difference" and route.method == "GET":
        needed = {"from": "2999-01-01T00:00:00Z"}
    for path, body in itertools.product(paths, bodies):
        yield PlacedRequest(route.method, path, needed, {}, body)
    path, body = paths[0], bodies[0]
    for parameter in route.parameters:
        for text in PARAMETERS[parameter.name]:
            yield PlacedRequest(route.method, path, {**needed, parameter.name: text}, {}, body)
    for header, text in itertools.product((*TOKEN_HEADERS, "If-Match"), ("<token>", "<old-token>")):
        yield PlacedRequest(route.method, path, needed, {header: text}, body)
    for header, text in (("Idempotency-Key", "<once>"), ("X-Request-ID", "<request-id>")):
        for each in bodies[:2]:
            yield PlacedRequest(route.method, path, needed, {header: text}, each)


def fill(request: PlacedRequest, values: Mapping[str, str]) -> PlacedRequest:
    """The request with these values, by what stands for them."""

    def replace(text: str) -> str:
        return re.sub("<[a-z-]+>", lambda match: values[match[0]], text)

    body = None if request.body is None else json.loads(replace(json.dumps(request.body)))
    parameters = {name: replace(text) for name, text in request.parameters.items()}
    headers = {name: replace(text) for name, text in request.headers.items()}
    return PlacedRequest(request.method, replace(request.path), parameters, headers, body)
