"""What needs no key: health, readiness, and the description of the API."""

import asyncio
import re
import threading
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from magistrate import __version__
from magistrate.api.authzen.routes import WELL_KNOWN
from magistrate.api.calls import Service
from magistrate.api.endpoints.public import PAGES, LongPage
from magistrate.api.http.metrics import METRICS, ProcessCounts, SharedCounts, exposition
from magistrate.api.route_table import ROUTES
from magistrate.commit import COMMIT
from tests.databases import PostgresServer
from tests.running import KEY, Client, running_service, settings_for


def never_opened() -> Service:
    raise AssertionError


def keyless(client: Client) -> Client:
    return Client(str(client.base_url), "no-key")


def test_these_and_only_these_pages_need_no_key(shared_client: Client) -> None:
    with keyless(shared_client) as client:
        for path in ("/healthz", "/readyz", "/openapi.json", "/docs"):
            assert client.get(path).status_code == 200
        for route in ROUTES:
            path = route.path.replace("{", "").replace("}", "")
            assert client.request(route.method, path, content=b"{}").status_code == 401
        assert client.get("/metrics").status_code == 401
    metadata = {WELL_KNOWN, f"{WELL_KNOWN}/{{base:path}}"}
    assert {page.path for page in PAGES} - metadata == {"/healthz", "/readyz", "/openapi.json", "/docs", "/metrics"}


def test_health_and_readiness(shared_client: Client) -> None:
    healthy = {"status": "healthy", "version": __version__, "commit": COMMIT}
    assert shared_client.get("/healthz").json() == healthy
    assert shared_client.get("/readyz").json() == {"status": "ready"}


def test_a_service_whose_store_is_not_migrated_is_not_ready_but_healthy(tmp_path: Path) -> None:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        apsw.Connection(f"{tmp_path}/m.db").execute("DELETE FROM migration")

        not_ready = client.get("/readyz")

        assert not_ready.status_code == 503
        assert not_ready.json()["code"] == "unavailable"
        assert "schema 0" in not_ready.json()["message"]
        assert client.get("/healthz").status_code == 200


def test_a_service_survives_the_loss_of_its_connections(postgres: PostgresServer) -> None:
    database_url = postgres.new_url()
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        for _ in range(3):
            assert client.post("/v2/objects", json={"objectType": "d"}).status_code == 200
            postgres.terminate_connections(database_url)
            assert client.get("/v2/objects").status_code == 200
        assert client.get("/readyz").status_code == 200
        assert len(client.get("/v2/objects").json()["results"]) == 3


def test_the_page_of_the_api_needs_no_script_and_nothing_from_elsewhere(shared_client: Client) -> None:
    page = shared_client.get("/docs")

    assert page.headers["content-type"].startswith("text/html")
    assert {*re.findall(r'(?:src|href)="([^"#]+)"', page.text)} == {
        "openapi.json",
        "console/icon.svg",
        "docs/reference.css",
        "docs/reference.js",
    }
    assert re.findall(r"https?://[^ <&]*", re.sub(r"<pre>.*?</pre>", "", page.text, flags=re.DOTALL)) == []
    for route in ROUTES:
        assert route.path in page.text
        assert route.summary in page.text


def test_without_the_console_a_browser_runs_nothing_in_the_page_of_the_api(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", console="off")
    with running_service(settings) as url, Client(url) as client:
        page = client.get("/docs")
        files = [client.get(path).status_code for path in ("/docs/reference.js", "/docs/reference.css")]

    assert files == [404, 404]
    assert not re.search("<script|<link", page.text)
    assert "script-src" not in page.headers["content-security-policy"]


def test_a_browser_runs_no_script_in_the_page_of_the_api_but_ours(shared_client: Client) -> None:
    page = shared_client.get("/docs")

    [style] = re.findall("<style>(.*?)</style>", page.text, re.DOTALL)
    style_hash = b64encode(sha256(style.encode()).digest()).decode()
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["style-src"] == f"'sha256-{style_hash}' 'self'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["trusted-types"] == "'none'"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["x-frame-options"] == "DENY"
    assert " style=" not in page.text


def test_metrics_count_requests_by_route_and_status(shared_client: Client) -> None:
    shared_client.get("/v2/objects/d/missing")

    metrics = shared_client.get("/metrics", headers={"Authorization": f"ApiKey {KEY}"})

    label = 'magistrate_requests_total{method="GET",route="/v2/objects/{objectType}/{objectId}",status="404"}'
    assert metrics.headers["content-type"].startswith("text/plain")
    assert label in metrics.text


def test_metrics_have_no_series_for_each_method_that_a_path_does_not_have(shared_client: Client) -> None:
    for method in ("COPY", "LOCK", "PROPFIND"):
        assert shared_client.request(method, "/v2/objects").status_code == 404

    metrics = shared_client.get("/metrics", headers={"Authorization": f"ApiKey {KEY}"})

    assert 'method="COPY",route="",status="404"' in metrics.text
    assert 'method="COPY",route="/' not in metrics.text


def test_metrics_are_published_by_one_thread_and_rendered_by_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads that published at once would write to one file."""
    monkeypatch.setattr(METRICS, "shared_counts", SharedCounts(tmp_path))

    own = METRICS.collect_values()
    before = exposition(own)
    written_by_rendering = [*tmp_path.iterdir()]
    published = METRICS.publish_values()

    assert b"magistrate_statements_total 0.0" in before
    assert written_by_rendering == []
    assert len([*tmp_path.iterdir()]) == 1
    assert METRICS.shared_counts is not None
    assert [one.pid for one in METRICS.shared_counts.read()] == [published.pid]


def test_metrics_have_the_lists_of_all_workers_by_evaluator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = SharedCounts(tmp_path)
    monkeypatch.setattr(METRICS, "shared_counts", shared)
    other = ProcessCounts(2, [], {"lists": {"bitmaps": 3, "kept": 1}, "lists_seconds": {"bitmaps": 0.5, "kept": 0}})
    shared.write(other)
    SharedCounts(tmp_path).write(ProcessCounts(3, [], {"lists": {"bitmaps": 2}, "lists_seconds": {"bitmaps": 0.25}}))

    text = exposition(other).decode()

    assert 'magistrate_lists_total{evaluator="bitmaps"} 5.0' in text
    assert 'magistrate_lists_total{evaluator="kept"} 1.0' in text
    assert 'magistrate_lists_seconds_total{evaluator="bitmaps"} 0.75' in text


@pytest.mark.anyio
async def test_a_page_that_takes_long_is_rendered_once_and_in_a_thread() -> None:
    rendered_in: list[int] = []

    def render() -> bytes:
        rendered_in.append(threading.get_ident())
        return b"long"

    page = LongPage(render)

    assert await asyncio.gather(*(page.respond(never_opened, "/") for _ in range(20))) == [b"long"] * 20
    assert len(rendered_in) == 1
    assert rendered_in != [threading.get_ident()]
