"""Renders the requests of tests that are plain ones as httpx does, without the objects that it makes for each: they
take several times as long as to send it."""

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx
from httpx import USE_CLIENT_DEFAULT

from tests.socket_transport import Message

PATH = re.compile(r"(/[\w~!$&'()*+,;=:@-][\w.~!$&'()*+,;=:@-]*)+/?", re.ASCII)
"""Matches paths that httpx sends as they are."""
OPTIONS = {"json", "content", "params", "headers"}
BODY_HEADERS = ("Host", "Content-Type", "Content-Length", "Transfer-Encoding")
"""Name what a plain request does not say itself."""
MAX_TARGET_BYTES = 60_000


def render_plain(client: httpx.Client, method: str, url: httpx.URL | str, options: Mapping[str, Any]) -> Message | None:
    """Returns what is sent for a plain request, or None for another one. The options are those of `Client.request`."""
    given = {name: value for name, value in options.items() if value is not None and value is not USE_CLIENT_DEFAULT}
    target = _render_target(client, url, given.get("params"))
    headers = client.headers
    if "headers" in given:
        headers = httpx.Headers(headers)
        headers.update(given["headers"])
    content = given.get("content", b"")
    is_plain = given.keys() <= OPTIONS and isinstance(content, str | bytes) and not (content and "json" in given)
    if target is None or not is_plain or any(name in headers for name in BODY_HEADERS):
        return None
    rendered = [(b"Host", client.base_url.netloc), *headers.raw]
    body = content.encode() if isinstance(content, str) else content
    if "json" in given:
        body = json.dumps(given["json"], ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if body:
        rendered.append((b"Content-Length", b"%d" % len(body)))
    elif method.upper() in ("POST", "PUT", "PATCH"):
        rendered.insert(1, (b"Content-Length", b"0"))
    if "json" in given:
        rendered.append((b"Content-Type", b"application/json"))
    return Message(method.upper(), target, rendered, [body])


def _render_target(client: httpx.Client, url: httpx.URL | str, params: Any) -> bytes | None:
    if not isinstance(url, str) or not PATH.fullmatch(url):
        return None
    target = client.base_url.raw_path.rstrip(b"/") + url.encode()
    if query := str(httpx.QueryParams(params)):
        target += b"?" + query.encode()
    return target if len(target) <= MAX_TARGET_BYTES else None
