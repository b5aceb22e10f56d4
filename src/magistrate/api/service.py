"""What a running service has, and what one call of it carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from magistrate.api.auth import Holder, KeyRing
from magistrate.api.bearer import Bearers
from magistrate.engine.terms import Revision
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.store.contract import Once, Stamp

B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Limits:
    """In bytes, levels of nesting and milliseconds, as the settings of these names."""

    max_body_bytes: int
    max_json_depth: int
    body_timeout_ms: int
    request_timeout_ms: int


@dataclass(frozen=True, slots=True)
class Service:
    context: Context
    keys: KeyRing
    bearers: Bearers
    limits: Limits


class Call(msgspec.Struct, Generic[B], frozen=True):
    """One request, authenticated and decoded. `path` holds the variables of the route's path, `parameters` the query
    string; `body` is None for routes that take none; `holder` who calls, if that is no key."""

    context: Context
    path: Mapping[str, str]
    parameters: Mapping[str, str]
    body: B
    actor: str
    freshness: Freshness
    once: Once | None
    holder: Holder | None = None

    def stamp(self) -> Stamp:
        return self.context.stamp(self.actor, self.once)


class Answer(msgspec.Struct, frozen=True):
    """`value` becomes the body; None stands for no body at all. The token is that of `revision`."""

    value: object
    revision: Revision
