"""Everything about HTTP is tested on both stores, and with the fast path as well as without it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import new_database_url
from tests.running import Client, running_service, settings_for

SERVICES = ("sqlite", "postgres", "sqlite-without-fast-path")


@pytest.fixture(params=SERVICES)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    """A client of a service whose store is fresh."""
    with _client_of(request, tmp_path) as client:
        yield client


@pytest.fixture(scope="module", params=SERVICES)
def shared_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service that all tests of a module share: for tests that do not mind what others leave behind."""
    with _client_of(request, tmp_path_factory.mktemp("shared")) as client:
        yield client


@contextmanager
def _client_of(request: pytest.FixtureRequest, folder: Path) -> Iterator[Client]:
    store, _, without = request.param.partition("-")
    settings = settings_for(new_database_url(store, folder, request), fast_path=0 if without else 1)
    with running_service(settings) as url, Client(url) as client:
        yield client
