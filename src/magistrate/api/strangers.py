"""Refuses requests without a valid key: with 401, or with 429 if their source sends too many of them."""

from typing import Any

from magistrate.api.finish import LEDGER, SOURCE
from magistrate.api.server.ledger import Ledger
from magistrate.api.server.refused_requests import name_source
from magistrate.errors import TooManyRefused

_ADMITTED = "magistrate.admitted"
"""Names the entry of the ASGI scope that says that a request was counted, and may be answered with 401."""


def read_source(scope: dict[str, Any]) -> str:
    """Returns the source of a request: that of the peer, which may be a proxy."""
    client = scope.get("client")
    return name_source(client[0] if client else None)


def require_refusable(scope: dict[str, Any]) -> None:
    """Counts a request without a valid key, once. Raises TooManyRefused if its source has sent too many of them."""
    ledger: Ledger = scope[LEDGER]
    refused = ledger.refused
    if refused is None or _ADMITTED in scope:
        return
    source = read_source(scope)
    if refused.admit_source(source):
        scope[_ADMITTED] = True
        return
    refused.count_source(source)
    scope[SOURCE] = source
    raise TooManyRefused
