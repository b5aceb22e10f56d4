"""Builds the requests of calls from their arguments. Raises InvalidUse for arguments that no request can be made of."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Union
from urllib.parse import quote, urlencode

from magistrate_client.attempts import Repeat
from magistrate_client.errors import InvalidUse
from magistrate_client.http_messages import Request
from magistrate_client.refs import (
    AnyElement,
    AnyObject,
    AnySubject,
    AnyWarrant,
    Json,
    Object,
    ObjectRef,
    Warrant,
    render_object,
    render_subject,
    render_time,
    render_warrant,
)

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

CHECKS_IN_REQUEST = 1_000
"""Sets how many checks are sent in one request: as many as the service takes."""
PAGE_SIZE = 1_000

NDJSON = "application/x-ndjson"
COMPRESSED: tuple[str, str] = ("Accept-Encoding", "gzip")

Context = Mapping[str, Any]
AsOf = Union[str, datetime]
Triple = tuple[AnySubject, str, AnyObject]
Precondition = Mapping[str, AnyElement]
"""Is `{"exists": …}` or `{"absent": …}` with a warrant or an object, or `{"revision": token}`."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PRECONDITIONS = ("exists", "absent", "revision")


class Call(NamedTuple):
    """Holds a request, whether it reads, and whether it may be sent again."""

    request: Request
    reads: bool = True
    repeat: Repeat = Repeat.ALWAYS
    idempotency_key: str | None = None
    media_type: str = "application/json"


def render_check(subject: AnySubject, relation: str, object: AnyObject) -> Json:
    """Returns the members of a check."""
    return {**render_object(object), "relation": relation, "subject": render_subject(subject)}


def render_options(
    context: Context | None, with_: Iterable[AnyWarrant], as_of: AsOf | None, strict: bool | None
) -> Json:
    """Returns the members that checks, explanations and queries have in common. Contextual warrants are the last
    member, which makes a check answer soonest."""
    options: Json = {}
    if context:
        options["context"] = context
    if as_of is not None:
        options["asOf"] = render_as_of(as_of)
    if strict is not None:
        options["strict"] = strict
    contextual = [render_warrant(warrant) for warrant in with_]
    if contextual:
        options["contextualWarrants"] = contextual
    return options


def render_as_of(as_of: AsOf) -> str:
    return as_of if isinstance(as_of, str) else render_time(as_of)


def build_check(prefix: str, check: Json, options: Json) -> Call:
    return Call(Request("POST", f"{prefix}/v2/check", encode({"warrants": [check], **options})))


def build_checks(prefix: str, checks: Sequence[Json], options: Json) -> Call:
    return Call(Request("POST", f"{prefix}/v2/check", encode({"op": "batch", "warrants": checks, **options})))


def build_explain(prefix: str, check: Json, options: Json) -> Call:
    return Call(Request("POST", f"{prefix}/v2/explain", encode({**check, **options})))


def build_query(prefix: str, query: str, options: Json, page_size: int, cursor: str | None) -> Call:
    body = {"q": query, "limit": page_size, **_cursor(cursor), **options}
    return Call(Request("POST", f"{prefix}/v2/query", encode(body), (COMPRESSED,)))


def render_objects_query(subject: AnySubject, relation: str, type: str) -> str:
    """Returns the query for objects of a type on which a subject has a relation."""
    return f"select {_type(type)} where {_quote(render_subject(subject))} is {_name(relation)}"


def render_subjects_query(object: AnyObject, relation: str, type: str) -> str:
    """Returns the query for subjects of a type, or groups such as `team#member`, that have a relation on an object."""
    return f"select {_name(relation)} of type {_type(type)} for {_quote(render_object(object))}"


def build_objects(prefix: str, type: str, as_of: str, page_size: int, cursor: str | None) -> Call:
    """Returns the request for a page of the objects of a type that existed as of a token."""
    parameters = {"objectType": _name(type), "asOf": as_of, "limit": page_size, **_cursor(cursor)}
    return Call(Request("GET", f"{prefix}/v2/objects?{_encode_parameters(parameters)}", None, (COMPRESSED,)))


def build_warrants(
    prefix: str, filters: Mapping[str, str | None], as_of: AsOf | None, page_size: int, cursor: str | None
) -> Call:
    parameters: Json = {name: value for name, value in filters.items() if value is not None}
    if as_of is not None:
        parameters["asOf"] = render_as_of(as_of)
    parameters = {**parameters, "limit": page_size, "snapshot": "true", **_cursor(cursor)}
    return Call(Request("GET", f"{prefix}/v2/warrants?{_encode_parameters(parameters)}", None, (COMPRESSED,)))


def build_write(
    prefix: str,
    create: Iterable[AnyElement],
    delete: Iterable[AnyElement],
    preconditions: Iterable[Precondition],
    idempotency_key: str | None,
) -> Call:
    """Returns the request of a write, with an idempotency key that is made here unless there is one."""
    body: Json = {}
    rendered = [_render_precondition(precondition) for precondition in preconditions]
    if rendered:
        body["preconditions"] = rendered
    for name, elements in (("delete", delete), ("create", create)):
        if members := _render_elements(elements):
            body[name] = members
    key = idempotency_key or os.urandom(16).hex()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidUse("an idempotency key has printable ASCII characters and no blanks")
    request = Request("POST", f"{prefix}/v2/writes", encode(body), (("Idempotency-Key", key),))
    return Call(request, reads=False, idempotency_key=key)


def build_model(prefix: str, as_of: AsOf | None) -> Call:
    query = "" if as_of is None else f"?{_encode_parameters({'asOf': render_as_of(as_of)})}"
    headers = (("Accept", "text/plain"), COMPRESSED)
    return Call(Request("GET", f"{prefix}/v2/model{query}", None, headers), media_type="text/plain")


def build_write_model(prefix: str, text: str, expected: str | None, keep_existing: bool) -> Call:
    """Returns the request that replaces the model. It is not sent again if it may have been made: somebody else may
    have replaced the model since."""
    parameters = {"expectedRevision": expected, "keepExisting": "true" if keep_existing else None}
    given = {name: value for name, value in parameters.items() if value is not None}
    query = f"?{_encode_parameters(given)}" if given else ""
    headers = (("Accept", "text/plain"), COMPRESSED)
    request = Request("PUT", f"{prefix}/v2/model{query}", _encode_text(text), headers)
    return Call(request, reads=False, repeat=Repeat.UNSENT, media_type="text/plain")


def build_difference(prefix: str, parameters: Json, page_size: int, cursor: str | None) -> Call:
    """Returns the request for a page of a difference: between two revisions, or that a proposal would make."""
    sent = {**parameters, "limit": page_size, **_cursor(cursor)}
    if "proposal" in parameters:
        return Call(Request("POST", f"{prefix}/v2/difference", encode(sent), (COMPRESSED,)))
    return Call(Request("GET", f"{prefix}/v2/difference?{_encode_parameters(sent)}", None, (COMPRESSED,)))


def render_difference(
    from_: AsOf | None,
    to: AsOf | None,
    create: Iterable[AnyWarrant],
    delete: Iterable[AnyWarrant],
    of: Iterable[str],
    subject: AnySubject | None,
    object: AnyObject | None,
) -> Json:
    """Returns the parameters of a difference."""
    proposal = {
        name: warrants
        for name, given in (("delete", delete), ("create", create))
        if (warrants := [render_warrant(warrant) for warrant in given])
    }
    if (from_ is None) == (not proposal):
        raise InvalidUse("a difference is either from a revision, or of a proposal to create or delete warrants")
    parameters: Json = {"proposal": proposal} if from_ is None else {"from": render_as_of(from_)}
    if to is not None:
        if from_ is None:
            raise InvalidUse("the difference that a proposal would make has no `to`")
        parameters["to"] = render_as_of(to)
    return {**parameters, **_render_selection(of, subject, object)}


def build_watch(
    prefix: str, path: str, parameters: Sequence[tuple[str, str]], position: str | None, snapshot: bool
) -> Call:
    """Returns the request of a feed, from a position on, or with all that there is before."""
    sent = [*parameters]
    if position is not None:
        sent.append(("since", position))
    elif snapshot:
        sent.append(("snapshot", "true"))
    query = f"?{urlencode(sent)}" if sent else ""
    return Call(Request("GET", f"{prefix}{path}{query}", None, (("Accept", NDJSON),)), media_type=NDJSON)


def render_access_selection(
    of: Iterable[str], subject: AnySubject | None, object: AnyObject | None
) -> list[tuple[str, str]]:
    """Returns the parameters that select access."""
    return [*_render_selection(of, subject, object).items()]


def _render_selection(of: Iterable[str], subject: AnySubject | None, object: AnyObject | None) -> Json:
    if isinstance(of, str):
        of = (of,)
    selection = {"of": ",".join(of)}
    if subject is not None:
        render_subject(subject)
        selection["subject"] = str(subject)
    if object is not None:
        render_object(object)
        selection["object"] = str(object)
    return {name: value for name, value in selection.items() if value}


def _render_precondition(precondition: Precondition) -> Json:
    if len(precondition) != 1 or next(iter(precondition)) not in _PRECONDITIONS:
        raise InvalidUse('a precondition is {"exists": …}, {"absent": …} or {"revision": token}')
    [(kind, value)] = precondition.items()
    if kind == "revision":
        return {kind: str(value)}
    return {kind: render_warrant(value) if _is_warrant(value) else render_object(_ref(value))}


def _render_elements(elements: Iterable[AnyElement]) -> Json:
    """Returns the warrants and the objects of elements, in their order."""
    if isinstance(elements, str):
        raise InvalidUse("create and delete are lists of warrants and objects, and not a single text")
    members: Json = {}
    for element in elements:
        if _is_warrant(element):
            members.setdefault("warrants", []).append(render_warrant(element))
            continue
        body = render_object(_ref(element))
        if isinstance(element, Object) and element.meta is not None:
            body["meta"] = element.meta
        members.setdefault("objects", []).append(body)
    return members


def _is_warrant(element: AnyElement) -> TypeGuard[AnyWarrant]:
    return isinstance(element, Warrant) or (isinstance(element, str) and "#" in element)


def _ref(element: AnyElement) -> AnyObject:
    if isinstance(element, Object):
        return element.ref
    if isinstance(element, (str, ObjectRef)):
        return element
    raise InvalidUse(f"{element} is no object")


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise InvalidUse(f"{text!r} is no name of a type or relation")
    return text


def _type(text: str) -> str:
    kind, hash_sign, relation = text.partition("#")
    return f"{_name(kind)}#{_name(relation)}" if hash_sign else _name(kind)


def _quote(ref: Json) -> str:
    """Returns an object or subject as queries have it: in quotation marks, because an id may have a comma."""
    if "relation" in ref:
        raise InvalidUse("a query is about a subject that is no group; groups can be its results")
    if '"' in ref["objectId"]:
        raise InvalidUse("no id has a quotation mark")
    return f'{_name(ref["objectType"])}:"{ref["objectId"]}"'


def _cursor(cursor: str | None) -> Json:
    return {} if cursor is None else {"nextCursor": cursor}


def encode(value: Json) -> bytes:
    """Returns a body. Raises InvalidUse for what JSON cannot say."""
    try:
        return _ENCODER.encode(value).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidUse(f"the arguments cannot be sent as JSON: {error}") from error


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _encode_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidUse("the text has a character that cannot be sent") from error


def _encode_parameters(parameters: Json) -> str:
    try:
        return urlencode(parameters, quote_via=quote)
    except UnicodeEncodeError as error:
        raise InvalidUse("the text has a character that cannot be sent") from error
