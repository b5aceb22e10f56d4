"""Lists every route once: the router, the OpenAPI document and the page at /docs are made from this table."""

from collections.abc import Iterable
from functools import partial

from magistrate.api.authzen.routes import AUTHZEN_ROUTES
from magistrate.api.endpoints import (
    authz,
    backups,
    check,
    decisions,
    difference,
    events,
    explain,
    keys,
    models,
    object_types,
    objects,
    policies,
    query,
    saved_queries,
    sessions,
    stores,
    warrants,
    watch,
    webhooks,
    writes,
)
from magistrate.api.endpoints.models import ModelTestBody
from magistrate.api.endpoints.openfga_names import with_openfga_names
from magistrate.api.endpoints.query import TOTAL
from magistrate.api.fga.routes import FGA_ROUTES
from magistrate.api.http.event_frames import MEDIA_TYPES
from magistrate.api.http.streams import StreamKind
from magistrate.api.http.ticket_parameter import TICKET
from magistrate.api.route import (
    AS_OF_PARAMETER,
    EXPECTED_REVISION,
    FALSE_BY_DEFAULT,
    ONE_ROW,
    SEARCH,
    TEXT,
    Parameter,
    Route,
    list_parameters,
)
from magistrate.api.used_types import (
    list_all,
    list_forwarded,
    list_in_body,
    list_in_check,
    list_in_filter,
    list_in_model,
    list_in_parameter,
    list_in_path,
    list_in_query,
    list_in_query_body,
    list_in_repeated,
    list_in_resource_events,
    list_in_write,
    list_none,
)
from magistrate.api.v1.routes import v1_routes
from magistrate.engine.forwarding.rules import PATH
from magistrate.engine.lists.language import MAX_QUERY_LENGTH
from magistrate.engine.text.json_documents import ModelBody, TypeBody
from magistrate.operations.difference.filters import OBJECT, OF, SUBJECT, Q
from magistrate.operations.difference.pages import DIFFERENCE_LIST
from magistrate.operations.difference.revisions import FROM, TO
from magistrate.operations.history.events import (
    ACCESS_EVENT_LIST,
    ACCESS_NAMES,
    ACCESS_TYPES,
    AFTER,
    KIND,
    RESOURCE_EVENT_LIST,
    RESOURCE_KINDS,
    RESOURCE_NAMES,
    RESOURCE_TYPES,
    SOURCE,
)
from magistrate.operations.keys.caller_keys import KEY_LIST
from magistrate.operations.keys.callers import Scope
from magistrate.operations.lists.query import QUERY_LIST
from magistrate.operations.lists.saved_queries import SAVED_QUERY_LIST
from magistrate.operations.models.object_types import OBJECT_TYPE_LIST
from magistrate.operations.models.policies import POLICY_LIST
from magistrate.operations.readers.contextual_warrants import CONTEXTUAL_WARRANTS, MAX_CONTEXTUAL_WARRANTS
from magistrate.operations.stores.stores import STORE_LIST
from magistrate.operations.webhooks.webhooks import WEBHOOK_LIST
from magistrate.operations.writes.objects import OBJECT_LIST
from magistrate.operations.writes.warrants import FILTERS, WARRANT_LIST

KEEP_EXISTING = Parameter(
    "keepExisting",
    "whether stored warrants that `allowedTypes` forbids are kept, without effect; otherwise they are an error",
    FALSE_BY_DEFAULT,
)

_OBJECT_TYPE_LIST = list_parameters(OBJECT_TYPE_LIST, SEARCH, AS_OF_PARAMETER)
_POLICY_LIST = list_parameters(POLICY_LIST, AS_OF_PARAMETER)
_OBJECT_LIST = list_parameters(
    OBJECT_LIST, Parameter("objectType", "only objects of this type", TEXT), SEARCH, AS_OF_PARAMETER
)
_WARRANT_LIST = list_parameters(
    WARRANT_LIST,
    *[Parameter(name, "only warrants with this, or with * in place of an id", TEXT) for name in FILTERS],
    AS_OF_PARAMETER,
    Parameter(
        "expired",
        "whether the warrants that have expired are listed, as long as they are kept, instead of the others",
        FALSE_BY_DEFAULT,
    ),
    Parameter(
        "stranded",
        "whether only the warrants are listed that have no effect because `allowedTypes` forbids them",
        FALSE_BY_DEFAULT,
    ),
)
_QUERY_LIST = list_parameters(
    QUERY_LIST,
    Parameter("q", "the query: `select document where user:ann is viewer`", TEXT | {"maxLength": MAX_QUERY_LENGTH}),
    Parameter("context", "the variables of policies: the text of a JSON object", TEXT),
    Parameter(
        CONTEXTUAL_WARRANTS,
        f"up to {MAX_CONTEXTUAL_WARRANTS} warrants that count as if they were written: the text of a JSON array",
        TEXT,
    ),
    Parameter(TOTAL, "whether the rows of all pages are counted", FALSE_BY_DEFAULT),
    AS_OF_PARAMETER,
)
_ACCESS_FILTER = (
    Parameter(OF, "only such access, separated by commas: `document#viewer@user,document#editor@user`", TEXT),
    Parameter(SUBJECT, "only access of this subject: `user:ann`", TEXT),
    Parameter(OBJECT, "only access to this object: `document:plan`", TEXT),
)
_DIFFERENCE_LIST = list_parameters(
    DIFFERENCE_LIST,
    Parameter(FROM, "the state to compare access with: a token, the `id` of an event, or a time in RFC 3339", TEXT),
    Parameter(TO, "the state whose access is compared, likewise; now if it is absent", TEXT),
    *_ACCESS_FILTER,
    Parameter(Q, "only access that this query finds", TEXT | {"maxLength": MAX_QUERY_LENGTH}),
)


_REPLACE = Parameter(
    "replace", "whether the array is the whole model: object types that are not in it are deleted", FALSE_BY_DEFAULT
)
_REPLACE_POLICIES = Parameter(
    "replace", "whether the array has all named policies: others are deleted", FALSE_BY_DEFAULT
)


def _event_parameters(types: Iterable[str], names: Iterable[str]) -> tuple[Parameter, ...]:
    return (
        Parameter("type", "only events of this type", TEXT | {"enum": list(types)}),
        Parameter("source", f"only events of this source; all have `{SOURCE}`", TEXT),
        *[Parameter(name, "only events with this", TEXT) for name in names],
        Parameter("since", "only events at or after this time, in microseconds since 1970", {"type": "integer"}),
        Parameter("until", "only events at or before this time, in microseconds since 1970", {"type": "integer"}),
        Parameter(
            AFTER,
            "follow the events: those after the write of this token, or with `begin` all that are kept; the oldest "
            "come first, and every page has a cursor from which to go on",
            TEXT,
        ),
    )


_RESOURCE_KIND = Parameter(
    KIND, "only events of objects, of definitions of this kind, or of webhooks", TEXT | {"enum": list(RESOURCE_KINDS)}
)
_RESOURCE_EVENT_LIST = list_parameters(
    RESOURCE_EVENT_LIST, _RESOURCE_KIND, *_event_parameters(RESOURCE_TYPES, RESOURCE_NAMES)
)
_ACCESS_EVENT_LIST = list_parameters(ACCESS_EVENT_LIST, *_event_parameters(ACCESS_TYPES, ACCESS_NAMES))

_BACKUP = (
    AS_OF_PARAMETER,
    Parameter(backups.WITH_KEYS, "whether the keys are part of it: their digests, never secrets", FALSE_BY_DEFAULT),
)

_RESTORE = (
    Parameter(backups.REPLACE, "whether what the store has is replaced; otherwise it must be empty", FALSE_BY_DEFAULT),
    Parameter(
        backups.VERIFY, "whether the restored store is compared with the backup", {"type": "boolean", "default": True}
    ),
)


def _repeat_parameter(name: str, meaning: str) -> Parameter:
    return Parameter(name, f"{meaning}; it may be repeated", {"type": "array", "items": TEXT})


_TICKET = Parameter(TICKET, "a ticket in place of a key, for browsers; it opens one stream", TEXT)
_WATCH = (
    Parameter(
        "since",
        "a token: the events after its write; the header Last-Event-ID wins; absent: those of writes from now on",
        TEXT,
    ),
    Parameter("snapshot", "whether the first events have the state of the store", FALSE_BY_DEFAULT),
    _repeat_parameter("objectType", "only rows of this object type"),
    _repeat_parameter("relation", "only warrants with this relation"),
    _repeat_parameter("subjectType", "only warrants with subjects of this type"),
    _TICKET,
)
_WATCH_ACCESS = (
    Parameter(
        "since",
        "a token, or the id of an event: the events after it; the header Last-Event-ID wins; absent: those from now on",
        TEXT,
    ),
    Parameter("snapshot", "whether the first events have all access that is selected", FALSE_BY_DEFAULT),
    *_ACCESS_FILTER,
    _TICKET,
)
_WATCH_STREAM = StreamKind(MEDIA_TYPES)

_read = partial(Route, scope=Scope.READ, list_types=list_all)
_define = partial(Route, scope=Scope.MODEL, writes=True, list_types=list_all)
_write = partial(Route, scope=Scope.WRITE, writes=True)
_query = partial(Route, scope=Scope.QUERY, not_found=True)
_check = partial(
    Route, "POST", handler=check.answer_check, not_found=True, is_fast=True, takes_bearer=True,
    scope=Scope.CHECK, list_types=list_in_check, last_member=check.CONTEXTUAL_LAST,
)  # fmt: skip
_record = partial(Route, scope=Scope.EVENTS)
_operate = partial(Route, scope=Scope.STORES, list_types=list_none, is_administrative=True)
_saved = partial(Route, scope=Scope.QUERY, list_types=list_all)
_save = partial(Route, scope=Scope.WRITE, writes=True, list_types=list_all)
_hook = partial(Route, scope=Scope.WEBHOOKS, list_types=list_all, is_administrative=True)
_administer = partial(Route, scope=Scope.ADMIN, list_types=list_all, is_administrative=True)
_key = partial(Route, scope=Scope.KEYS, list_types=list_none, is_administrative=True)

V2_ROUTES: tuple[Route, ...] = (
    _define(
        "POST", "/v2/object-types", object_types.create, "Create an object type, or replace its definition",
        parameters=(KEEP_EXISTING,), list_types=list_in_body("type"),
    ),
    _read("GET", "/v2/object-types", object_types.list_page, "List object types", parameters=_OBJECT_TYPE_LIST),
    _define(
        "PUT", "/v2/object-types", object_types.apply, "Create 1 to 100 object types, or replace their definitions",
        parameters=(_REPLACE, KEEP_EXISTING), list_types=list_in_model,
    ),
    _read(
        "GET", "/v2/object-types/{type}", object_types.get, "Get an object type",
        parameters=ONE_ROW, list_types=list_in_path("type"),
    ),
    *[
        _define(
            method, "/v2/object-types/{type}", object_types.update, "Replace the definition of an object type",
            parameters=(KEEP_EXISTING,), list_types=list_in_path("type"),
        )
        for method in ("PUT", "POST")
    ],
    _define(
        "DELETE", "/v2/object-types/{type}", object_types.delete, "Delete an object type",
        list_types=list_in_path("type"),
    ),
    _define("POST", "/v2/policies", policies.create, "Create a named policy, or replace its definition"),
    _read("GET", "/v2/policies", policies.list_page, "List named policies", parameters=_POLICY_LIST),
    _define(
        "PUT", "/v2/policies", policies.apply, "Create 1 to 100 named policies, or replace their definitions",
        parameters=(_REPLACE_POLICIES,),
    ),
    _read("GET", "/v2/policies/{name}", policies.get, "Get a named policy", parameters=ONE_ROW),
    _define("PUT", "/v2/policies/{name}", policies.update, "Replace the definition of a named policy"),
    _define("DELETE", "/v2/policies/{name}", policies.delete, "Delete a named policy"),
    _read(
        "GET", "/v2/model", models.get, "Get the whole model, in JSON or as text",
        answer=ModelBody, parameters=ONE_ROW, answers_text=True,
    ),
    _define(
        "PUT", "/v2/model", models.put, "Replace the whole model, given in text or JSON",
        answer=ModelBody, body=ModelBody | list[TypeBody], takes_text=True, answers_text=True,
        parameters=(KEEP_EXISTING, EXPECTED_REVISION),
    ),
    _read(
        "POST", "/v2/model/plan", models.plan, "Find what writing a model would change",
        body=ModelBody | list[TypeBody], takes_text=True,
    ),
    _read(
        "POST", "/v2/model/validate", models.validate, "Find what is wrong with a model in text or JSON",
        body=ModelBody | list[TypeBody], takes_text=True, list_types=list_none,
    ),
    _read(
        "POST", "/v2/model/convert", models.convert, "Convert a model to the other form, or from OpenFGA or SpiceDB",
        answer=ModelBody, body=ModelBody | list[TypeBody], takes_text=True, answers_text=True, list_types=list_none,
        parameters=(models.ORIGIN, models.LEAVE_OUT),
    ),
    _read(
        "POST", "/v2/model/test", models.run_tests, "Run the tests of a model, given in YAML or JSON",
        body=ModelTestBody, takes_text=True,
    ),
    _write(
        "POST", "/v2/objects", objects.create, "Create an object, or 1 to 100 of them",
        list_types=list_in_body("object_type"),
    ),
    _read(
        "GET", "/v2/objects", with_openfga_names(objects.list_page), "List objects",
        parameters=_OBJECT_LIST, list_types=list_in_parameter("objectType"),
    ),
    _write(
        "DELETE", "/v2/objects", objects.delete_batch, "Delete 1 to 100 objects",
        not_found=True, list_types=list_in_body("object_type"),
    ),
    _read(
        "GET", "/v2/objects/{objectType}/{objectId}", objects.get, "Get an object",
        parameters=ONE_ROW, list_types=list_in_path("objectType"),
    ),
    *[
        _write(
            method, "/v2/objects/{objectType}/{objectId}", objects.update, "Replace the meta of an object",
            list_types=list_in_path("objectType"),
        )
        for method in ("PUT", "POST")
    ],
    _write(
        "DELETE", "/v2/objects/{objectType}/{objectId}", objects.delete, "Delete an object",
        list_types=list_in_path("objectType"),
    ),
    _write(
        "POST", "/v2/warrants", warrants.create, "Create a warrant, or 1 to 100 of them",
        list_types=list_in_body("object_type"),
    ),
    _read(
        "GET", "/v2/warrants", with_openfga_names(warrants.list_page), "List warrants",
        parameters=_WARRANT_LIST, list_types=list_in_parameter("objectType"),
    ),
    _write(
        "DELETE", "/v2/warrants", warrants.delete, "Delete a warrant, or 1 to 100 of them",
        not_found=True, list_types=list_in_body("object_type"),
    ),
    _write(
        "POST", "/v2/warrants/delete", writes.delete_matching, "Delete the warrants that match a filter",
        is_repeatable=True, list_types=list_in_filter,
    ),
    _write(
        "POST", "/v2/writes", writes.write, "Delete and create warrants and objects, all or none",
        not_found=True, may_conflict=True, list_types=list_in_write,
    ),
    _check("/v2/check", summary="Check whether subjects have relations on objects"),
    _check("/v2/authorize", summary="The same as /v2/check"),
    _read(
        "POST", "/v2/explain", with_openfga_names(explain.answer_explain), "Explain why a check is allowed or denied"
    ),
    _query(
        "GET", "/v2/query", with_openfga_names(query.list_page),
        "Find objects a subject has relations on, or subjects that have them",
        parameters=_QUERY_LIST, is_fast=True, list_types=list_in_query,
    ),
    _query(
        "POST", "/v2/query", with_openfga_names(query.list_page_of_body),
        "The same, with the parameters as members of the body",
        list_types=list_in_query_body,
    ),
    _saved(
        "GET", "/v2/saved-queries", saved_queries.list_page, "List saved queries",
        parameters=list_parameters(SAVED_QUERY_LIST),
    ),
    _saved("GET", "/v2/saved-queries/{id}", saved_queries.get, "Get a saved query"),
    _save(
        "POST", "/v2/saved-queries", saved_queries.create, "Save a query under a name, for all who use the store",
        is_repeatable=True, may_conflict=True,
    ),
    _save(
        "PATCH", "/v2/saved-queries/{id}", saved_queries.update, "Replace the name or the query of a saved query",
        may_conflict=True,
    ),
    _save("DELETE", "/v2/saved-queries/{id}", saved_queries.delete, "Delete a saved query"),
    _read(
        "GET", "/v2/difference", with_openfga_names(difference.list_page),
        "List the access that was gained and lost between two revisions",
        parameters=_DIFFERENCE_LIST, reads_past=True,
    ),
    _read(
        "POST", "/v2/difference", with_openfga_names(difference.list_page_of_proposal),
        "List the access that a proposal would change",
        not_found=True,
    ),
    Route(
        "POST", "/v2/sessions", sessions.create, "Create a token with which a user checks their own access",
        scope=Scope.CHECK, list_types=list_all, is_administrative=True,
    ),
    _record(
        "GET", "/v2/resource-events", events.list_resource_events, "List what was created, updated and deleted",
        parameters=_RESOURCE_EVENT_LIST, reads_past=True, list_types=list_in_resource_events,
    ),
    _record(
        "GET", "/v2/access-events", with_openfga_names(events.list_access_events),
        "List what was granted, revoked, allowed and denied",
        parameters=_ACCESS_EVENT_LIST, reads_past=True, list_types=list_in_parameter("objectType"),
    ),
    _record(
        "GET", "/v2/watch", watch.watch, "Follow what is written, as a stream of events",
        answer=None, parameters=_WATCH, reads_past=True, list_types=list_in_repeated("objectType"),
        stream=_WATCH_STREAM,
        takes_ticket=True,
    ),
    _record(
        "GET", "/v2/watch/access", watch.watch_access, "Follow what access is gained and lost, as a stream of events",
        answer=None, parameters=_WATCH_ACCESS, reads_past=True, list_types=list_all, stream=_WATCH_STREAM,
        takes_ticket=True,
    ),
    _record(
        "POST", "/v2/watch/tickets", watch.create_ticket, "Create a ticket with which a browser opens a stream, once",
        list_types=list_none, is_administrative=True,
    ),
    _key(
        "POST", "/v2/keys", keys.create, "Create a key with which callers use a part of the API",
        writes=True, is_repeatable=True, may_conflict=True,
    ),
    _key("GET", "/v2/keys", keys.list_page, "List keys", parameters=list_parameters(KEY_LIST)),
    _read("GET", "/v2/keys/self", keys.get_caller, "Get what the key of the request may do", list_types=list_none),
    _key("GET", "/v2/keys/{id}", keys.get, "Get a key"),
    _key("DELETE", "/v2/keys/{id}", keys.delete, "Revoke a key", writes=True),
    _key(
        "POST", "/v2/keys/{id}/rotate", keys.rotate, "Replace the secret of a key",
        writes=True, is_repeatable=True, may_lack_body=True,
    ),
    _hook(
        "POST", "/v2/webhooks", webhooks.create, "Create a webhook, to which later changes are sent",
        writes=True, is_repeatable=True, may_conflict=True,
    ),
    _hook("GET", "/v2/webhooks", webhooks.list_page, "List webhooks", parameters=list_parameters(WEBHOOK_LIST)),
    _hook("GET", "/v2/webhooks/{id}", webhooks.get, "Get a webhook"),
    _hook(
        "PATCH", "/v2/webhooks/{id}", webhooks.update, "Replace the URL or filters of a webhook, or enable it",
        writes=True, may_conflict=True,
    ),
    _hook("DELETE", "/v2/webhooks/{id}", webhooks.delete, "Delete a webhook", writes=True),
    _hook(
        "POST", "/v2/webhooks/{id}/rotate", webhooks.rotate, "Replace the secret of a webhook",
        writes=True, is_repeatable=True, may_lack_body=True,
    ),
    _hook(
        "POST", "/v2/webhooks/{id}/replay", webhooks.replay, "Send all changes after a token again",
        writes=True, is_repeatable=True, may_conflict=True, reads_past=True,
    ),
    _hook(
        "POST", "/v2/webhooks/{id}/test", webhooks.send_test, "Send a message to a webhook that is a test",
        writes=True, is_repeatable=True, may_conflict=True,
    ),
    _hook("GET", "/v2/webhooks/{id}/deliveries", webhooks.list_deliveries, "List the last attempts to deliver"),
    _operate(
        "POST", "/v2/stores", stores.create, "Create a store, with a model, warrants and keys of its own",
        writes=True, is_repeatable=True, may_conflict=True,
    ),
    _operate("GET", "/v2/stores", stores.list_page, "List stores", parameters=list_parameters(STORE_LIST, SEARCH)),
    _operate("GET", "/v2/stores/{store}", stores.get, "Get a store, by its name or id"),
    _operate(
        "PATCH", "/v2/stores/{store}", stores.update, "Replace the name, the description or the limits of a store",
        writes=True, may_conflict=True,
    ),
    _operate(
        "DELETE", "/v2/stores/{store}", stores.delete, "Delete a store, whose rows are removed in the background",
        writes=True, may_conflict=True, status=202,
    ),
    _administer(
        "GET", "/v2/backup", backups.back_up, "Back up a store: all that it has at one revision, as lines of JSON",
        answer=None, parameters=_BACKUP, stream=backups.BACKUPS, may_conflict=True,
    ),
    _administer(
        "POST", "/v2/restore", backups.restore, "Restore a backup into the store, all of it or nothing",
        body=None, parameters=_RESTORE, upload=backups.UPLOADED, writes=True, is_repeatable=True, may_conflict=True,
    ),
    _record("GET", "/v2/decisions/{id}", decisions.get, "Get a recorded decision of a check", list_types=list_all),
    _read(
        "GET", "/v2/decisions/{id}/replay", decisions.replay, "Make a recorded decision again, and explain it",
        reads_past=True,
    ),
)  # fmt: skip

FORWARD_ROUTE = Route(
    "GET", PATH, authz.answer_authz, "Check a request that a gateway passes on",
    body=None, is_fast=True, is_forward=True, scope=Scope.FORWARD, list_types=list_forwarded,
)  # fmt: skip
"""Is not in the OpenAPI document: gateways request it with any method, path and headers (docs/gateways.md)."""

ROUTES: tuple[Route, ...] = (*V2_ROUTES, *AUTHZEN_ROUTES, *v1_routes(V2_ROUTES), *FGA_ROUTES)
