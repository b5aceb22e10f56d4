"""/authz: gateways learn whether a request may pass, by the rules of a file."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.api.gateways import RULES, Gateway, serving
from tests.issuing import issue_key
from tests.leaks import keep_secret
from tests.running import KEY, Client, running_service, settings_for
from tests.waiting import wait_until


@pytest.fixture(params=["true", "false"], ids=["fast path", "framework"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Client, Gateway]]:
    with serving(tmp_path, RULES, fast_path=request.param, decision_log=100) as both:
        yield both


@pytest.fixture
def gateway(served: tuple[Client, Gateway]) -> Gateway:
    return served[1]


def test_a_request_passes_if_the_check_is_allowed(gateway: Gateway) -> None:
    for _ in range(3):
        allowed, denied = gateway.ask("/documents/plan"), gateway.ask("/documents/plan", "bob")

        assert (allowed.status_code, allowed.headers["X-Magistrate-Subject"]) == (200, "user:ann")
        assert (denied.status_code, denied.json()["code"]) == (403, "forbidden")
        assert "X-Magistrate-Subject" not in denied.headers
        assert gateway.ask("/documents/caf%C3%A9", "zoë").headers["X-Magistrate-Subject"] == "user:zo%C3%AB"


def test_the_answer_follows_writes_and_takes_tokens(served: tuple[Client, Gateway]) -> None:
    client, gateway = served
    assert gateway.statuses("/documents/new") == [403]

    token = client.post("/v2/warrants", json=_warrant("new")).headers["Warrant-Token"]

    assert gateway.ask("/documents/new", "ann", ("Warrant-Token", token)).status_code == 200
    assert gateway.ask("/documents/new").headers["Warrant-Token"] >= token


def _warrant(object_id: str) -> Mapping[str, object]:
    subject = {"objectType": "user", "objectId": "ann"}
    return {"objectType": "document", "objectId": object_id, "relation": "viewer", "subject": subject}


def test_rules_without_a_check(gateway: Gateway) -> None:
    anyone, known = gateway.ask("/public/a/b", None), gateway.ask("/profile")

    assert (anyone.status_code, anyone.headers["X-Magistrate-Subject"]) == (200, "")
    assert (known.status_code, known.headers["X-Magistrate-Subject"]) == (200, "user:ann")
    assert gateway.ask("/public/x").headers["X-Magistrate-Subject"] == "user:ann"


def test_without_a_subject_the_answer_is_401(gateway: Gateway) -> None:
    for path in ("/documents/plan", "/profile"):
        refused = gateway.ask(path, None)
        assert (refused.status_code, "WWW-Authenticate" in refused.headers) == (401, True)
    assert gateway.ask("/documents/plan", "").status_code == 401


HOSTILE = [
    "//documents/plan", "/documents//plan", "/documents/../documents/plan", "/documents/./plan", "/documents/%2e/plan",
    "/documents%2fplan", "/documents%5cplan", "/documents/plan;x", "/documents/plan%3bx", "/documents/%2570lan",
    "/documents/plan%00", "/DOCUMENTS/plan", "/documents/plan/", "/documents/plan%20", "/documents/plan.",
    "/documents/*", "/documents/", "/documents", "/nothing", "/", "", "plan", "https://docs.example/documents/plan",
    "/public/../documents/plan", "/secrets/x", "/documents/" + "x" * 3_000, "/public/" + "x/" * 5_000,
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE)
def test_what_is_ambiguous_or_matches_nothing_is_refused(path: str, gateway: Gateway) -> None:
    assert gateway.statuses(path, path) == [403, 403]


def test_missing_doubled_and_spoofed_headers_never_allow(gateway: Gateway) -> None:
    for _ in range(2):
        for name in ("X-Original-URI", "X-Original-Method", "X-Original-Host", "X-Auth-User"):
            value = {"X-Original-URI": "/documents/plan", "X-Original-Method": "GET"}.get(name, "ann")
            assert gateway.ask("/documents/plan", "ann", (name, value)).status_code == 403
            assert gateway.ask("/documents/other", "ann", (name, value)).status_code == 403
        spoofed = [("X-Forwarded-Uri", "/documents/plan"), ("X-Forwarded-User", "ann"), ("Remote-User", "ann")]
        assert gateway.ask("/documents/other", None, *spoofed).status_code == 401
        assert gateway.ask("/documents/plan", "bob", *spoofed).status_code == 403
        assert gateway.ask("/documents/plan", "ann, bob").status_code == 403
        assert gateway.send("GET", "/authz", [("X-Magistrate-Key", gateway.key)]).status_code == 403
        huge = gateway.ask("/documents/plan", "ann", ("X-Padding", "x" * 100_000))
        assert huge.status_code == 431


def test_the_gateway_has_a_key_of_its_scope(served: tuple[Client, Gateway]) -> None:
    client, gateway = served
    other = issue_key(client, "checker", "check")
    keep_secret([other])
    own = ("X-Magistrate-Key", gateway.key)

    for _ in range(2):
        assert gateway.ask("/public/x", key=None).status_code == 401
        assert gateway.ask("/public/x", "ann", ("Authorization", f"ApiKey {KEY}"), key=None).status_code == 401
        assert gateway.ask("/public/x", key="wrong").status_code == 401
        assert gateway.ask("/public/x", "ann", own).status_code == 401
        assert gateway.ask("/public/x", key=other).status_code == 403
        assert gateway.ask("/public/x", key=KEY).status_code == 200
    with Client(gateway.url, gateway.key) as checking:
        assert checking.ask("document:plan#viewer@user:ann").status_code == 403


def test_a_key_that_is_limited_to_types_checks_no_others(served: tuple[Client, Gateway]) -> None:
    client, gateway = served
    created = client.post("/v2/keys", json={"name": "files", "scopes": ["forward"], "objectTypes": ["user"]})
    key = created.json()["key"]
    keep_secret([key])

    assert gateway.ask("/documents/plan", key=key).status_code == 403
    assert gateway.ask("/public/x", key=key).status_code == 200


def test_a_decision_is_in_the_log_of_decisions(served: tuple[Client, Gateway]) -> None:
    client, gateway = served
    gateway.statuses("/documents/plan", "/documents/other")

    def list_logged() -> set[tuple[str, str]]:
        events = client.get("/v2/access-events", params={"source": "api"}).json()["results"]
        return {(event["type"], event["objectId"]) for event in events}

    wait_until(lambda: {("access_allowed", "plan"), ("access_denied", "other")} <= list_logged(), 10.0)


def test_any_method_of_a_gateway_is_answered(tmp_path: Path) -> None:
    """Envoy sends the method and the path of the original request."""
    with serving(tmp_path, RULES.replace("x-original", "envoy")) as (_, gateway):
        headers = [("X-Magistrate-Key", gateway.key), ("X-Auth-User", "ann")]
        for _ in range(2):
            for method, status in {"GET": 200, "HEAD": 200, "POST": 403, "PUT": 403, "OPTIONS": 403}.items():
                answer = gateway.send(method, "/authz/documents/plan?x=1", headers)
                assert (answer.status_code, not answer.content) == (status, method == "HEAD"), method
            assert gateway.send("PATCH", "/authz/public/x", headers).status_code == 200
            assert gateway.send("GET", "/authz", headers).status_code == 403
            assert gateway.send("GET", "/authz/documents%2fplan", headers).status_code == 403
            assert gateway.send("GET", "/authzen/documents/plan", headers).status_code == 404


def test_a_session_of_the_store_of_the_gateway_says_who_it_is(tmp_path: Path) -> None:
    text = RULES.replace("identity:\n  header: X-Auth-User", "identity: session")
    with serving(tmp_path, text) as (client, gateway):
        token = client.post("/v2/sessions", json={"type": "sess", "userId": "ann"}).json()["token"]
        keep_secret([token])
        bearer = ("Authorization", f"Bearer {token}")
        client.post("/v2/stores", json={"name": "acme"}).raise_for_status()
        stranger = client.post("/stores/acme/v2/sessions", json={"type": "sess", "userId": "ann"}).json()["token"]
        keep_secret([stranger])

        allowed = gateway.ask("/documents/plan", "bob", bearer)

        assert (allowed.status_code, allowed.headers["X-Magistrate-Subject"]) == (200, "user:ann")
        assert gateway.ask("/documents/other", None, bearer).status_code == 403
        assert gateway.ask("/documents/plan", "ann").status_code == 401
        assert gateway.ask("/documents/plan", None, ("Authorization", f"Bearer {stranger}")).status_code == 401
        assert gateway.ask("/documents/plan", None, ("Authorization", f"Bearer {token}x")).status_code == 401
        assert gateway.ask("/documents/plan", None, ("Authorization", f"ApiKey {KEY}")).status_code == 401
        assert gateway.ask("/documents/plan", None, bearer, bearer).status_code == 403
        assert gateway.ask("/public/x", None, ("Authorization", "Basic x")).status_code == 200


def test_rules_are_read_again_and_invalid_ones_leave_those_before(tmp_path: Path) -> None:
    with serving(tmp_path, RULES) as (_, gateway):
        file = tmp_path / "rules.yaml"
        assert gateway.statuses("/public/x", "/public/x", "/other/x") == [200, 200, 403]

        file.write_text(RULES.replace("/public/", "/other/"))
        wait_until(lambda: gateway.statuses("/public/x", "/other/x") == [403, 200], 10.0)
        file.write_text("version: 2")
        time.sleep(2.5)

        assert gateway.statuses("/public/x", "/other/x") == [403, 200]


def test_a_service_without_rules_lets_nothing_through(tmp_path: Path) -> None:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url:
        gateway = Gateway(url, KEY)
        with gateway.client:
            assert gateway.statuses("/public/x", "/") == [404, 404]


def test_denials_are_no_refused_callers_in_the_audit_log(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    with serving(tmp_path, RULES, audit_log=str(log)) as (_, gateway):

        def list_refused() -> list[bool]:
            written = log.read_text() if log.exists() else ""
            lines = [line for line in written.splitlines() if '"path":"/authz"' in line]
            return ['"status":401' in line for line in lines]

        gateway.statuses("/documents/other", "/documents/../x", "/secrets/x")
        gateway.ask("/public/x", key="wrong")
        wait_until(lambda: bool(list_refused()), 10.0)

        assert list_refused() == [True]
