"""Everything about HTTP is tested on both stores, and where the fast path may answer, without it, too."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import new_database_url
from tests.running import Client, running_service, settings_for

WITHOUT_FAST_PATH = "sqlite-without-fast-path"
SERVICES = ("sqlite", "postgres", WITHOUT_FAST_PATH)
WITHOUT_FAST_ROUTES = frozenset(
    f"tests.api.test_{name}"
    for name in (
        "catching_up",
        "console",
        "descriptions",
        "difference",
        "head",  # no request with this method is fast
        "idempotency",
        "keys",
        "lists",
        "model_tests",
        "models",
        "object_types",
        "objects",
        "openapi",
        "public",
        "rendering",
        "saved_queries",
        "warrants",
        "watch",
        "watch_access",
        "webhooks",
    )
)
"""Names the modules that send no request to which the fast path has a route, or only what it leaves to the framework:
with it and without it, the same code answers them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if not is_repeated(item)]


def is_repeated(item: pytest.Item) -> bool:
    """Whether the same test with the fast path does the same."""
    is_in_module = isinstance(item, pytest.Function) and item.module.__name__ in WITHOUT_FAST_ROUTES
    return is_in_module and WITHOUT_FAST_PATH in item.name


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
