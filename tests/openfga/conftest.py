"""The API of OpenFGA is tested on both databases, and with the fast path as well as without it."""

import pytest

from tests.api.conftest import client as client
from tests.api.conftest import shared_client as shared_client
from tests.api.conftest import started_services as started_services
from tests.openfga.conversation import OpenFga
from tests.running import Client


@pytest.fixture
def openfga(shared_client: Client) -> OpenFga:
    """A client of a new store."""
    return OpenFga.create(shared_client)
