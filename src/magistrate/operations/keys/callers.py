"""Defines who makes requests, and what they may do (docs/security.md#keys)."""

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

import msgspec

from magistrate.errors import Forbidden
from magistrate.store.contract.stores import DEFAULT_STORE


class Scope(StrEnum):
    """Names a part of the API that a key can be given."""

    CHECK = "check"
    FORWARD = "forward"
    """Allows a gateway to check the requests that it passes on (docs/gateways.md)."""
    QUERY = "query"
    READ = "read"
    WRITE = "write"
    MODEL = "model"
    EVENTS = "events"
    METRICS = "metrics"
    KEYS = "keys"
    WEBHOOKS = "webhooks"
    STORES = "stores"
    """Allows to make and delete stores, and to name any of them; keys of other stores than `default` cannot have it."""
    ADMIN = "admin"
    """Stands for all others."""


ALL_SCOPES = frozenset(Scope)
OPERATOR_SCOPES = frozenset({Scope.STORES, Scope.METRICS})
"""Holds the scopes about the service as a whole, which only keys of the store `default` have."""


class Caller(msgspec.Struct, frozen=True):
    """Represents who makes a request. `actor` is the name in the change log, which another caller may have later.
    `scopes` has all scopes if it has ADMIN. `object_types` is None for a caller that may use all, and `key_id` for one
    without a stored key. `origin` distinguishes that one from others with this actor: the digest of a key of the
    operator, or who issued a token. `store` is the number of the store that the key or token belongs to. `valid_until`
    is the time at which a token of a provider expires, in microseconds since 1970 UTC; that of a key may change."""

    actor: str
    scopes: frozenset[Scope]
    object_types: frozenset[str] | None = None
    key_id: str | None = None
    origin: str = ""
    store: int = DEFAULT_STORE
    valid_until: int | None = None

    @property
    def identity(self) -> str:
        """Returns a text that no other caller ever has; that of a stored key stays when it is rotated. It may have the
        digest of a key, so only a digest of it is kept anywhere."""
        if self.key_id is not None:
            return f"key {self.key_id}"
        of_store = "" if self.store == DEFAULT_STORE else f" {self.store}"
        return f"actor {self.actor} {self.origin}{of_store}"

    def may_use_store(self, number: int) -> bool:
        """Returns whether requests of the caller may be about a store: that of its key, or any if it operates
        them."""
        return number == self.store or Scope.STORES in self.scopes

    def require_scope(self, scope: Scope) -> None:
        """Raises Forbidden, naming the scope, if the caller does not have it."""
        if scope not in self.scopes:
            raise Forbidden(f"this request needs the scope {scope}, which {self.actor} does not have")

    def require_types(self, object_types: Collection[str | None]) -> None:
        """Raises Forbidden unless the caller may use all of these object types; None stands for all there are."""
        if self.object_types is None or self.object_types.issuperset(object_types):
            return
        name = next(name for name in object_types if name not in self.object_types)
        reason = "is not limited to them" if name is None else f"uses {name}"
        raise Forbidden(f"{self.actor} is limited to some object types, and this request {reason}")

    def require_as_much(self, scopes: frozenset[Scope], object_types: Sequence[str] | None) -> None:
        """Raises Forbidden unless the caller may do all that somebody with these scopes, expanded, and these object
        types may do."""
        missing = sorted(scopes - self.scopes)
        if missing:
            raise Forbidden(f"{self.actor} cannot give the scope {missing[0]}, which it does not have itself")
        self.require_types((None,) if object_types is None else object_types)


def expand_scopes(names: Iterable[str], store: int = DEFAULT_STORE) -> frozenset[Scope]:
    """Returns the scopes that these names stand for, of a key of this store; unknown ones, of a later version, count
    for nothing."""
    distinct = {*names}
    scopes = frozenset(scope for scope in Scope if scope in distinct)
    expanded = ALL_SCOPES if Scope.ADMIN in scopes else scopes
    return expanded if store == DEFAULT_STORE else expanded - OPERATOR_SCOPES
