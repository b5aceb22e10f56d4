"""Reads files of rules, in YAML (docs/gateways.md#rules), and describes them as JSON Schema."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from magistrate.engine.forwarding.patterns import HostPattern, PathPattern, read_host_pattern, read_path_pattern
from magistrate.engine.forwarding.rules import (
    Access,
    ForwardRule,
    Identity,
    IdentityHeader,
    RuleTable,
    Source,
    TokenKind,
)
from magistrate.engine.id_characters import is_id
from magistrate.engine.terms import relation_name, type_name
from magistrate.engine.testing.yaml_documents import YamlFault, YamlNode, read_one_document
from magistrate.errors import InvalidParameter, InvalidRequest, MissingParameter

MAX_RULES = 1_000
"""Limits the rules of a file."""
MAX_FILE_BYTES = 1_048_576
"""Limits the size of a file (1 MiB)."""
MAX_VALUES = 50_000
"""Limits the values in a file, names of members included."""

_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")
_RESERVED_HEADERS = re.compile(
    r"(?:authorization|host|cookie|content-.*|x-original-.*|x-forwarded-.*|x-magistrate-key)"
)
_CAPTURE = re.compile(r"\{([^{}]*)\}")
_FAULT_PLACE = re.compile(r"(.*) - at `\$(.*)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_METHOD = r"^[A-Z]{1,32}$"

_described = msgspec.Meta


class HeaderIdentity(msgspec.Struct, forbid_unknown_fields=True):
    """Represents a header, which only the gateway sets, with the id of the subject."""

    header: Annotated[str, _described(description="the name of the header", pattern="^[A-Za-z0-9-]{1,64}$")]
    type: Annotated[str, _described(description="the type of the subject")] = "user"


class RuleBody(msgspec.Struct, forbid_unknown_fields=True):
    """Represents one rule: it has a check (`object` and `relation`), `allow`, or `deny: true`."""

    path: Annotated[str, _described(description="a pattern: /documents/{id}, /files/{rest...}")]
    methods: (
        Annotated[
            list[Annotated[str, _described(pattern=_METHOD)]],
            _described(description="the methods that match; any if absent", min_length=1, max_length=32),
        ]
        | None
    ) = None
    host: Annotated[str | None, _described(description="a host, or *.suffix; any if absent")] = None
    object: Annotated[str | None, _described(description="what is checked: document:{id}")] = None
    relation: Annotated[str | None, _described(description="the relation that the subject must have on it")] = None
    allow: Annotated[
        Literal["anyone", "authenticated"] | None, _described(description="who is let through without a check")
    ] = None
    deny: Annotated[bool | None, _described(description="true if nobody is let through")] = None


class RulesBody(msgspec.Struct, forbid_unknown_fields=True):
    """Represents rules of forward authorization. The first that matches decides."""

    version: Literal[1]
    source: Annotated[
        Literal["x-original", "x-forwarded", "envoy"], _described(description="where the original request is")
    ]
    identity: Annotated[
        Literal["jwt", "session"] | HeaderIdentity, _described(description="where the subject comes from")
    ]
    rules: Annotated[list[RuleBody], _described(max_length=MAX_RULES)]


def build_schema() -> dict[str, Any]:
    """Returns the JSON Schema of files of rules."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(RulesBody)}


def read_rules(text: str, origin: str) -> RuleTable:
    """Returns the rules of a file. Raises InvalidRequest with the line of the first fault; `origin` names the file."""
    try:
        root = read_one_document(text, MAX_VALUES)
        try:
            body = msgspec.convert(root.to_plain(), RulesBody)
        except msgspec.ValidationError as error:
            raise _locate(root, str(error)) from None
        identity = _read_identity(body, root)
        nodes = root.members["rules"].elements
        rules = [_RuleReader(place, *pair).read() for place, pair in enumerate(zip(body.rules, nodes, strict=True), 1)]
    except YamlFault as fault:
        raise InvalidRequest(f"{origin}: line {fault.line}: {fault.problem}") from None
    return RuleTable(Source(body.source), identity, rules)


def _locate(root: YamlNode, message: str) -> YamlFault:
    """Returns a fault that msgspec reports, with the line of the value."""
    matched = _FAULT_PLACE.fullmatch(message)
    problem, place = (matched[1], matched[2]) if matched else (message, "")
    node = root
    for step in _STEP.finditer(place):
        name, index = step[1], step[2]
        if name is not None and name in node.members:
            node = node.members[name]
        elif index is not None and int(index) < len(node.elements):
            node = node.elements[int(index)]
    return YamlFault(f"{place.removeprefix('.')}: {problem}" if place else problem, node.line, node.column)


def _read_identity(body: RulesBody, root: YamlNode) -> Identity:
    if isinstance(body.identity, str):
        return TokenKind(body.identity)
    node = root.members["identity"]
    name = body.identity.header.lower()
    if not _HEADER_NAME.fullmatch(name) or _RESERVED_HEADERS.fullmatch(name):
        raise YamlFault(f"identity.header: {name} cannot be the header of an identity", node.line, node.column)
    try:
        return IdentityHeader(name.encode(), type_name(body.identity.type, "identity.type"))
    except (InvalidParameter, MissingParameter) as error:
        raise YamlFault(error.message, node.line, node.column) from None


class _RuleReader:
    """Reads one rule. All its methods raise YamlFault."""

    def __init__(self, place: int, body: RuleBody, node: YamlNode) -> None:
        self._place = place
        self._body = body
        self._node = node

    def read(self) -> ForwardRule:
        body = self._body
        path, host = self._read_path(), self._read_host()
        access = self._read_access()
        methods = frozenset(body.methods or ())
        if access is not Access.CHECKED:
            return ForwardRule(self._place, self._node.line, methods, host, path, access)
        of_type, _, object_id = (body.object or "").partition(":")
        try:
            return ForwardRule(
                self._place,
                self._node.line,
                methods,
                host,
                path,
                access,
                type_name(of_type, "object"),
                self._read_id(object_id, path),
                relation_name(body.relation, "relation"),
            )
        except (InvalidParameter, MissingParameter) as error:
            raise self._fault("object", error.message) from None

    def _read_path(self) -> PathPattern:
        pattern = read_path_pattern(self._body.path)
        if isinstance(pattern, str):
            raise self._fault("path", pattern)
        return pattern

    def _read_host(self) -> HostPattern:
        if self._body.host is None:
            return HostPattern()
        pattern = read_host_pattern(self._body.host)
        if pattern is None:
            raise self._fault("host", f"{self._body.host!r} must be a host without a port, or *. and a host")
        return pattern

    def _read_access(self) -> Access:
        body = self._body
        has_check = body.object is not None or body.relation is not None
        if [has_check, body.allow is not None, body.deny is not None].count(True) != 1 or body.deny is False:
            raise self._fault("", "a rule has either object and relation, or allow, or `deny: true`")
        if has_check and (body.object is None or body.relation is None):
            raise self._fault("", "a check has both object and relation")
        if has_check:
            return Access.CHECKED
        return Access.NOBODY if body.allow is None else Access(body.allow)

    def _read_id(self, template: str, path: PathPattern) -> Sequence[str]:
        """Returns texts and names of captures in turn. Two captures need a slash between them, which neither can
        contain: otherwise two paths could name one object."""
        pieces = _CAPTURE.split(template)
        names, between = pieces[1::2], pieces[2:-1:2]
        for name in names:
            if name not in path.names:
                raise self._fault("object", f"the path has no capture {{{name}}}")
        if any("/" not in text for text in between) or path.rest in names[:-1]:
            raise self._fault("object", "two captures need a slash between them, and the rest comes last")
        sample = "".join("x" if place % 2 else text for place, text in enumerate(pieces))
        if not is_id(sample):
            raise self._fault("object", f"{template!r} makes no valid id")
        return tuple(pieces)

    def _fault(self, member: str, problem: str) -> YamlFault:
        node = self._node.members.get(member, self._node)
        place = f"rules[{self._place - 1}]" + (f".{member}" if member else "")
        return YamlFault(f"{place}: {problem}", node.line, node.column)
