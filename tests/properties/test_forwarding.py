"""Random rules and hostile requests: nothing is let through that a plain matcher would not."""

import re
from posixpath import normpath
from typing import Any
from urllib.parse import unquote

import yaml
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.forwarding.rule_files import read_rules
from magistrate.engine.forwarding.rules import Access, ForwardedRequest
from magistrate.engine.forwarding.written_requests import render_resolution

HOSTS = ("docs.example", "a.docs.example", "other.example")
LITERALS = ("admin", "documents", "public", "x", "café")
HOSTILE = (
    *LITERALS, "ADMIN", "Documents", "admin.", "admin%20", "%61dmin", "", ".", "..", "%2e%2e", ".%2e", "%252e%252e",
    "a%2fb", "a%2Fb", "a%5cb", "a;b", "a%3Bb", "a%00", "a\\b", "%c0%af", "%EF%BC%8F", "caf%C3%A9", "cafe%CC%81", "*",
    "%2A", "plan", "a b", "%ff", "a%3fb", "a%23b", "...", "a,b", "a:b", "%EF%BC%A1dmin",
)  # fmt: skip


@st.composite
def rules(draw: st.DrawFn) -> list[dict[str, Any]]:
    drawn: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, 5))):
        segments = draw(st.lists(st.sampled_from([*LITERALS, "{a}", "{b}"]), min_size=1, max_size=3))
        segments = [segment for place, segment in enumerate(segments) if segment not in segments[:place]]
        segments += draw(st.sampled_from([[], ["{rest...}"], [""]]))
        rule: dict[str, Any] = {"path": "/" + "/".join(segments)}
        if draw(st.booleans()):
            rule["methods"] = draw(st.sampled_from([["GET"], ["GET", "PUT"]]))
        if draw(st.booleans()):
            rule["host"] = draw(st.sampled_from(["docs.example", "*.docs.example"]))
        captures = [segment for segment in segments if segment.startswith("{")]
        kinds: list[dict[str, Any]] = [{"allow": "anyone"}, {"deny": True}]
        if captures:
            captured = draw(st.sampled_from(captures)).replace("...", "")
            kinds.append({"object": f"document:{captured}", "relation": "viewer"})
        drawn.append(rule | draw(st.sampled_from(kinds)))
    return drawn


def path_of(segments: list[str]) -> str:
    return "/" + "/".join(segments)


PATHS = st.one_of(
    st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=4).map(path_of),
    st.text(st.sampled_from("/.%25ef;\\aA*?#"), max_size=12).map(lambda text: f"/{text}"),
)


def match_plainly(rules: list[dict[str, Any]], method: str, host: str, written: str) -> str:
    """What the documents say, without a thought for speed: the result of a request."""
    path = unquote(written.partition("?")[0], errors="strict")
    for rule in rules:
        pattern = "".join(
            "(?P<rest>.*)"
            if part == "{rest...}"
            else f"(?P<{part[1]}>[^/]+)"
            if part.startswith("{")
            else re.escape(part)
            for part in re.split(r"(\{[^}]*\})", rule["path"])
        )
        matched = re.fullmatch(pattern, path, re.DOTALL)
        of_host = rule.get("host", host)
        if matched is None or method not in rule.get("methods", [method]):
            continue
        if not (host.endswith(of_host[1:]) if of_host.startswith("*") else host == of_host):
            continue
        if "object" in rule:
            return str(rule["object"]).format_map(matched.groupdict()) + "#viewer"
        return str(rule.get("allow", "403"))
    return "403"


@given(rules(), st.sampled_from(["GET", "PUT", "get"]), st.sampled_from(HOSTS), PATHS)
def test_nothing_is_let_through_that_a_plain_matcher_would_not(
    drawn: list[dict[str, Any]], method: str, host: str, path: str
) -> None:
    file = {"version": 1, "source": "x-original", "identity": {"header": "X-User"}, "rules": drawn}
    table = read_rules(yaml.safe_dump(file, allow_unicode=True), "rules.yaml")
    headers = [
        (b"x-original-method", method.encode()),
        (b"x-original-host", host.encode()),
        (b"x-original-uri", path.encode()),
    ]

    resolution = table.resolve(ForwardedRequest("GET", b"", headers))

    if resolution.access is not Access.NOBODY:
        written = path.partition("?")[0]
        once = unquote(written)
        assert unquote(once) == once
        assert normpath(once) == once.rstrip("/") or once == "/"
        assert written.lower().count("%2f") == 0
        assert not re.search(r"[;\\#\x00-\x1f]", once)
        assert render_resolution(resolution) == match_plainly(drawn, method, host, path)
        denying = [rule for rule in drawn[: resolution.place] if "deny" in rule]
        for rule in denying:
            lowered = {key: value for key, value in rule.items() if key != "deny"} | {"allow": "matched"}
            assert match_plainly([lowered], method, host, once.lower().replace("%", "%25")) != "matched"


def test_the_plain_matcher_lets_something_through() -> None:
    assert (
        match_plainly([{"path": "/x/{a}", "object": "document:{a}"}], "GET", "h", "/x/pl%61n") == "document:plan#viewer"
    )
