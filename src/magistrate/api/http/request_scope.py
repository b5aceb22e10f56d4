"""Names what the ASGI scope of a request holds besides what the server says, and decodes and renders its path."""

import re
from urllib.parse import unquote, unquote_to_bytes

import falcon.asgi

from magistrate.engine.forwarding.rules import PATH

ROUTE, CALLER, BODY = "magistrate.route", "magistrate.caller", "magistrate.body"
"""Name the entries of the ASGI scope that say which route a request matched, who sent it, and its body, as far as that
is known. A body is there once it has been decoded."""

STORE = "magistrate.store"
"""Names the entry of the ASGI scope that has the name or id of the store that the path of a request names."""

FORWARD_TARGET, IS_DECIDED = "magistrate.forward_target", "magistrate.is_decided"
"""Name the entries of the ASGI scope that have the path and query behind that of forward authorization, and that are
there if the answer is a decision about somebody else than the caller."""

LEDGER = "magistrate.ledger"
STARTED = "magistrate.started"
REQUEST_ID = "magistrate.request_id"
SOURCE = "magistrate.source"
SPAN = "magistrate.span"
"""Name what `Application` adds to the scope of a request: SOURCE only if it is one of too many of this source that have
no valid key, and SPAN only if it has a trace."""

RECEIVE, QUERY, ACCOUNT = "magistrate.receive", "magistrate.query_string", "magistrate.account"
"""Name the entries of the ASGI scope that have what the server passes on: how a body is received, and the query string,
which the framework is not to read; and what counts the bytes of the answer."""

TRANSPORT = "magistrate.transport"
"""Names the entry of the ASGI scope that has the transport of the connection, which a stream that fails breaks off."""

URL = "magistrate.url"
"""Names the entry of the ASGI scope that has the target of the request line as it was received: the scope has neither
the fragment in it nor the host."""

STREAM = "magistrate.stream"
"""Names the entry of the ASGI scope that has the stream that is the answer, if it is one."""

_FORWARD = PATH.encode()


def divide_forward_path(url: bytes) -> bytes | None:
    """Returns what follows the path of forward authorization in a URL, None if it has another path."""
    target = url.removeprefix(_FORWARD)
    is_forward = len(target) < len(url) and target[:1] in (b"", b"/", b"?")
    return target if is_forward else None


STORES_PREFIX = b"/stores/"
_OF_A_STORE = re.compile(rb"/stores/([^/?]++)(/(?:v1|v2|fga/v1|access/v1|\.well-known)/.*+)", re.DOTALL)


def divide_path(path: bytes) -> tuple[str | None, bytes]:
    """Returns the name or id of the store that a path begins with, and the rest of it; None and the path if it names
    none, or continues with what no store has."""
    matched = _OF_A_STORE.fullmatch(path)
    if matched is None or matched[2].startswith((b"/v2/stores/", b"/v2/stores?")) or matched[2] == b"/v2/stores":
        return None, path
    return matched[1].decode("latin-1"), matched[2]


OPENFGA = "magistrate.openfga"
"""Names the entry of the ASGI scope that says that a request is one of OpenFGA's API, whose errors are others."""

_OF_OPENFGA = re.compile(rb"/stores(?:/(?:([^/]++)(/.*+)?)?)?", re.DOTALL)
_ULID = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
ULID = re.compile(_ULID)
_CHANGING_PATH = re.compile(rb"/stores/(" + _ULID.encode() + rb")(/[a-z-]++)")


OPENFGA_PREFIX = "/stores/{store_id}"


def is_openfga_path(path: bytes) -> bool:
    """Returns whether a path, from which `divide_path` has taken no store, is one of OpenFGA's API."""
    return _OF_OPENFGA.fullmatch(path) is not None and _OF_A_STORE.fullmatch(path) is None


def find_openfga_store(path: bytes) -> str | None:
    """Returns what stands for the store that a path of OpenFGA's API is about, None if it is about no single one, or
    names the store itself."""
    matched = _OF_OPENFGA.fullmatch(path)
    return matched[1].decode("latin-1") if matched is not None and matched[2] else None


def divide_openfga_path(path: bytes) -> tuple[str, bytes] | None:
    """Returns the id of a store that a path of OpenFGA's API begins with, and the path of the route, None if that is
    another path."""
    matched = _CHANGING_PATH.fullmatch(path)
    return None if matched is None else (matched[1].decode(), OPENFGA_PREFIX.encode() + matched[2])


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
    path: str = req.path.replace(SLASH_IN_ID, "%2F") if HAS_SLASH in req.scope else req.path
    return f"{render_store(req)}{path}"


def render_store(req: falcon.asgi.Request) -> str:
    """Returns what the path of a request began with, if it names a store."""
    store = None if OPENFGA in req.scope else req.scope.get(STORE)
    return "" if store is None else f"{STORES_PREFIX.decode()}{store}"
