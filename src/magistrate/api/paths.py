"""Decodes the paths of requests, in which an id may contain a slash, written %2F."""

import re
from urllib.parse import unquote, unquote_to_bytes

import falcon.asgi

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
