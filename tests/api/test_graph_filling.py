"""A service that fills its caches before it is ready."""

import pytest

from tests.metrics import sum_metric
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

TYPES = [
    {"type": "user", "relations": {}},
    {"type": "team", "relations": {"member": {}}},
    {"type": "document", "relations": {"viewer": {}}},
]
CHECKS = {"document:plan#viewer@user:ann": "Authorized", "document:draft#viewer@user:ann": "Not Authorized"}


def fill(client: Client, prefix: str) -> None:
    client.put(f"{prefix}/v2/object-types", json=TYPES).raise_for_status()
    for text in ("document:plan#viewer@team:eng#member", "team:eng#member@user:ann", "document:draft#viewer@user:bob"):
        client.post(f"{prefix}/v2/warrants", json=warrant_body(text)).raise_for_status()


@pytest.mark.parametrize("preloads", [True, False])
def test_the_first_checks_of_all_stores_find_everything_in_the_cache(database_url: str, preloads: bool) -> None:
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "other"}).raise_for_status()
        for prefix in ("", "/stores/other"):
            fill(client, prefix)

    settings = settings_for(database_url, graph_preload=str(preloads), graph_filling="false")
    with running_service(settings) as url, Client(url) as client:
        for prefix in ("", "/stores/other"):
            for text, expected in CHECKS.items():
                answer = client.post(f"{prefix}/v2/check", json={"warrants": [warrant_body(text)]})
                assert answer.json()["result"] == expected
        hits, misses = (sum_metric(client, f"magistrate_graph_{name}_total") for name in ("hits", "misses"))

    assert (misses == 0) == preloads
    assert hits + misses <= 2 * len(CHECKS)


def test_it_is_ready_with_what_fits_or_was_read_in_time(database_url: str) -> None:
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        fill(client, "")

    settings = settings_for(database_url, graph_preload="true", graph_preload_seconds=1, cache_bytes=0)
    with running_service(settings) as url, Client(url) as client:
        assert client.get("/readyz").status_code == 200
        [text, *_] = CHECKS
        answer = client.post("/v2/check", json={"warrants": [warrant_body(text)]})
        assert answer.json()["result"] == "Authorized"
