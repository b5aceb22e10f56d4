"""Which stores begin with the object types of Warrant (docs/stores.md)."""

from pathlib import Path

import pytest

from magistrate.config.settings import ImportTarget
from magistrate.config.settings_table import SETTINGS
from magistrate.engine.model.object_types import PREDEFINED_TYPES
from magistrate.errors import InvalidSetting
from magistrate.wiring.maintenance import import_file
from tests.running import Client, running_service, settings_for

SIX = [object_type.name for object_type in PREDEFINED_TYPES]


def list_types(client: Client, prefix: str = "") -> list[str]:
    return [row["type"] for row in client.get(f"{prefix}/v2/object-types").json()["results"]]


@pytest.mark.parametrize(
    ("given", "of_default", "of_others"), [(None, SIX, []), ("default", SIX, []), ("true", SIX, SIX), ("false", [], [])]
)
def test_the_setting_says_which_stores_begin_with_the_types(
    database_url: str, given: str | None, of_default: list[str], of_others: list[str]
) -> None:
    settings = settings_for(database_url, **({} if given is None else {"predefined_types": given}))
    with running_service(settings) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "acme"}).raise_for_status()

        assert list_types(client) == of_default
        assert list_types(client, "/stores/acme") == of_others


def test_a_store_with_the_model_of_another_gets_no_other_types(database_url: str) -> None:
    with running_service(settings_for(database_url, predefined_types="true")) as url, Client(url) as client:
        client.put("/v2/object-types?replace=true", json=[{"type": "page", "relations": {}}]).raise_for_status()
        client.post("/v2/stores", json={"name": "acme", "from": "default"}).raise_for_status()

        assert list_types(client, "/stores/acme") == ["page"]


def test_a_service_that_starts_again_changes_no_store(database_url: str) -> None:
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.put("/v2/object-types?replace=true", json=[{"type": "page", "relations": {}}]).raise_for_status()

    with running_service(settings_for(database_url, predefined_types="true")) as url, Client(url) as client:
        assert list_types(client) == ["page"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("GET", "object-types", None), ("GET", "users", None), ("POST", "tenants", {"tenantId": "acme"})],
)
def test_v1_brings_the_types_to_a_store_that_was_never_written_to(
    database_url: str, method: str, path: str, body: dict[str, str] | None
) -> None:
    with running_service(settings_for(database_url, predefined_types="false")) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "other"}).raise_for_status()

        answer = client.request(method, f"/v1/{path}", json=body)

        assert answer.status_code == 200, answer.text
        assert list_types(client) == SIX
        assert list_types(client, "/stores/other") == []


def test_v1_leaves_a_store_alone_that_was_written_to(database_url: str) -> None:
    with running_service(settings_for(database_url, predefined_types="false")) as url, Client(url) as client:
        client.define({"page": {}})

        assert client.get("/v1/users").json() == []
        assert [row["type"] for row in client.get("/v1/object-types").json()] == ["page"]

    with running_service(settings_for(database_url, predefined_types="false")) as url, Client(url) as client:
        client.delete("/v2/object-types/page").raise_for_status()

        assert client.get("/v1/object-types").json() == []  # it is empty, but was written to


def test_a_refused_request_to_v1_brings_nothing(database_url: str) -> None:
    with running_service(settings_for(database_url, predefined_types="false")) as url, Client(url) as client:
        assert client.get("/v1/users", headers={"Authorization": "ApiKey wrong"}).status_code == 401
        assert client.post("/v1/users", content=b"{").status_code == 400

        assert list_types(client) == []


def test_an_import_begins_the_store_that_it_writes_to_as_the_service_would(database_url: str, tmp_path: Path) -> None:
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "acme"}).raise_for_status()
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"type": "page", "relations": {}}\n')
    for store in ("acme", ""):
        with lines.open("rb") as file:
            import_file(ImportTarget(settings_for(database_url), 100, store), file, None, lambda reached: None)

    with running_service(settings_for(database_url)) as url, Client(url) as client:
        assert list_types(client, "/stores/acme") == ["page"]
        assert list_types(client) == sorted([*SIX, "page"])


def test_another_value_is_refused() -> None:
    [setting] = [setting for setting in SETTINGS if setting.name == "predefined_types"]
    assert (setting.is_boolean, setting.default_text) == (True, "default")
    with pytest.raises(InvalidSetting, match="--predefined-types must be true, default or false, not 'some'"):
        settings_for("sqlite:///unused.db", predefined_types="some")
