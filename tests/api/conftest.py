"""Everything about HTTP is tested on both stores, and where the fast path may answer, without it, too, at night:
`test_fast_path.py` compares the answers."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from tests.conftest import new_database_url
from tests.running import Client, running_service, settings_for

_numbers = count(1)
WITHOUT_FAST_PATH = "sqlite-without-fast-path"
SERVICES = ("sqlite", "postgres", pytest.param(WITHOUT_FAST_PATH, marks=pytest.mark.nightly))
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

WITH_NEW_STORES = frozenset(
    f"tests.api.test_{name}"
    for name in (
        "allowed_types",
        "authzen_actions",
        "check",
        "combined_explain",
        "combined_reads",
        "deleting_by_filter",
        "descriptions",
        "difference",
        "explain",
        "idempotency",
        "lists",
        "model_tests",
        "models",
        "object_types",
        "objects",
        "policies",
        "query",
        "rendering",
        "strict",
        "tokens",
        "warrants",
        "webhooks",
        "writes",
    )
)
"""Names the modules whose tests need an empty store and mind neither which one it is nor the rest of the service. A new
store takes a fraction of the time of a service."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if not is_repeated(item)]


def is_repeated(item: pytest.Item) -> bool:
    """Whether the same test with the fast path does the same."""
    is_in_module = isinstance(item, pytest.Function) and item.module.__name__ in WITHOUT_FAST_ROUTES
    return is_in_module and WITHOUT_FAST_PATH in item.name


@pytest.fixture(scope="module")
def started_services(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Client]]:
    """Returns a client of a service, which is started when a test of the module needs it first."""
    with ExitStack() as stack:

        @cache
        def start(kind: str) -> Client:
            folder = tmp_path_factory.mktemp("started")
            return stack.enter_context(_client_of(kind, request, folder, predefined_types="true"))

        yield start


@pytest.fixture(params=SERVICES)
def client(
    request: pytest.FixtureRequest, tmp_path: Path, started_services: Callable[[str], Client]
) -> Iterator[Client]:
    """A client whose store is fresh: that of a service of its own, or a new one in a service of the module."""
    kind: str = request.param
    is_one_of_many = request.module.__name__ in WITH_NEW_STORES
    with _new_store(started_services(kind)) if is_one_of_many else _client_of(kind, request, tmp_path) as client:
        yield client


@pytest.fixture(scope="module", params=SERVICES)
def shared_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service that all tests of a module share: for tests that do not mind what others leave behind."""
    with _client_of(request.param, request, tmp_path_factory.mktemp("shared")) as client:
        yield client


@contextmanager
def _client_of(kind: str, request: pytest.FixtureRequest, folder: Path, **given: str) -> Iterator[Client]:
    store, _, without = kind.partition("-")
    settings = settings_for(new_database_url(store, folder, request), fast_path=0 if without else 1, **given)
    with running_service(settings) as url, Client(url) as client:
        yield client


@contextmanager
def _new_store(operator: Client) -> Iterator[Client]:
    """A client with a key that may do everything in a store that is made for it."""
    name = f"own-{next(_numbers)}"
    operator.post("/v2/stores", json={"name": name}).raise_for_status()
    issued = operator.post(f"/stores/{name}/v2/keys", json={"name": "own", "scopes": ["admin"]})
    with Client(str(operator.base_url), issued.json()["key"]) as client:
        yield client
