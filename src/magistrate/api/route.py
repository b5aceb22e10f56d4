"""Defines the rows of the table of routes, and the query parameters that lists have in common."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from magistrate.api.calls import Call, Handler
from magistrate.api.http.body_cache import AnyLastMember
from magistrate.api.http.streams import StreamKind
from magistrate.api.http.unknown_members import WARRANT_PARAMETERS, find_misspelled, list_ours
from magistrate.api.http.uploads import UploadKind
from magistrate.api.used_types import ListTypes
from magistrate.engine.names import suggest_name
from magistrate.errors import InvalidParameter
from magistrate.operations.history.points_in_time import AS_OF
from magistrate.operations.keys.callers import Scope
from magistrate.operations.paging import DEFAULT_LIMIT, MAX_LIMIT, MAX_SEARCH_LENGTH, ListKind


@dataclass(frozen=True, slots=True)
class Parameter:
    """Represents a query parameter as the OpenAPI document describes it."""

    name: str
    meaning: str
    schema: dict[str, object]


FROM_HANDLER: Any = object()


def read_annotation(handler: Handler[Any], name: str) -> Any:
    """Returns the type that an annotation of a handler names: of `call` that of the body, of `return` that of the value
    of the answer. None if there is no such value, or the annotation does not say its type."""
    hint = get_type_hints(handler).get(name)
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    named = {argument for option in options for argument in get_args(option)} - {Any, NoneType}
    [only] = named or {None}
    return only


@dataclass(frozen=True, slots=True)
class Route:
    """Represents a route. `body` is the type of the request body, None if it is ignored, and `answer` that of the 200
    body, None if it is empty: unless they are given, those that the annotations of the handler name. `typed_body`, if
    there is one, is decoded at a lower cost, and bodies in which a member is not of its types are decoded as `body`.
    `last_member` is one that the fast path keeps apart from others (see api/http/body_cache.py). Callers need the
    `scope`; those that are limited to some object types may send requests that use none but these, by `list_types`.

    `writes`: the answer carries a token of its own, and a POST may carry an Idempotency-Key; otherwise the request may
    carry a token. `not_found`: the route answers 404 for things that the query string or the body names, not only for
    those in the path. `is_fast`: the handler returns an Answer where it need not wait, and requests may take the fast
    path (see api/http/fast_path.py). `takes_bearer`: a bearer token is accepted as well as a key. `takes_ticket`: so is
    a ticket in the query string. `is_typed`: the answer has a Content-Type, even if it is empty. `may_conflict`: the
    route answers 409 if what is stored stands in the way. `is_repeatable`: it is safe to send again as it is, so it
    takes no Idempotency-Key. `may_lack_body`: an empty body means `{}`. `takes_text`: the body may also be text, and
    the handler gets a WrittenBody. `answers_text`: the answer may also be text. `is_administrative`: the audit log has
    its requests as those that give rights to callers. `reads_past`: the route reads a past state that the request names
    without `asOf`. `needs_json_type`: the body must be declared as JSON by Content-Type. `echoes_id`: the header
    X-Request-ID comes back. `is_forward`: gateways request it with any method, and with paths below its own.
    `stream`: the value of the answer is a Stream of this kind. `upload`: the body is received
    into a file. `status` is that of successful answers. Callers with the scope `also_for` need no other."""

    method: str
    path: str
    handler: Handler[Any]
    summary: str
    answer: Any = FROM_HANDLER
    body: Any = FROM_HANDLER
    typed_body: Any = None
    last_member: AnyLastMember | None = None
    writes: bool = False
    not_found: bool = False
    parameters: tuple[Parameter, ...] = ()
    is_fast: bool = False
    takes_bearer: bool = False
    takes_ticket: bool = False
    is_typed: bool = True
    may_conflict: bool = False
    is_repeatable: bool = False
    may_lack_body: bool = False
    takes_text: bool = False
    answers_text: bool = False
    reads_past: bool = False
    is_administrative: bool = False
    needs_json_type: bool = False
    echoes_id: bool = False
    is_forward: bool = False
    stream: StreamKind | None = None
    upload: UploadKind | None = None
    status: int = 200
    also_for: Scope | None = None
    scope: Scope = field(kw_only=True)
    list_types: ListTypes = field(kw_only=True)

    def __post_init__(self) -> None:
        for member, annotation in (("body", "call"), ("answer", "return")):
            if getattr(self, member) is FROM_HANDLER:
                object.__setattr__(self, member, read_annotation(self.handler, annotation))

    def check_parameters(self, call: Call[Any]) -> None:
        """Raises InvalidParameter for a query parameter that the route does not know, if it is a misspelled one of
        ours or a member of the body, or if the request is strict."""
        names = [parameter.name for parameter in self.parameters]
        unknown = [name for name in call.parameters if name not in names and not (name == STRICT and self.takes_strict)]
        if not unknown:
            return
        is_strict = bool(self.parameters) and not self.writes and call.is_strict
        for name in unknown:
            fault = f"is no parameter of {self.path}"
            if name in self._list_own_members():
                raise InvalidParameter(name, f"{fault}; it is a member of the body")
            if nearest := find_misspelled(name, self._list_own_names()):
                raise InvalidParameter(name, f"{fault}; did you mean {nearest}?")
            if is_strict:
                raise InvalidParameter(name, f"{fault}{suggest_name(name, names)}")

    def _list_own_names(self) -> Sequence[str]:
        """Returns the query parameters that are ours alone, and such members of the body, in alphabetical order."""
        if self.path.startswith(("/fga/", "/access/", "/stores")):
            return ()
        names = {parameter.name for parameter in self.parameters} | {*self._list_own_members()}
        return sorted(names - WARRANT_PARAMETERS)

    def _list_own_members(self) -> Sequence[str]:
        """Returns the members of the body that are ours alone, if it is that of a read."""
        return sorted({*list_ours(self.body)} - WARRANT_PARAMETERS) if self.takes_strict else ()

    @property
    def takes_key(self) -> bool:
        """Returns whether an Idempotency-Key has an effect."""
        return self.writes and self.method == "POST" and not self.is_repeatable

    @property
    def takes_as_of(self) -> bool:
        """Returns whether requests can request the state at a past point in time."""
        return AS_OF_PARAMETER in self.parameters or hasattr(self.body, "as_of")

    @property
    def takes_strict(self) -> bool:
        """Returns whether the body can say that undefined names are errors; unknown members are as well then."""
        return hasattr(self.body, STRICT)

    @property
    def takes_if_match(self) -> bool:
        """Returns whether requests can demand that the model is the one that they know."""
        return EXPECTED_REVISION in self.parameters


TEXT: dict[str, object] = {"type": "string"}
FALSE_BY_DEFAULT: dict[str, object] = {"type": "boolean", "default": False}
SEARCH = Parameter(
    "q", "a text that must occur, the case of ASCII letters ignored", TEXT | {"maxLength": MAX_SEARCH_LENGTH}
)


_SNAPSHOT = Parameter(
    "snapshot",
    "whether all pages that cursors lead to show what there was at the first, however others write",
    FALSE_BY_DEFAULT,
)


STRICT = "strict"
_STRICT = Parameter(
    STRICT,
    "whether types, relations and parameters that do not exist are errors; the setting `strict` is the default",
    {"type": "boolean"},
)


AS_OF_PARAMETER = Parameter(
    AS_OF,
    "a token, the `id` of an event, or a time in RFC 3339: the answer is as of it, on all pages that cursors lead to",
    TEXT,
)
EXPECTED_REVISION = Parameter(
    "expectedRevision",
    "a token, as in the header If-Match: the model must not have changed since then, otherwise the answer is 412",
    TEXT,
)
ONE_ROW = (AS_OF_PARAMETER, _STRICT)
"""Lists the parameters of a read of one row."""


V1_PARAMETERS = (
    Parameter("afterId", "the id of the row that the page begins behind", TEXT),
    Parameter("afterValue", "what the list is sorted by in that row; absent: null", TEXT),
    Parameter("beforeId", "the id of the row that the page ends before", TEXT),
    Parameter("beforeValue", "what the list is sorted by in that row; absent: null", TEXT),
)


def list_parameters(kind: ListKind[Any], *filters: Parameter) -> tuple[Parameter, ...]:
    return (
        *filters,
        Parameter(
            "limit",
            "how many results a page has at most",
            {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        ),
        Parameter(
            "sortBy",
            "what the results are sorted by",
            TEXT | {"enum": list(kind.sorts), "default": next(iter(kind.sorts))},
        ),
        *([_SNAPSHOT] if kind.takes_snapshot else []),
        Parameter("sortOrder", "in which direction", TEXT | {"enum": ["ASC", "DESC"], "default": kind.default_order}),
        _STRICT,
        Parameter("nextCursor", "where the page begins: `nextCursor` of the page before it", TEXT),
        Parameter("prevCursor", "where the page ends: `prevCursor` of the page after it", TEXT),
    )
