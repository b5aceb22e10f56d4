"""Fixtures for the command line."""

import pytest

from tests.cli.asking import Magistrate
from tests.running import Client


@pytest.fixture
def magistrate(shared_client: Client) -> Magistrate:
    return Magistrate(str(shared_client.base_url))
