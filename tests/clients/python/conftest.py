"""Fixtures for the client for Python."""

from collections.abc import Iterator

import pytest

from tests.databases import new_migrated_file
from tests.running import Client, running_service, settings_for


@pytest.fixture(scope="module")
def shared_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service on one store: what is tested here is a client of the API, which is tested on both."""
    url = new_migrated_file(tmp_path_factory.mktemp("shared") / "magistrate.db")
    with running_service(settings_for(url)) as service, Client(service) as client:
        yield client
