"""Defines the table of rules by which a request behind a gateway becomes a check. The first rule whose method,
host and path match decides; a request that matches none is refused."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from magistrate.engine.evaluation.check import Check
from magistrate.engine.forwarding.paths import ForwardedPath, read_path
from magistrate.engine.forwarding.patterns import HostPattern, PathPattern, read_host
from magistrate.engine.id_characters import is_id
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef

KEY_HEADER = "X-Magistrate-Key"
"""Names the header with the key of the gateway."""
SUBJECT_HEADER = "X-Magistrate-Subject"
"""Names the header of the answer that has the subject of the request."""
PATH = "/authz"
"""Is the path that gateways request."""
_METHOD = re.compile(r"[A-Z]{1,32}")
_SECOND_VALUE = re.compile(rb",[ \t]*/")
"""Matches where a proxy has joined two values of a header."""


class Source(StrEnum):
    """Names where the original request is."""

    X_ORIGINAL = "x-original"
    X_FORWARDED = "x-forwarded"
    ENVOY = "envoy"
    """Is in the request line and the header Host, behind the prefix of the path."""


class SourceHeaders(NamedTuple):
    """Names the headers of a source in lower case."""

    method: bytes
    host: bytes
    uri: bytes


SOURCE_HEADERS: Mapping[Source, SourceHeaders] = {
    Source.X_ORIGINAL: SourceHeaders(b"x-original-method", b"x-original-host", b"x-original-uri"),
    Source.X_FORWARDED: SourceHeaders(b"x-forwarded-method", b"x-forwarded-host", b"x-forwarded-uri"),
    Source.ENVOY: SourceHeaders(b"", b"host", b""),
}


class TokenKind(StrEnum):
    """Names the kinds of bearer tokens that can say who sends a request."""

    JWT = "jwt"
    SESSION = "session"


class IdentityHeader(NamedTuple):
    """Names the header, in lower case, that has the id of the subject, and the type of the subject."""

    header: bytes
    type: TypeName


Identity = TokenKind | IdentityHeader


class ForwardedRequest(NamedTuple):
    """Holds a request of a gateway as it was received: `target` is what follows PATH in its URL."""

    method: str
    target: bytes
    headers: Iterable[tuple[bytes, bytes]]


class OriginalRequest(NamedTuple):
    """Holds all that rules read of a request: requests with the same have the same resolution. `path` is as it was
    written; `identity` is the header of the identity, None if there is none or the identity is that of a token."""

    method: bytes
    host: bytes
    path: bytes
    identity: bytes | None


class Access(StrEnum):
    """Names who a rule lets through."""

    ANYONE = "anyone"
    AUTHENTICATED = "authenticated"
    CHECKED = "checked"
    """Stands for subjects that have the relation on the object."""
    NOBODY = "nobody"


class ForwardRule(NamedTuple):
    """Represents a rule of the table. `place` counts from 1; `methods` is empty for any method. Of a check, `object_id`
    alternates between texts and names of captures, beginning with a text."""

    place: int
    line: int
    methods: frozenset[str]
    host: HostPattern
    path: PathPattern
    access: Access
    object_type: TypeName = TypeName("")
    object_id: Sequence[str] = ()
    relation: RelationName = RelationName("")

    def build_object(self, captured: Mapping[str, str]) -> ObjectRef | None:
        """Returns the object of the check, None if what was captured makes no valid id."""
        pieces = [captured[text] if place % 2 else text for place, text in enumerate(self.object_id)]
        written_id = "".join(pieces)
        return ObjectRef(self.object_type, ObjectId(written_id)) if is_id(written_id) else None


class Resolution(msgspec.Struct, frozen=True):
    """Represents what the table says about a request. `reason` says why nobody may do it. The subject is None if the
    request names none, and until `token` has been read. `place` and `line` are those of the rule, 0 if there is
    none."""

    access: Access
    reason: str = ""
    place: int = 0
    line: int = 0
    object: ObjectRef | None = None
    relation: RelationName = RelationName("")
    subject: Subject | None = None
    token: TokenKind | None = None

    def build_check(self, subject: Subject) -> Check:
        """Returns the check that decides, of a rule with one."""
        assert self.object is not None
        return Check(self.object, self.relation, subject)


def _refuse(reason: str, place: int = 0, line: int = 0) -> Resolution:
    return Resolution(Access.NOBODY, reason, place, line)


class RuleTable:
    """Holds the rules, in their order, with the source of requests and of identities."""

    def __init__(self, source: Source, identity: Identity, rules: Sequence[ForwardRule]) -> None:
        self.source = source
        self.identity = identity
        self.rules = rules
        self._names = SOURCE_HEADERS[source]
        self._identity_header = identity.header if isinstance(identity, IdentityHeader) else b""
        read = {*self._names, KEY_HEADER.lower().encode(), self._identity_header or b"authorization"}
        self._read_headers = read - {b""}
        self._rules_by_first: dict[str, list[ForwardRule]] = {}
        """Has the rules that may match a path with this first segment, as a careless reader takes it."""
        self._other_rules = [rule for rule in rules if rule.path.first is None]
        for first in {rule.path.first for rule in rules if rule.path.first is not None}:
            self._rules_by_first[first] = [rule for rule in rules if rule.path.first in (None, first)]

    def resolve(self, request: ForwardedRequest) -> Resolution:
        """Returns what the rules say about a request."""
        original = self.select_original(request)
        return original if isinstance(original, Resolution) else self.resolve_original(original)

    def select_original(self, request: ForwardedRequest) -> "OriginalRequest | Resolution":
        """Returns what the rules read of a request, or why it is refused. Headers that the source does not
        have are ignored."""
        headers: dict[bytes, bytes] = {}
        read_headers = self._read_headers
        for name, value in request.headers:
            if name in read_headers:
                if name in headers:
                    return _refuse(f"the header {name.decode()} is given twice")
                headers[name] = value
        names = self._names
        identity = headers.get(self._identity_header)
        if self.source is Source.ENVOY:
            method, target = request.method.encode("latin-1"), request.target
        else:
            for header in names:
                if header not in headers:
                    return _refuse(f"the header {header.decode()} is missing")
            method, target = headers[names.method], headers[names.uri]
            if _SECOND_VALUE.search(target):
                return _refuse(f"the header {names.uri.decode()} has two values")
        return OriginalRequest(method, headers.get(names.host, b""), target.partition(b"?")[0], identity)

    def resolve_original(self, original: "OriginalRequest") -> Resolution:
        """Returns what the rules say about a request of which this was read."""
        decoded = _decode_original(original)
        if isinstance(decoded, str):
            return _refuse(decoded)
        subject = self._read_subject(original.identity)
        if isinstance(subject, str):
            return _refuse(subject)
        resolution = self._match(*decoded)
        if resolution.access in (Access.NOBODY, Access.ANYONE) and subject is None:
            return resolution
        token = self.identity if isinstance(self.identity, TokenKind) else None
        return msgspec.structs.replace(resolution, subject=subject, token=token)

    def _read_subject(self, written: bytes | None) -> Subject | str | None:
        """Returns the subject that the gateway names, None if it names none, or why the request is refused."""
        if isinstance(self.identity, TokenKind) or not written:
            return None
        name, of_type = self.identity
        try:
            subject_id = written.decode()
        except UnicodeDecodeError:
            subject_id = ""
        if "," in subject_id or not is_id(subject_id):
            return f"the header {name.decode()} has no valid id"
        return Subject(of_type, ObjectId(subject_id))

    def _match(self, method: str, host: str, path: ForwardedPath) -> Resolution:
        for rule in self._rules_by_first.get(path.similar[0], self._other_rules):
            if (rule.methods and method not in rule.methods) or not rule.host.matches(host):
                continue
            captured = rule.path.match(path)
            if captured is not None:
                return _apply(rule, captured)
            if rule.path.resembles(path):
                reason = f"the path differs from rule {rule.place} only in case, or at an end of a segment"
                return _refuse(reason, rule.place, rule.line)
        return _refuse("no rule matches")


def _decode_original(original: OriginalRequest) -> tuple[str, str, ForwardedPath] | str:
    """Returns method, host and path of the original request, or why it is refused."""
    method = original.method.decode("latin-1")
    if not _METHOD.fullmatch(method):
        return "the method must be a word of capital letters"
    host = read_host(original.host)
    if host is None:
        return "the host is missing or not valid"
    path = read_path(original.path)
    return "the path is ambiguous" if path is None else (method, host, path)


def _apply(rule: ForwardRule, captured: Mapping[str, str]) -> Resolution:
    if rule.access is Access.NOBODY:
        return _refuse("the rule denies", rule.place, rule.line)
    if rule.access is not Access.CHECKED:
        return Resolution(rule.access, place=rule.place, line=rule.line)
    checked = rule.build_object(captured)
    if checked is None:
        return _refuse("what the path names is no valid id", rule.place, rule.line)
    return Resolution(rule.access, "", rule.place, rule.line, object=checked, relation=rule.relation)
