"""Names what the ASGI scope of a request holds besides what the server says, and decodes and renders its path."""

import re
from urllib.parse import unquote, unquote_to_bytes

import falcon.asgi

ROUTE, CALLER, BODY = "magistrate.route", "magistrate.caller", "magistrate.body"
"""Name the entries of the ASGI scope that say which route a request matched, who sent it, and its body, as far as that
is known. A body is there once it has been decoded."""

LEDGER = "magistrate.ledger"
STARTED = "magistrate.started"
REQUEST_ID = "magistrate.request_id"
SOURCE = "magistrate.source"
"""Name what `Application` adds to the scope of a request: SOURCE only if it is one of too many of this source that have
no valid key."""

SLASH_IN_ID = "\N{DIVISION SLASH}"
"""Stands for a slash that is part of an id, encoded as %2F, in the path of a request until the path has been divided
into segments. No id contains this character."""

HAS_SLASH = "magistrate.has_slash_in_id"
"""Names the member of the scope of requests whose path contains SLASH_IN_ID."""


def decode_path(raw_path: bytes) -> str:
    """Returns a path that contains %2F with SLASH_IN_ID in its place, so that it does not divide an id."""
    pieces = re.split("%2[fF]", raw_path.decode("ascii"))
    return SLASH_IN_ID.join(unquote(piece).replace(SLASH_IN_ID, "\N{REPLACEMENT CHARACTER}") for piece in pieces)


def is_utf8(raw_path: bytes) -> bool:
    """Returns whether a path, which is percent-encoded, is UTF-8."""
    try:
        unquote_to_bytes(raw_path).decode()
    except UnicodeDecodeError:
        return False
    return True


def render_path(req: falcon.asgi.Request) -> str:
    """Returns the path for messages and logs."""
    return req.path.replace(SLASH_IN_ID, "%2F") if HAS_SLASH in req.scope else req.path
