"""Calls the HTTP API, as far as the command line needs it. The client never retries by itself.

Answers are JSON values as the service sent them. Every method raises ServiceUnreachable if no service of ours
answered, RequestRefused if one answered with an error, and InvalidRequest for a value that no URL can hold."""

import json
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from functools import partial
from io import SEEK_END
from itertools import repeat
from types import TracebackType
from typing import Any, BinaryIO, Literal, NotRequired, TypedDict
from urllib.parse import quote

import httpx

from magistrate.errors import AnswerTooLarge, InvalidRequest, RequestRefused, ServiceUnreachable
from magistrate.outgoing_requests import NO_FILES, ClientTlsFiles, choose_http_options, demand_service_url

Json = dict[str, Any]
Operator = Literal["anyOf", "allOf", "batch"]

OUTCOME_HEADER = "Warrant-Outcome"
TOKEN_HEADER = "Service-Token"

NDJSON = "application/x-ndjson"
MAX_LINE_BYTES = 33_554_432
"""Limits a line of a stream (32 MiB)."""
STREAM_TIMEOUT_MS = 60_000
"""Limits how long a stream may be silent; the service sends something every 15 seconds."""

STORES_PATH = "/v2/stores"
METRICS_PATH = "/metrics"
"""Begin the paths that are about the service as a whole, whatever the store."""

_COUNTED_BY_STORE = "# TYPE magistrate_store_requests_total counter"
_STORE_REQUESTS = re.compile(r'^magistrate_store_requests_total\{store="([^"]*)"\} (\S+)$', re.MULTILINE)

_WARNING = re.compile(r'[0-9]{3} [^ ]+ "([^"]*)"')
"""Matches a warning in a header (RFC 7234, section 5.5); the service writes none with quotation marks."""

PAGE_SIZE = 1_000
"""Sets the number of results in a page of a list, unless fewer are wanted: as many as the API allows."""


LONG_WAIT_SECONDS = 21_600.0
"""Limits each wait for a service that makes a backup or restores one (6 hours): either may take minutes before it
answers."""


SENT_AT_ONCE = 65_536


class SubjectJson(TypedDict):
    """Represents a subject: an object or, with a relation, the userset of all that have this relation on it."""

    objectType: str
    objectId: str
    relation: NotRequired[str]


class CheckJson(TypedDict):
    """Represents a check: whether the subject has this relation on the object."""

    objectType: str
    objectId: str
    relation: str
    subject: SubjectJson


class LimitsJson(TypedDict, total=False):
    """Represents the times between which a warrant counts, in RFC 3339."""

    startsAt: str
    expiresAt: str


class WarrantJson(CheckJson, LimitsJson):
    """Represents a warrant to write or delete."""

    policy: NotRequired[str]


class RefJson(TypedDict):
    """Represents a reference to an object, which may or may not exist."""

    objectType: str
    objectId: str


class LineStream:
    """Is an answer that the service sends line by line, for as long as it is read."""

    def __init__(
        self, url: str, response: httpx.Response, reporting: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._url = url
        self._response = response
        self._reporting = reporting

    def read_lines(self) -> Iterator[bytes]:
        """Yields each line as soon as it is there. Raises ServiceUnreachable if the connection is lost, or nothing
        comes for STREAM_TIMEOUT_MS, and AnswerTooLarge."""
        begun = bytearray()
        with self._reporting():
            for part in self._response.iter_raw():
                *complete, rest = part.split(b"\n")
                for piece in complete:
                    yield bytes(begun + piece)
                    begun.clear()
                begun += rest
                if len(begun) > MAX_LINE_BYTES:
                    raise AnswerTooLarge(self._url, f"a line is larger than {MAX_LINE_BYTES} bytes")

    def break_off(self) -> None:
        """Ends the reading in another thread."""
        connection = self._response.extensions["network_stream"].get_extra_info("socket")
        with suppress(OSError, AttributeError), socket.socket(fileno=os.dup(connection.fileno())) as ours:
            ours.shutdown(socket.SHUT_RDWR)


class Client:
    """Talks to the service at `url`; nothing is sent before the first request. `timeout_ms` limits how long
    connecting may take, and again each wait for the service. `tls` is used if the URL is https://. `warn` is called
    with each warning of an answer. `store` is the name or id of the store that is used, if it is not that of the key.

    Raises InvalidSetting if the URL cannot be that of a service, or the files of `tls` cannot be used."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        timeout_ms: int = 30_000,
        tls: ClientTlsFiles = NO_FILES,
        warn: Callable[[str], None] = lambda warning: None,
        store: str = "",
    ) -> None:
        demand_service_url(url)
        self.url = url.rstrip("/")
        self._prefix = f"/stores/{_segment(store)}" if store else ""
        self._timeout_ms = timeout_ms
        self._warn = warn
        self._http = httpx.Client(
            headers={"Authorization": f"ApiKey {key}"} if key else {},
            timeout=timeout_ms / 1000,
            **choose_http_options(self.url, tls),
        )

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def create_object_type(self, definition: Json) -> Json:
        return self._object("POST", "/v2/object-types", definition)

    def apply_object_types(self, definitions: Sequence[Json], keeps_existing: bool = False) -> list[Json]:
        """Creates the object types or replaces their definitions, all or none; stored warrants that they do not allow
        may be kept without effect."""
        query = "?keepExisting=true" if keeps_existing else ""
        return self._array("PUT", f"/v2/object-types{query}", definitions)

    def get_object_type(self, name: str, as_of: str | None = None) -> Json:
        """Returns an object type, also as of a past token or RFC 3339 time."""
        return self._object("GET", f"/v2/object-types/{_segment(name)}", parameters=_as_of(as_of))

    def delete_object_type(self, name: str) -> None:
        self._send("DELETE", f"/v2/object-types/{_segment(name)}")

    def object_types(self, page_size: int = PAGE_SIZE, as_of: str | None = None) -> Iterator[Json]:
        """Yields the object types by name, also as of a past token or RFC 3339 time; pages are requested as they are
        needed."""
        return self._list("/v2/object-types", _as_of(as_of), page_size)

    def apply_policies(self, definitions: Sequence[Json]) -> list[Json]:
        """Creates the named policies or replaces their definitions, all or none."""
        return self._array("PUT", "/v2/policies", definitions)

    def get_policy(self, name: str, as_of: str | None = None) -> Json:
        """Returns a named policy, also as of a past token or RFC 3339 time."""
        return self._object("GET", f"/v2/policies/{_segment(name)}", parameters=_as_of(as_of))

    def delete_policy(self, name: str) -> None:
        self._send("DELETE", f"/v2/policies/{_segment(name)}")

    def policies(self, page_size: int = PAGE_SIZE, as_of: str | None = None) -> Iterator[Json]:
        """Yields the named policies by name, like `object_types`."""
        return self._list("/v2/policies", _as_of(as_of), page_size)

    def get_model(self, as_of: str | None = None) -> Json:
        """Returns all object types and policies, also as of a past token or RFC 3339 time."""
        return self._object("GET", "/v2/model", parameters=_as_of(as_of))

    def read_model(self) -> tuple[Json, str]:
        """Returns all object types and policies, and the token of the state that has them."""
        response = self._request("GET", "/v2/model")
        return self._read(response), response.headers[TOKEN_HEADER]

    def read_model_text(self) -> str:
        """Returns the whole model as text."""
        response = self._request("GET", "/v2/model", headers={"Accept": "text/plain"})
        if response.status_code != 200:
            self._read(response)
        return response.text

    def send_text(self, path: str, text: str, accept: str = "") -> Json:
        """Sends a model or a file of tests, whose content says whether it is JSON, and returns the answer."""
        headers = {"Content-Type": "text/plain", **({"Accept": accept} if accept else {})}
        answer: Json = self._read(self._request("POST", path, text=text, headers=headers))
        return answer

    def put_model(self, model: Json, expected: str, keeps_existing: bool = False) -> Json:
        """Replaces the whole model, unless it has changed since the token `expected`; stored warrants that it does not
        allow may be kept without effect."""
        parameters = {"expectedRevision": expected, **({"keepExisting": "true"} if keeps_existing else {})}
        return self._object("PUT", "/v2/model", model, parameters)

    def plan_model(self, model: Json) -> tuple[Json, str]:
        """Returns what replacing the whole model would change, apart from access, and the token of the state that it
        would change."""
        response = self._request("POST", "/v2/model/plan", model)
        return self._read(response), response.headers[TOKEN_HEADER]

    def create_object(self, object_type: str, object_id: str | None, meta: Json | None) -> Json:
        """Creates an object; without an id, the service generates one."""
        body = {"objectType": object_type, "objectId": object_id, "meta": meta}
        return self._object("POST", "/v2/objects", body)

    def get_object(self, ref: RefJson, as_of: str | None = None) -> Json:
        """Returns an object, also as of a past token or RFC 3339 time."""
        return self._object("GET", _path(ref), parameters=_as_of(as_of))

    def update_object(self, ref: RefJson, meta: Json) -> Json:
        return self._object("PUT", _path(ref), {"meta": meta})

    def delete_objects(self, refs: Sequence[RefJson]) -> None:
        """Deletes all of the objects or none."""
        self._send("DELETE", "/v2/objects", refs)

    def objects(self, filters: Mapping[str, str], page_size: int = PAGE_SIZE) -> Iterator[Json]:
        """Yields the objects by id; pages are requested as they are needed. `filters` are query parameters:
        objectType, q, asOf."""
        return self._list("/v2/objects", filters, page_size)

    def create_warrants(self, warrants: Sequence[WarrantJson]) -> tuple[list[Json], list[str]]:
        """Creates all of the warrants or none. Returns one answer for each, in the same order, and its outcome:
        created, updated (it existed with other time limits, or had run out) or unchanged."""
        response = self._request("POST", "/v2/warrants", warrants)
        return self._read(response), response.headers[OUTCOME_HEADER].split(", ")

    def delete_warrants(self, warrants: Sequence[WarrantJson]) -> None:
        """Deletes all of the warrants or none."""
        self._send("DELETE", "/v2/warrants", warrants)

    def delete_matching_warrants(self, only: Mapping[str, str], limit: int, dry_run: bool = False) -> Json:
        """Deletes up to `limit` of the warrants that have all these values, or counts them with `dry_run`. `only` has
        members of the filter of the API. Returns `deleted`, and whether there are `more`."""
        return self._object("POST", "/v2/warrants/delete", {"filter": only, "limit": limit, "dryRun": dry_run})

    def write(self, change: Json) -> Json:
        """Deletes and creates warrants and objects, all or nothing, if the preconditions hold. `change` is the body of
        the API. Returns how many were `created`, `deleted` and `unchanged`."""
        return self._object("POST", "/v2/writes", change)

    def warrants(self, filters: Mapping[str, str], page_size: int = PAGE_SIZE) -> Iterator[Json]:
        """Yields the warrants in the order of creation; pages are requested as they are needed. `filters` are query
        parameters."""
        return self._list("/v2/warrants", filters, page_size)

    def events(self, path: str, filters: Mapping[str, str], page_size: int = PAGE_SIZE) -> Iterator[Json]:
        """Yields the events of a list, /v2/resource-events or /v2/access-events, the newest first; with `after`, those
        that are there now, the oldest first. `filters` are query parameters."""
        for page in self._pages(path, filters, repeat(page_size)):
            if not page["results"]:
                return  # with `after`, there is a cursor nevertheless
            yield from page["results"]

    def create_session(self, session: Json) -> str:
        """Returns the token of a new session."""
        token: str = self._object("POST", "/v2/sessions", session)["token"]
        return token

    def get_caller(self) -> Json:
        """Returns the name and the scopes of the key."""
        return self._object("GET", "/v2/keys/self")

    def create_key(self, key: Json) -> Json:
        """Creates a key: `name`, `scopes`, and perhaps `objectTypes` and `expiresAt`. Returns it with its secret as
        `key`."""
        return self._object("POST", "/v2/keys", key)

    def api_keys(self, page_size: int = PAGE_SIZE) -> Iterator[Json]:
        """Yields the keys in the order of creation; pages are requested as they are needed."""
        return self._list("/v2/keys", {}, page_size)

    def delete_key(self, key_id: str) -> None:
        self._send("DELETE", f"/v2/keys/{_segment(key_id)}")

    def rotate_key(self, key_id: str, grace_seconds: int = 0) -> Json:
        """Replaces the secret of a key, and returns the key with the new one. The old one stays valid for
        `grace_seconds`."""
        return self._object("POST", f"/v2/keys/{_segment(key_id)}/rotate", {"graceSeconds": grace_seconds})

    def create_webhook(self, webhook: Json) -> Json:
        """Creates a webhook: `url`, and perhaps filters, `description` and `enabled`. Returns it with its `secret`."""
        return self._object("POST", "/v2/webhooks", webhook)

    def get_webhook(self, webhook: str) -> Json:
        return self._object("GET", f"/v2/webhooks/{_segment(webhook)}")

    def webhooks(self, page_size: int = PAGE_SIZE) -> Iterator[Json]:
        """Yields the webhooks in the order of creation; pages are requested as they are needed."""
        return self._list("/v2/webhooks", {}, page_size)

    def update_webhook(self, webhook: str, change: Json) -> Json:
        return self._object("PATCH", f"/v2/webhooks/{_segment(webhook)}", change)

    def delete_webhook(self, webhook: str) -> None:
        self._send("DELETE", f"/v2/webhooks/{_segment(webhook)}")

    def rotate_webhook(self, webhook: str) -> Json:
        """Replaces the secret of a webhook, and returns the webhook with the new one."""
        return self._object("POST", f"/v2/webhooks/{_segment(webhook)}/rotate", {})

    def replay_webhook(self, webhook: str, since: str) -> Json:
        return self._object("POST", f"/v2/webhooks/{_segment(webhook)}/replay", {"since": since})

    def test_webhook(self, webhook: str) -> Json:
        """Sends a message that is a test, and returns the attempt."""
        return self._object("POST", f"/v2/webhooks/{_segment(webhook)}/test")

    def webhook_deliveries(self, webhook: str) -> list[Json]:
        """Returns the last attempts to deliver to a webhook, the newest first."""
        listed: list[Json] = self._object("GET", f"/v2/webhooks/{_segment(webhook)}/deliveries")["results"]
        return listed

    def create_store(self, store: Json) -> Json:
        """Creates a store: `name`, and perhaps `description`, `limits` and `from`."""
        return self._object("POST", STORES_PATH, store)

    def get_store(self, named: str) -> Json:
        """Returns the store with this name or id."""
        return self._object("GET", f"{STORES_PATH}/{_segment(named)}")

    def stores(self, filters: Mapping[str, str], page_size: int = PAGE_SIZE) -> Iterator[Json]:
        """Yields the stores by name; pages are requested as they are needed. `filters` are query parameters: q."""
        return self._list(STORES_PATH, filters, page_size)

    def update_store(self, named: str, change: Json) -> Json:
        """Replaces members of a store as a whole: `name`, `description`, `limits`."""
        return self._object("PATCH", f"{STORES_PATH}/{_segment(named)}", change)

    def delete_store(self, named: str) -> None:
        self._send("DELETE", f"{STORES_PATH}/{_segment(named)}")

    def count_store_requests(self) -> dict[str, int] | None:
        """Returns how many requests the service has answered about each store, by its name, or None if it does not
        count them by store."""
        response = self._request("GET", METRICS_PATH)
        if response.status_code != 200:
            self._read(response)
        if _COUNTED_BY_STORE not in response.text:
            return None
        return {name: int(float(number)) for name, number in _STORE_REQUESTS.findall(response.text)}

    def of_store(self, named: str) -> "Client":
        """Returns a client of the store with this name or id, which uses the same connections."""
        client = copy(self)
        client._prefix = f"/stores/{_segment(named)}"
        return client

    @contextmanager
    def back_up(self, parameters: Mapping[str, str]) -> Iterator[Iterator[bytes]]:
        """Yields the lines of a backup in pieces, as they arrive. `parameters` are query parameters: asOf, withKeys."""
        timeout = httpx.Timeout(self._timeout_ms / 1000, read=LONG_WAIT_SECONDS)
        url = f"{self.url}{self._prefix}/v2/backup"
        streaming = self._http.stream("GET", url, params=parameters, timeout=timeout)
        with self._reporting_unreachable(), streaming as response:
            if response.status_code != 200:
                response.read()
                self._read(response)
            yield self._read_pieces(response)

    def restore(self, file: BinaryIO, parameters: Mapping[str, str]) -> list[Json]:
        """Restores the backup in a file, and returns the stores that were restored. `parameters` are query parameters:
        replace, verify."""
        timeout = httpx.Timeout(self._timeout_ms / 1000, read=LONG_WAIT_SECONDS)
        headers = {"Content-Length": str(file.seek(0, SEEK_END))}
        file.seek(0)
        pieces = iter(partial(file.read, SENT_AT_ONCE), b"")
        url = f"{self.url}{self._prefix}/v2/restore"
        with self._reporting_unreachable():
            response = self._http.post(url, params=parameters, content=pieces, headers=headers, timeout=timeout)
        restored: list[Json] = self._read(response)["stores"]
        return restored

    def _read_pieces(self, response: httpx.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_raw()
        except httpx.RemoteProtocolError as error:
            raise ServiceUnreachable(self.url, "it ended the backup before it was complete; see its log") from error

    def check(
        self,
        checks: Sequence[CheckJson],
        op: Operator | None,
        context: Json,
        debug: bool,
        strict: bool = False,
        contextual_warrants: Sequence[WarrantJson] = (),
        as_of: str | None = None,
    ) -> Any:
        """Returns one answer, or an array of them in the order of the checks if `op` is "batch"; also as of a past
        token or RFC 3339 time. The contextual warrants count as if they were written, for these checks alone."""
        body = {"warrants": checks, "op": op, "context": context, "debug": debug, "strict": strict}
        return self._send("POST", "/v2/check", body | _contextual_member(contextual_warrants) | _as_of(as_of))

    def explain(
        self,
        check: CheckJson,
        context: Json,
        strict: bool = False,
        contextual_warrants: Sequence[WarrantJson] = (),
        as_of: str | None = None,
    ) -> Json:
        """Returns why a check is allowed or denied, and what would allow it; options as in `check`."""
        body = {**check, "context": context, "strict": strict}
        return self._object("POST", "/v2/explain", body | _contextual_member(contextual_warrants) | _as_of(as_of))

    def get_decision(self, decision_id: str) -> Json:
        """Returns a recorded decision; `id` is that of its access event."""
        return self._object("GET", f"/v2/decisions/{_segment(decision_id)}")

    def replay_decision(self, decision_id: str) -> Json:
        """Makes a recorded decision again as of its time. Returns the record, whether it `agrees`, and why."""
        return self._object("GET", f"/v2/decisions/{_segment(decision_id)}/replay")

    def query(
        self,
        parameters: Mapping[str, str],
        page_sizes: Iterable[int],
        contextual_warrants: Sequence[WarrantJson] = (),
    ) -> Iterator[Json]:
        """Yields whole pages with their cursors, one of each size until there are no more rows; they are requested as
        they are needed. `parameters` are query parameters: q, context, sortBy, sortOrder, asOf, strict,
        total."""
        if not contextual_warrants:
            return self._pages("/v2/query", parameters, page_sizes)
        body = {
            **parameters,
            "context": json.loads(parameters.get("context") or "{}"),
            "strict": parameters.get("strict") == "true",
            "total": parameters.get("total") == "true",
        }
        return self._pages("/v2/query", body | _contextual_member(contextual_warrants), page_sizes, "POST")

    def difference(self, parameters: Mapping[str, str], page_sizes: Iterable[int]) -> Iterator[Json]:
        """Yields pages of the access that was gained and lost between two revisions, like `query`. `parameters` are
        query parameters: from, to, of, subject, object, q."""
        return self._pages("/v2/difference", parameters, page_sizes)

    def compare_proposal(
        self, proposal: Json, parameters: Mapping[str, str], page_sizes: Iterable[int]
    ) -> Iterator[Json]:
        """Yields pages of the access that a proposal would change: of, subject, object and q narrow it."""
        return self._pages("/v2/difference", {"proposal": proposal, **parameters}, page_sizes, "POST")

    @contextmanager
    def open_stream(self, path: str, parameters: Mapping[str, str | Sequence[str]]) -> Iterator[LineStream]:
        """Yields an answer that consists of lines of JSON; a parameter with several values is repeated. `break_off` may
        be called in another thread."""
        headers = {"Accept": NDJSON, "Accept-Encoding": "identity"}
        timeout = httpx.Timeout(self._timeout_ms / 1000, read=STREAM_TIMEOUT_MS / 1000)
        url = self.url + self._prefix + path
        streaming = self._http.stream("GET", url, params=parameters, headers=headers, timeout=timeout)
        with self._reporting_unreachable(), streaming as response:
            if response.status_code != 200:
                response.read()
                self._read(response)
            if response.headers.get("Content-Type", "").partition(";")[0] != NDJSON:
                raise self._build_wrong_server_error(response)
            yield LineStream(self.url, response, partial(self._reporting_unreachable, STREAM_TIMEOUT_MS))

    def _list(self, path: str, filters: Mapping[str, str], page_size: int) -> Iterator[Json]:
        for page in self._pages(path, filters, repeat(page_size)):
            yield from page["results"]

    def _pages(
        self, path: str, parameters: Mapping[str, Any], page_sizes: Iterable[int], method: str = "GET"
    ) -> Iterator[Json]:
        """Yields pages, one of each size. With POST, the parameters are in the body, which may be longer than a URL."""
        cursor: Json = {}
        for page_size in page_sizes:
            sent = {**parameters, **cursor, "limit": page_size}
            page = self._object(method, path, **({"body": sent} if method == "POST" else {"parameters": sent}))
            yield page
            if "nextCursor" not in page:
                return
            cursor = {"nextCursor": page["nextCursor"]}

    def _object(self, method: str, path: str, body: object = None, parameters: Mapping[str, Any] | None = None) -> Json:
        answer: Json = self._send(method, path, body, parameters)
        return answer

    def _array(self, method: str, path: str, body: object) -> list[Json]:
        answer: list[Json] = self._send(method, path, body)
        return answer

    def _send(self, method: str, path: str, body: object = None, parameters: Mapping[str, Any] | None = None) -> Any:
        return self._read(self._request(method, path, body, parameters))

    def _request(
        self,
        method: str,
        path: str,
        body: object = None,
        parameters: Mapping[str, Any] | None = None,
        text: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        written = text if body is None else json.dumps(body)
        content = None if written is None else written.encode()
        url = self.url + (path if path.startswith((STORES_PATH, METRICS_PATH)) else self._prefix + path)
        with self._reporting_unreachable():
            return self._http.request(method, url, content=content, params=parameters, headers=headers)

    @contextmanager
    def _reporting_unreachable(self, timeout_ms: int = 0) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException as error:
            raise ServiceUnreachable(self.url, f"no answer within {timeout_ms or self._timeout_ms} ms") from error
        except httpx.InvalidURL as error:
            raise InvalidRequest("the query is too long to be sent: it has to fit into a URL") from error
        except httpx.RequestError as error:
            raise ServiceUnreachable(self.url, str(error) or type(error).__name__) from error

    def _read(self, response: httpx.Response) -> Any:
        """Returns the JSON value of an answer, or None if it is empty."""
        try:
            value = json.loads(response.content) if response.content else None
        except ValueError:
            raise self._build_wrong_server_error(response) from None
        if response.status_code in (200, 202):
            for warning in _WARNING.findall(response.headers.get("Warning", "")):
                self._warn(warning)
            return value
        if not isinstance(value, dict) or not {"code", "message"} <= value.keys():
            raise self._build_wrong_server_error(response)
        request_id = response.headers.get("Warrant-Request-Id")
        raise RequestRefused(response.status_code, value["code"], value["message"], value.get("parameter"), request_id)

    def _build_wrong_server_error(self, response: httpx.Response) -> ServiceUnreachable:
        return ServiceUnreachable(self.url, f"what answers there, with status {response.status_code}, is no Magistrate")


def _contextual_member(contextual_warrants: Sequence[WarrantJson]) -> Json:
    return {"contextualWarrants": contextual_warrants} if contextual_warrants else {}


def _as_of(point: str | None) -> dict[str, str]:
    """Returns the parameter for the state at this point in time, or none."""
    return {} if point is None else {"asOf": point}


def _path(ref: RefJson) -> str:
    return f"/v2/objects/{_segment(ref['objectType'])}/{_segment(ref['objectId'])}"


def _segment(text: str) -> str:
    """Returns the text quoted as a path segment; an id of dots only would otherwise be read as a folder."""
    return quote(text, safe="").replace(".", "%2E")
