"""/authz under limits, and while keys and rules change: whatever happens, nothing is let through by accident."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from httpx import Response

from magistrate.api.auth.forwarding import ForwardRules
from magistrate.engine.forwarding.rule_files import read_rules
from magistrate.engine.forwarding.rules import ForwardedRequest
from magistrate.errors import InvalidSetting, NotFound, RulesUnavailable
from magistrate.wiring.forward_rules import RuleFile, check_forward_rules
from tests.api.gateways import RULES, Gateway, serving
from tests.conftest import new_database_url
from tests.issuing import wait_for_key
from tests.running import Client, settings_for
from tests.waiting import wait_until

MAX_TRIES = 300
LONG_MS = 60_000
JWT = RULES.replace("identity:\n  header: X-Auth-User", "identity: jwt")
FAST = pytest.mark.parametrize("fast_path", ["true", "false"], ids=["fast path", "framework"])


def ask_until(gateway: Gateway, path: str, status: int) -> Response:
    """The first answer with this status. All before it let the request through."""
    for _ in range(MAX_TRIES):
        answer = gateway.ask(path)
        if answer.status_code == status:
            return answer
        assert answer.status_code == 200
    raise AssertionError("no answer has this status")


@FAST
@pytest.mark.parametrize("path", ["/documents/plan", "/public/x"])
def test_a_gateway_has_the_rate_limit_of_its_key(path: str, fast_path: str, tmp_path: Path) -> None:
    with serving(tmp_path, RULES, rate_limit=20, fast_path=fast_path) as (_, gateway):
        refused = ask_until(gateway, path, 429)

        assert refused.json()["code"] == "too_many_requests"
        assert "X-Magistrate-Subject" not in refused.headers


@FAST
def test_a_store_has_its_rate_limit(fast_path: str, tmp_path: Path) -> None:
    with serving(tmp_path, RULES, fast_path=fast_path) as (client, gateway):
        assert gateway.ask("/documents/plan").status_code == 200
        client.patch("/v2/stores/default", json={"limits": {"requestsPerSecond": 2}}).raise_for_status()

        assert ask_until(gateway, "/documents/plan", 429).json()["message"] == "Too many requests to this store."


@FAST
def test_a_revoked_key_lets_nothing_through_from_then_on(fast_path: str, tmp_path: Path) -> None:
    with serving(tmp_path, RULES, fast_path=fast_path) as (client, gateway):
        assert gateway.statuses(*["/documents/plan"] * 3) == [200] * 3
        [row] = [row for row in client.get("/v2/keys").json()["results"] if row["name"] == "gateway"]

        client.delete(f"/v2/keys/{row['id']}").raise_for_status()
        wait_for_key(client, gateway.key, is_good=False)

        assert gateway.statuses(*["/documents/plan", "/public/x", "/nothing"]) == [401] * 3


@FAST
def test_requests_beyond_the_queue_are_refused_and_checks_go_on(
    fast_path: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The database answers nothing for a while."""
    url = new_database_url("postgres", tmp_path, request)
    limits = {
        "max_running_requests": 1,
        "max_waiting_requests": 1,
        "wait_timeout_ms": LONG_MS,
        "store_timeout_ms": LONG_MS,
        "request_timeout_ms": LONG_MS,
        "graph_filling": False,  # from a filled cache, they would be answered
    }
    with serving(tmp_path, RULES, database_url=url, fast_path=fast_path, **limits) as (client, gateway):
        assert gateway.statuses("/documents/plan", "/public/x") == [200, 200]
        assert client.ask("document:plan#viewer@user:ann").json()["code"] == 200
        with ThreadPoolExecutor(2) as threads, psycopg.connect(url) as connection:
            connection.execute("LOCK TABLE warrant IN ACCESS EXCLUSIVE MODE")
            held = [threads.submit(ask_alone, gateway, f"/documents/new{number}") for number in range(2)]
            wait_until(lambda: find_waiting(client))

            refused = gateway.ask("/documents/plan")
            checked = client.ask("document:plan#viewer@user:ann")
            connection.rollback()
            statuses = [one.result() for one in held]

        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert checked.json()["code"] == 200
        assert statuses == [403, 403]
        assert gateway.ask("/documents/plan").status_code == 200


def ask_alone(gateway: Gateway, path: str) -> int:
    other = Gateway(gateway.url, gateway.key)
    with other.client:
        other.client.timeout = 60
        return other.ask(path).status_code


def find_waiting(client: Client) -> str:
    """The lines of the metrics that say that a request waits."""
    lines = client.get("/metrics").text.splitlines()
    return "\n".join(line for line in lines if "requests_waiting{" in line and not line.endswith(" 0.0"))


@FAST
def test_what_is_kept_of_requests_ends_with_the_rules(fast_path: str, tmp_path: Path) -> None:
    """Requests that came again, and those that differ in other headers."""
    with serving(tmp_path, RULES, fast_path=fast_path) as (_, gateway):
        for number in range(3):
            assert gateway.ask("/public/x").status_code == 200
            assert gateway.ask("/public/x", "ann", ("X-Request-Id", f"{number}")).status_code == 200

        (tmp_path / "rules.yaml").write_text(RULES.replace("allow: anyone", "deny: true"))
        wait_until(lambda: gateway.ask("/public/x").status_code == 403, 10.0)

        assert gateway.ask("/public/x", "ann", ("X-Request-Id", "0")).status_code == 403
        assert gateway.ask("/public/x", "ann", ("X-Request-Id", "9")).status_code == 403


def request_for(path: str, user: str = "ann") -> ForwardedRequest:
    headers = [
        (b"x-original-method", b"GET"),
        (b"x-original-host", b"docs.example"),
        (b"x-original-uri", path.encode()),
        (b"x-auth-user", user.encode()),
    ]
    return ForwardedRequest("GET", b"", headers)


def test_resolutions_are_kept_within_their_bytes() -> None:
    rules = ForwardRules(has_file=True, max_bytes=20_000)
    rules.replace_table(read_rules(RULES, "rules.yaml"))

    for number in range(1_000):
        rules.apply_rules("/authz", request_for(f"/documents/d{number}"))
        assert rules.bytes <= 20_000
    first = rules.apply_rules("/authz", request_for("/documents/d999?other=query"))
    before = rules.bytes
    long = rules.apply_rules("/authz", request_for("/public/" + "x" * 2_000))

    assert first is rules.apply_rules("/authz", request_for("/documents/d999"))
    assert first is not rules.apply_rules("/authz", request_for("/documents/d999", "bob"))
    assert long.resolution.access == "anyone"
    assert before > 10_000
    assert ForwardRules().bytes == 0


def test_without_valid_rules_a_request_is_refused_as_unavailable() -> None:
    with pytest.raises(NotFound, match="--forward-rules names"):
        ForwardRules().apply_rules("/authz", request_for("/"))
    with pytest.raises(RulesUnavailable, match="forward test"):
        ForwardRules(has_file=True).apply_rules("/authz", request_for("/"))


def test_a_worker_that_starts_while_the_file_is_invalid_answers_503_until_it_is_valid(tmp_path: Path) -> None:
    with serving(tmp_path, "version: 2") as (_, gateway):
        assert gateway.statuses("/documents/plan", "/public/x", "/nothing") == [503] * 3

        (tmp_path / "rules.yaml").write_text(RULES)

        wait_until(lambda: gateway.ask("/documents/plan").status_code == 200, 10.0)


@pytest.mark.anyio
async def test_workers_share_the_last_valid_rules(tmp_path: Path) -> None:
    file, shared = tmp_path / "rules.yaml", tmp_path / "shared"
    shared.mkdir()
    file.write_text(RULES)
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", forward_rules=str(file))
    first = await RuleFile(settings, shared).open()

    file.write_text("version: 2")
    later = await RuleFile(settings, shared).open()
    alone = await RuleFile(settings).open()

    for rules in (first, later):
        assert rules.apply_rules("/authz", request_for("/public/x")).resolution.access == "anyone"
    assert alone.table is None
    assert [path.stat().st_mode & 0o777 for path in shared.iterdir()] == [0o600]


def test_a_service_does_not_start_with_rules_that_it_cannot_apply(tmp_path: Path) -> None:
    file, pipe = tmp_path / "rules.yaml", tmp_path / "pipe"
    os.mkfifo(pipe)
    cases = {
        "version: 2": "line 1: version",
        JWT: "is jwt, which needs a provider: --jwt-keys",
    }
    for text, message in cases.items():
        file.write_text(text)
        with pytest.raises(InvalidSetting, match=message):
            check_forward_rules(settings_for(f"sqlite:///{tmp_path}/m.db", forward_rules=str(file)))
    for path, message in {pipe: "must be a regular file", tmp_path / "none": "cannot be read: No such file"}.items():
        with pytest.raises(InvalidSetting, match=message):
            check_forward_rules(settings_for(f"sqlite:///{tmp_path}/m.db", forward_rules=str(path)))


@FAST
def test_rules_that_change_under_load_never_let_through_what_neither_allows(fast_path: str, tmp_path: Path) -> None:
    with serving(tmp_path, RULES, fast_path=fast_path) as (_, gateway):
        done, allowed = threading.Event(), list[str]()

        def attack() -> None:
            other = Gateway(gateway.url, gateway.key)
            with other.client:
                while not done.is_set():
                    for path in ("/documents/plan/", "/documents/other", "/public/../documents/plan", "/nothing"):
                        if other.ask(path).status_code == 200:
                            allowed.append(path)

        with ThreadPoolExecutor(2) as threads:
            attacks = [threads.submit(attack) for _ in range(2)]
            try:
                for text, status in (
                    (RULES.replace("anyone", "authenticated"), 401),
                    ("version: 2", 401),
                    (RULES, 200),
                ):
                    (tmp_path / "rules.yaml").write_text(text)
                    wait_until(lambda status=status: gateway.ask("/public/x", None).status_code == status, 10.0)  # type: ignore[misc]
            finally:
                done.set()
            for one in attacks:
                one.result()
        assert allowed == []
