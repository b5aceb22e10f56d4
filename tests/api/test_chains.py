"""Object types whose relations depend on each other for thousands of them, or whose rules are in each other as deep
as a body may nest: written, read, checked, queried, explained and imported like any other."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chains import CHAINS, EVERY_CHAIN, WARRANTS, combined, same
from tests.cli.cases import Magistrate
from tests.conftest import STORES, new_database_url
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

LONG = {"sqlite": 2_000, "postgres": 1_000}
"""Twice as long as Python may nest calls, and its square is more than `max_check_work`. A chain of links is read one by
one, which the other store makes no longer, but slower."""
DEEPEST = 99
"""Rules in each other, in a body that may nest 200 arrays and objects: two of them for each rule."""


@pytest.fixture(scope="module", params=STORES)
def store_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def length(store_kind: str) -> int:
    return LONG[store_kind]


@pytest.fixture(scope="module")
def served(
    store_kind: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    url = new_database_url(store_kind, tmp_path_factory.mktemp("chains"), request)
    limits = {
        "max_definition_bytes": 1_048_576,
        "max_json_depth": 200,
        "max_check_work": 1_000_000,
        "cache_bytes": 50_000_000,
    }
    with running_service(settings_for(url, **limits)) as service, Client(service) as client:
        client.timeout = 120
        yield client


def nested(keyword: str) -> dict[str, Any]:
    rule = same("last")
    for _ in range(DEEPEST - 1):
        rule = combined(keyword, rule)
    return rule


@EVERY_CHAIN
def test_a_chain_of_relations_is_like_any_other_type(name: str, length: int, served: Client) -> None:
    chain = CHAINS[name]
    relations = chain.relations(length)
    holds = "r0" in chain.holding(length)

    created = served.post("/v2/object-types", json={"type": "doc", "relations": relations})
    served.grant(*WARRANTS, f"doc:d#r{length}@user:ann")
    read = served.get("/v2/object-types/doc")
    asked = served.ask("doc:d#r0@user:ann")
    explained = served.ask("doc:d#r0@user:ann", debug=True)
    objects = served.get("/v2/query", params={"q": "select doc where user:ann is r0"})
    subjects = served.get("/v2/query", params={"q": "select r0 of type user for doc:d"})

    assert (created.status_code, read.json()["relations"]) == (200, relations)
    assert asked.json()["code"] == explained.json()["code"] == (200 if holds else 403)
    for found, object_id in ((objects, "d"), (subjects, "ann")):
        assert [row["objectId"] for row in found.json()["results"]] == ([object_id] if holds else [])
    served.delete_json("/v2/warrants", [warrant_body(f"doc:d#r{length}@user:ann")]).raise_for_status()


@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "noneOf"])
def test_rules_in_each_other_as_deep_as_a_body_may_nest_are_like_any_other(keyword: str, served: Client) -> None:
    relations = {"first": nested(keyword), "last": {}}
    holds = keyword != "noneOf" or DEEPEST % 2 == 1  # an even number of them around the last

    created = served.post("/v2/object-types", json={"type": "deep", "relations": relations})
    served.grant("deep:d#last@user:ann")
    asked = served.ask("deep:d#first@user:ann", debug=True)
    found = served.get("/v2/query", params={"q": "select deep where user:ann is first"})
    told = Magistrate(str(served.base_url)).done("types", "show", "deep")
    deeper = served.post(
        "/v2/object-types", json={"type": "deep", "relations": {"x": combined("anyOf", nested(keyword))}}
    )

    assert (created.status_code, served.get("/v2/object-types/deep").json()["relations"]) == (200, relations)
    assert asked.json()["code"] == (200 if holds else 403)
    assert len(found.json()["results"]) == holds
    assert "last" in told
    assert (deeper.status_code, deeper.json()["code"]) == (400, "invalid_request")


def test_a_chain_is_reported_applied_and_imported_by_commands(length: int, served: Client, tmp_path: Path) -> None:
    relations = CHAINS["mixed"].relations(length)
    magistrate = Magistrate(str(served.base_url))
    file = tmp_path / "types.json"
    file.write_text(json.dumps({"doc": relations}))
    lines = tmp_path / "all.jsonl"
    lines.write_text(json.dumps({"type": "doc", "relations": relations}) + "\n")
    database = f"sqlite:///{tmp_path}/imported.db"

    applied = magistrate.done("types", "apply", str(file))
    told = magistrate.done("types", "show", "doc")
    command = [sys.executable, "-m", "magistrate", "import", str(lines), "--database-url", database]
    limit = {"MAGISTRATE_MAX_DEFINITION_BYTES": "1048576"}
    imported = subprocess.run(command, env=os.environ | limit, capture_output=True, text=True, timeout=300)

    assert applied.split()[1] == "doc"
    assert len(told.splitlines()) > length
    assert imported.returncode == 0, imported.stderr
    assert "1 object types" in imported.stdout
