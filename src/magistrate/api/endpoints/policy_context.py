"""Reads the policy variables of requests (docs/compatibility.md#policies)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from magistrate.api.json_decoders import build_decoder
from magistrate.api.parse import decode_body
from magistrate.errors import InvalidParameter, InvalidRequest

MAX_CONTEXT_DEPTH = 128
"""Limits the levels of a context in a query string."""

_DECODER = build_decoder(dict[str, Any])


def check_context_size(context: Mapping[str, Any], limit: int) -> Mapping[str, Any]:
    """Raises InvalidParameter if the context is more than `limit` bytes of compact JSON."""
    if context:
        context_bytes(context, limit)
    return context


def context_bytes(context: Mapping[str, Any], limit: int) -> int:
    """Returns the size of the context as compact JSON. Raises InvalidParameter if it is more than `limit` bytes."""
    size = len(msgspec.json.encode(context))
    if size > limit:
        raise InvalidParameter("context", f"must be at most {limit} bytes of JSON")
    return size


def read_context(text: str | None, limit: int) -> Mapping[str, Any]:
    """Returns the context in a query string, which is the text of a JSON object. If it is absent or empty, there is no
    context."""
    if not text:
        return {}
    try:
        context = decode_body(text.encode(), _DECODER, MAX_CONTEXT_DEPTH)
    except (InvalidRequest, InvalidParameter, UnicodeEncodeError):
        raise InvalidParameter("context", "invalid") from None
    return check_context_size(context, limit)
