"""Fixtures for the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cases import Magistrate
from tests.conftest import list_by_day
from tests.databases import new_migrated_file
from tests.reference_server import Reference
from tests.running import Client, running_service, settings_for


@pytest.fixture(scope="module")
def shared_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service on one store: commands are clients of the API, which is tested on both."""
    url = new_migrated_file(tmp_path_factory.mktemp("shared") / "magistrate.db")
    with running_service(settings_for(url)) as service, Client(service) as client:
        yield client


@pytest.fixture
def magistrate(shared_client: Client) -> Magistrate:
    return Magistrate(str(shared_client.base_url))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """For what has nothing to do with the store."""
    return f"sqlite:///{tmp_path}/new.db"


CROSSWISE = pytest.mark.parametrize(
    ("reference", "database_url"),
    [
        ("sqlite", "postgres"),
        ("postgresql", "sqlite"),
        pytest.param("sqlite", "sqlite", marks=pytest.mark.nightly),
        pytest.param("postgresql", "postgres", marks=pytest.mark.nightly),
    ],
    indirect=True,
)
"""Is for tests of what is read from one database and written to another."""


@pytest.fixture(params=list_by_day(["sqlite", "postgresql"], 1))
def reference(request: pytest.FixtureRequest) -> Reference:
    """More than a page of everything; objects of different types with one id; a type that nobody defined."""
    server = Reference(database=request.param, most=5)
    for name in ("document", "folder", "team", "user"):
        server.define(name, "member", "viewer")
    server.add(
        *(f"{of_type}:{object_id}" for of_type in ("folder", "document", "ghost") for object_id in ("a", "b", "c", "d"))
    )
    server.grant("team:eng#member@user:ann", "document:a#viewer@team:eng#member")
    server.grant(*(f"document:d{number}#viewer@user:u{number % 3}" for number in range(8)))
    server.grant("document:*#viewer@user:root", "folder:a#viewer@user:*", 'folder:b#viewer@user:bob[day == "monday"]')
    return server
