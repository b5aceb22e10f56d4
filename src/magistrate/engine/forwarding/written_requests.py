"""Reads requests as people write them: `GET https://docs.example/documents/plan -> document:plan#viewer`."""

import re
from typing import NamedTuple

from magistrate.engine.forwarding.rules import (
    SOURCE_HEADERS,
    Access,
    ForwardedRequest,
    IdentityHeader,
    Resolution,
    RuleTable,
    Source,
)
from magistrate.errors import InvalidRequest

_WRITTEN = re.compile(r"(\S+) +(?:https?://)?([^/\s]+)(/\S*)(?: +-> +(\S+))?")
REFUSED = "403"


class WrittenRequest(NamedTuple):
    """Holds a request, and what the rules should say about it, if that is known."""

    method: str
    host: str
    target: str
    expected: str | None

    def apply_rules(self, table: RuleTable, subject_id: str) -> Resolution:
        """Returns what the rules say about the request as the gateway of their source would pass it on. The subject is
        that of the identity header; of a token, there is none."""
        target, host = self.target.encode(), self.host.encode()
        headers = [(b"host", host)]
        if table.source is not Source.ENVOY:
            names = SOURCE_HEADERS[table.source]
            headers = [(names.method, self.method.encode()), (names.host, host), (names.uri, target)]
        if isinstance(table.identity, IdentityHeader) and subject_id:
            headers.append((table.identity.header, subject_id.encode()))
        return table.resolve(ForwardedRequest(self.method, target, headers))


def read_written_request(text: str) -> WrittenRequest:
    """Returns the request that a text describes. Raises InvalidRequest."""
    matched = _WRITTEN.fullmatch(text.strip())
    if matched is None:
        raise InvalidRequest(f"{text!r} is no request; write it as in 'GET https://docs.example/documents/plan'")
    return WrittenRequest(*matched.groups())


def render_resolution(resolution: Resolution) -> str:
    """Returns who may make a request: `403` for nobody, `anyone`, `authenticated`, or the object and the relation."""
    if resolution.access is Access.NOBODY:
        return REFUSED
    if resolution.access is Access.CHECKED:
        assert resolution.object is not None
        return f"{resolution.object.type}:{resolution.object.id}#{resolution.relation}"
    return resolution.access.value
