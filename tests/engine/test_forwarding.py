"""Rules for gateways: which requests become which checks, and which are refused whatever the rules say."""

import re

import pytest

from magistrate.engine.forwarding.rule_files import MAX_RULES, read_rules
from magistrate.engine.forwarding.rules import Access, ForwardedRequest, Resolution, RuleTable, TokenKind
from magistrate.engine.forwarding.written_requests import read_written_request, render_resolution
from magistrate.errors import InvalidRequest

HEAD = "version: 1\nsource: x-original\nidentity:\n  header: X-Auth-User\nrules:\n"
RULES = (
    HEAD
    + """\
  - methods: [GET, HEAD]
    host: docs.example
    path: /documents/{id}
    object: document:{id}
    relation: viewer
  - methods: [PUT]
    path: /documents/{id}
    object: document:{id}
    relation: editor
  - path: /teams/{team}/{rest...}
    host: "*.docs.example"
    object: file:{team}/{rest}
    relation: viewer
  - path: /admin/{rest…}
    deny: true
  - path: /
    allow: anyone
  - path: /{page}
    allow: authenticated
  - path: /café/{id}
    allow: anyone
  - path: /assets/{rest...}
    allow: anyone
"""
)
TABLE = read_rules(RULES, "rules.yaml")
AMBIGUOUS = "the path is ambiguous"


def resolve(
    *headers: tuple[str, str], table: RuleTable = TABLE, target: bytes = b"", method: str = "GET"
) -> Resolution:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    return table.resolve(ForwardedRequest(method, target, raw))


def original(path: str, method: str = "GET", host: str = "docs.example") -> list[tuple[str, str]]:
    return [("X-Original-Method", method), ("X-Original-Host", host), ("X-Original-URI", path)]


@pytest.mark.parametrize(
    ("request_text", "result"),
    [
        ("GET docs.example/documents/plan", "document:plan#viewer"),
        ("GET DOCS.example:8443/documents/plan?x=/admin/", "document:plan#viewer"),
        ("GET docs.example/documents/pl%61n", "document:plan#viewer"),
        ("GET docs.example/documents/caf%C3%A9", "document:café#viewer"),
        ("PUT other.example/documents/plan", "document:plan#editor"),
        ("GET other.example/documents/plan", "403"),
        ("DELETE docs.example/documents/plan", "403"),
        ("get docs.example/documents/plan", "403"),
        ("GET a.docs.example/teams/x/y/z", "file:x/y/z#viewer"),
        ("GET docs.example/teams/x/y", "403"),
        ("GET evildocs.example/teams/x/y", "403"),
        ("GET docs.example/", "anyone"),
        ("GET docs.example/profile", "authenticated"),
        ("GET docs.example/admin/keys", "403"),
        ("GET docs.example/assets/a/b.css", "anyone"),
        ("GET docs.example/assets/", "403"),  # it resembles /{page}
        ("GET docs.example/caf%C3%A9/x", "anyone"),
        ("GET docs.example/nothing/here", "403"),
        ("GET docs.example/documents/a%20b", "403"),
        ("GET docs.example/documents/*", "403"),
        ("GET docs.example./documents/plan", "403"),
        ("GET docs.example,x/documents/plan", "403"),
    ],
)
def test_the_first_rule_that_matches_decides(request_text: str, result: str) -> None:
    assert render_resolution(read_written_request(request_text).apply_rules(TABLE, "ann")) == result


@pytest.mark.parametrize(
    "path",
    [
        "/assets//x",
        "//assets/x",
        "/assets/../admin/keys",
        "/assets/%2e%2e/admin/keys",
        "/assets/.%2E/x",
        "/assets/./x",
        "/assets/.../x",
        "/assets/..%20/x",
        "/assets/x%2fy",
        "/assets/x%2Fy",
        "/assets/x%5cy",
        "/assets/x\\y",
        "/assets/x;y=z",
        "/assets/x%3by",
        "/assets/%252e%252e/admin",
        "/assets/x%00",
        "/assets/x%0d%0ay",
        "/assets/x%7f",
        "/assets/x%3fy",
        "/assets/x%23y",
        "/assets/x#y",
        "/assets/x%c0%af",
        "/assets/%ff",
        "/assets/x%ef%bc%8fy",
        "/assets/%ef%bc%8e%ef%bc%8e/x",
        "/assets/%e2%80%ae",
        "/assets/%",
        "/assets/%2",
        "/assets/%zz",
        "/assets/a b",
        "/assets/caf\u00e9",
        "assets/x",
        "http://docs.example/assets/x",
        "",
        "*",
        "/assets/" + "x" * 8_192,
    ],
)
def test_an_ambiguous_path_is_refused_whatever_the_rules_allow(path: str) -> None:
    everything = read_rules(HEAD + "  - path: /{rest...}\n    allow: anyone\n", "rules.yaml")

    resolutions = [resolve(*original(path), table=table) for table in (TABLE, everything)]

    assert [(one.access, one.reason) for one in resolutions] == [(Access.NOBODY, AMBIGUOUS)] * 2


@pytest.mark.parametrize(
    "path", ["/ADMIN/keys", "/Admin/keys", "/admin./keys", "/%61dmin%20/keys", "/admin", "/%EF%BC%A1dmin/x"]
)
def test_what_resembles_an_earlier_rule_does_not_reach_a_later_one(path: str) -> None:
    broad = RULES + "  - path: /{rest...}\n    allow: anyone\n"

    resolution = resolve(*original(path), table=read_rules(broad, "rules.yaml"))

    assert (resolution.access, resolution.place) == (Access.NOBODY, 4)
    assert "differs from rule 4 only in case" in resolution.reason


@pytest.mark.parametrize("name", ["X-Original-Method", "X-Original-Host", "X-Original-URI"])
def test_a_header_of_the_source_is_there_once(name: str) -> None:
    headers = original("/")
    [value] = [value for given, value in headers if given == name]
    without = [(given, value) for given, value in headers if given != name]

    assert resolve(*headers).access is Access.ANYONE
    assert resolve(*without).access is Access.NOBODY
    assert resolve(*headers, (name, value)).reason == f"the header {name.lower()} is given twice"
    assert resolve(*headers, (name, "")).access is Access.NOBODY


def test_two_values_in_one_header_are_refused() -> None:
    for target in ("/,/admin/x", "/documents/plan, /documents/x", "/?x, /admin/x", "/?x,\t/admin/x"):
        assert "has two values" in resolve(*original(target)).reason
    assert resolve(*original("/", host="docs.example, other.example")).access is Access.NOBODY
    assert resolve(*original("/", method="GET, PUT")).access is Access.NOBODY


def test_headers_of_other_sources_are_ignored() -> None:
    others = [("X-Forwarded-Uri", "/admin/x"), ("X-Forwarded-Method", "PUT"), ("X-Forwarded-Host", "evil")]

    assert resolve(*original("/"), *others, *others, ("Host", "evil")) == resolve(*original("/"))


def test_envoy_asks_with_the_path_behind_the_prefix_and_the_host() -> None:
    table = read_rules(RULES.replace("x-original", "envoy"), "rules.yaml")
    headers = [("Host", "docs.example"), *original("/admin/x", host="evil")]

    allowed = resolve(*headers, table=table, target=b"/documents/plan?x", method="HEAD")

    assert render_resolution(allowed) == "document:plan#viewer"
    assert resolve(*headers, table=table, target=b"/../v2/check").reason == AMBIGUOUS
    assert resolve(*headers, table=table, target=b"").reason == AMBIGUOUS
    assert resolve(*headers, ("Host", "x"), table=table, target=b"/").reason == "the header host is given twice"


def test_the_subject_is_that_of_the_header_of_the_gateway() -> None:
    named = resolve(*original("/documents/plan"), ("X-Auth-User", "ann"))

    assert named.subject is not None
    assert named.build_check(named.subject).render() == "document:plan#viewer@user:ann"
    assert resolve(*original("/documents/plan"), ("X-Auth-User", "")).subject is None
    assert resolve(*original("/documents/plan"), ("X_Auth_User", "ann"), ("Remote-User", "ann")).subject is None


@pytest.mark.parametrize("value", ["ann,bob", "ann, bob", "*", "..", "a b", "a\x00", "\xff", "x" * 10_000])
def test_an_identity_that_is_no_id_is_refused(value: str) -> None:
    assert "has no valid id" in resolve(*original("/"), ("X-Auth-User", value)).reason


def test_an_identity_that_is_given_twice_is_refused_even_for_anyone() -> None:
    assert resolve(*original("/"), ("X-Auth-User", "ann"), ("X-Auth-User", "ann")).access is Access.NOBODY


@pytest.mark.parametrize("kind", TokenKind)
def test_a_token_says_who_it_is_where_the_rule_needs_that(kind: TokenKind) -> None:
    text = RULES.replace("identity:\n  header: X-Auth-User", f"identity: {kind}")
    table = read_rules(text, "rules.yaml")
    bearer = ("Authorization", "Bearer a.b.c")

    assert resolve(*original("/documents/plan"), bearer, ("X-Auth-User", "ann"), table=table).token is kind
    assert resolve(*original("/documents/plan"), ("X-Auth-User", "ann"), table=table).subject is None
    assert resolve(*original("/"), bearer, table=table).token is None
    assert resolve(*original("/"), bearer, bearer, table=table).access is Access.NOBODY


RULE = HEAD + "  - path: /documents/{id}\n    object: document:{id}\n    relation: viewer\n"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("version: 1", "version: 2", "line 1: version: Invalid enum value 2"),
        ("x-original", "x-other", "line 2: source: Invalid enum value 'x-other'"),
        ("X-Auth-User", "Authorization", "line 4: identity.header: authorization cannot be the header of an identity"),
        ("X-Auth-User", "X-Forwarded-Uri", "line 4: identity.header: x-forwarded-uri cannot be"),
        ("X-Auth-User", "X_User", "line 4: identity.header: Expected `str` matching regex"),
        ("header: X-Auth-User", "header: X-User\n  type: 'no type'", "line 4: "),
        ("relation: viewer", "relatio: viewer", "line 6: rules[0]: Object contains unknown field `relatio`"),
        ("    relation: viewer\n", "", "line 6: rules[0]: a check has both object and relation"),
        ("relation: viewer", "relation: '*'", "line 7: rules[0].object: "),
        ("relation: viewer", "allow: anyone", "a rule has either object and relation, or allow"),
        ("relation: viewer", "relation: viewer\n    deny: true", "a rule has either"),
        ("/documents/{id}", "documents/{id}", "line 6: rules[0].path: must begin with a slash"),
        ("/documents/{id}", "/documents/{name}", "line 7: rules[0].object: the path has no capture {id}"),
        ("/documents/{id}", "/documents/x-{id}", "must be one capture"),
        ("/documents/{id}", "/documents//{id}", "must not have an empty segment"),
        ("/documents/{id}", "/{id...}/x", "{id...} must be the last segment"),
        ("/documents/{id}", "/{id}/{id}", "two captures have the same name"),
        ("/documents/{id}", "/a%20b/{id}", "must be written decoded"),
        ("/documents/{id}", "/../{id}", "has a character that no path may have"),
        ("/documents/{id}", "/a;b/{id}", "has a character that no path may have"),
        ("path: /documents/{id}", "path: /{id}\n    host: docs.example:80", "line 7: rules[0].host: "),
        ("path: /documents/{id}", "path: /{id}\n    host: '*'", "line 7: rules[0].host: "),
        ("path: /documents/{id}", "path: /{id}\n    methods: [get]", "line 7: rules[0].methods[0]: Expected `str`"),
        ("document:{id}", "document:*", "'*' makes no valid id"),
        ("document:{id}", "'{id}'", "line 7: rules[0].object: "),
        (
            "/documents/{id}\n    object: document:{id}",
            "/{a}/{b}\n    object: document:{a}-{b}",
            "need a slash between",
        ),
        (
            "/documents/{id}\n    object: document:{id}",
            "/{a}/{b...}\n    object: document:{b}/{a}",
            "the rest comes last",
        ),
        ("rules:", "rules: &x", "line"),
        ("rules:\n", "rules:\nrules:\n", "a member is given twice in one object"),
    ],
)
def test_a_fault_is_reported_with_its_line(before: str, after: str, message: str) -> None:
    assert before in RULE
    with pytest.raises(InvalidRequest, match=re.escape(message)) as raised:
        read_rules(RULE.replace(before, after) + ("  - *x\n" if "&x" in after else ""), "r")
    assert raised.value.message.startswith("r: line ")


def test_the_number_of_rules_is_limited() -> None:
    rule = "  - {path: /, allow: anyone}\n"

    assert len(read_rules(HEAD + rule * MAX_RULES, "r").rules) == MAX_RULES
    with pytest.raises(InvalidRequest, match="length <= 1000"):
        read_rules(HEAD + rule * (MAX_RULES + 1), "r")
