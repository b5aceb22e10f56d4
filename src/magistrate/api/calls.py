"""Defines the parts of a running service, and the values that one call carries."""

from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from magistrate.api.auth.bearer import Bearers
from magistrate.api.auth.callers import Holder, KeyRing
from magistrate.api.auth.forwarding import ForwardRules
from magistrate.api.http.admission import Admissions
from magistrate.api.http.json_values import AnswerMemory, render_in_steps
from magistrate.api.http.rate_limits import RateLimit, StoreRates
from magistrate.api.http.request_values import read_boolean
from magistrate.engine.forwarding.rules import Resolution
from magistrate.engine.names import Revision
from magistrate.operations.checks.decision_log import UNKNOWN, RequestOrigin
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AS_OF, AsOf, read_as_of
from magistrate.operations.keys.callers import Caller
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.store.contract.new_rows import Once, Stamp

A_co = TypeVar("A_co", covariant=True)
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Limits:
    """Holds the limits in bytes, levels of nesting and milliseconds, as in the settings of these names."""

    max_body_bytes: int
    max_json_depth: int
    body_timeout_ms: int
    request_timeout_ms: int
    max_restore_bytes: int


@dataclass(frozen=True, slots=True)
class Service:
    """Holds the parts that answer requests. `rate_limit` is None if callers may make any number of requests.
    `public_url` is the URL by which clients reach the service, without a slash at its end; empty if the operator did
    not say."""

    stores: StoreContexts
    keys: KeyRing
    bearers: Bearers
    limits: Limits
    admissions: Admissions
    store_rates: StoreRates
    rate_limit: RateLimit | None = None
    public_url: str = ""
    forward_rules: ForwardRules = field(default_factory=ForwardRules)

    @property
    def context(self) -> Context:
        """Returns the context of the store `default`, for what is about the service as a whole."""
        return self.stores.default


class Call(msgspec.Struct, Generic[B], frozen=True, kw_only=True):
    """Represents one request, authenticated and decoded. `path` holds the variables of the route's path, `parameters`
    the query string; `body` is None for routes that take none; `holder` is the user that the bearer token was made for,
    or None if there is no such user. `accept`, `if_match` and `last_event_id` are the headers of these names, and
    `request_id` is the id in the answer. `query` is the query string as it was sent, for parameters that may be
    repeated, and `forwarded` what the rules say about the request that a gateway passes on."""

    context: Context
    caller: Caller
    body: B
    path: Mapping[str, str] = {}
    parameters: Mapping[str, str] = {}
    freshness: Freshness = NO_DEMAND
    once: Once | None = None
    holder: Holder | None = None
    accept: str = ""
    request_id: str | None = None
    if_match: str | None = None
    last_event_id: str | None = None
    query: bytes = b""
    forwarded: Resolution | None = None

    @property
    def actor(self) -> str:
        return self.caller.actor

    @property
    def is_limited(self) -> bool:
        """Returns whether the caller may use some object types only."""
        return self.caller.object_types is not None

    @property
    def visible_types(self) -> frozenset[str] | None:
        """Returns the object types that errors and warnings may name: those that the caller may use, and none
        for the holder of a user's token; None stands for all."""
        return self.caller.object_types if self.holder is None else frozenset()

    @property
    def is_strict(self) -> bool:
        """Returns whether names that the model does not define are errors. Raises InvalidParameter."""
        default = self.context.is_strict
        return read_boolean(self.parameters, "strict", default) if self.parameters else default

    @property
    def as_of(self) -> AsOf | None:
        """Returns the past point in time that the parameter of a query string names; None if it is absent. Raises
        InvalidParameter."""
        text = self.parameters.get(AS_OF)
        return None if text is None else read_as_of(self.context.store.identity, text)

    @property
    def origin(self) -> RequestOrigin:
        """Returns what the log of decisions says about the request, if there is one."""
        return UNKNOWN if self.context.decisions is None else RequestOrigin(self.actor, self.request_id)

    def stamp(self) -> Stamp:
        return self.context.stamp(self.caller.actor, self.once, self.request_id)


class Answer(msgspec.Struct, Generic[A_co], frozen=True):
    """Represents an answer. `value` becomes the body, as JSON unless it `is_text`; None means no body. The consistency
    token is that of `revision`; `headers` are added to those of every answer. `status` is that of the route unless the
    answer has its own."""

    value: A_co
    revision: Revision
    headers: Mapping[str, str] = {}
    is_text: bool = False
    status: int | None = None

    def with_value(self, value: B) -> "Answer[B]":
        return Answer(value, self.revision, self.headers, self.is_text, self.status)


class Deferred(Generic[A_co]):
    """Represents the rest of an answer that has to wait. It is made when it is awaited, which may be in another task
    than the one that began it, or never."""

    __slots__ = ("_complete",)

    def __init__(self, complete: Callable[[], Coroutine[Any, Any, Answer[A_co]]]) -> None:
        self._complete = complete

    def __await__(self) -> Generator[Any, Any, Answer[A_co]]:
        return self._complete().__await__()


Handler = Callable[[Call[Any]], Answer[A_co] | Awaitable[Answer[A_co]]]
"""Answers a call: with an awaitable unless the handler need not wait. That of a fast route is a Deferred."""


async def answer_call(handler: Handler[A_co], call: Call[Any]) -> Answer[A_co]:
    answer = handler(call)
    return answer if isinstance(answer, Answer) else await answer


async def render_body(answer: Answer[object], memory: AnswerMemory | None = None) -> bytes | bytearray:
    """Returns the bytes of the body of an answer. Raises Overloaded if there is no space in `memory` for them."""
    if answer.value is None:
        return b""
    return str(answer.value).encode() if answer.is_text else await render_in_steps(answer.value, memory)
