"""Fixtures for all tests. Whatever uses a store or HTTP runs on SQLite and on PostgreSQL."""

import gc
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from magistrate.store.contract.store import Store
from magistrate.wiring.garbage_collection import SURVIVORS
from magistrate.wiring.stores import migrate_store, open_store
from tests.databases import PostgresServer, new_migrated_file, postgres_server
from tests.leaks import pytest_runtest_makereport as pytest_runtest_makereport
from tests.running import Client, running_service, settings_for, wait_for_stopped_services
from tests.standby import Standby, require_replication, standby_of

TESTS = Path(__file__).parent
LONG_FILES = (
    "test_query_scenarios.py",
    "test_check_scenarios.py",
    "test_docs.py",
    "operations/test_check.py",
    "processes/test_supervisor.py",
    "processes/test_tracing.py",
    "processes/test_serve.py",
    "processes/test_keys.py",
    "test_outgoing.py",
    "api/test_store_matrix.py",
    "api/test_slow_readers.py",
    "engine/test_chains.py",
    "processes/test_memory.py",
    "api/test_openapi.py",
    "engine/rules/test_operators.py",
    "processes/test_webhooks.py",
    "cli/test_prompts.py",
    "cli/test_backups.py",
    "engine/test_denial_reasons.py",
    "processes/test_tls.py",
    "api/test_replicas.py",
    "processes/test_log.py",
    "api/test_lost_writes.py",
    "cli/test_documents.py",
    "processes/test_temporary.py",
    "history_check/test_planted_faults.py",
    "api/test_watch.py",
    "cli/test_import.py",
    "clients/test_go_client.py",
    "browser/test_console_quality.py",
    "cli/test_comparing.py",
    "clients/python/test_allowed.py",
    "processes/test_audit.py",
    "store/test_atomicity.py",
    "operations/test_storms.py",
    "processes/test_observing.py",
    "processes/test_read_only.py",
    "clients/conformance/test_typescript.py",
    "processes/test_admin_port.py",
    "store/test_sealing.py",
    "properties/test_difference.py",
    "operations/test_bitmap_listings.py",
    "processes/test_backups.py",
    "engine/policy/test_parser.py",
    "operations/test_graph_filling.py",
    "clients/test_typescript_package.py",
    "cli/test_warrant_migration.py",
    "store/test_planner_statistics.py",
    "api/test_chains.py",
    "api/test_authz.py",
    "api/test_difference.py",
)
"""Those that take longest, by a run of all tests on a busy machine (`--junitxml`), which are run first: a process that
began one of them last would keep the others waiting."""

STORES = ("sqlite", "postgres")
POSTGRES_NIGHTLY = pytest.mark.postgres_nightly
"""Is for tests among those that run on both stores by day which are about something else, or show again on PostgreSQL
what shorter ones do."""
BOTH_STORES_BY_DAY = (
    "tests/api/test_as_of.py",
    "tests/api/test_check.py",
    "tests/api/test_deleting_by_filter.py",
    "tests/api/test_difference.py",
    "tests/api/test_events.py",
    "tests/api/test_idempotency.py",
    "tests/api/test_lists.py",
    "tests/api/test_object_types.py",
    "tests/api/test_objects.py",
    "tests/api/test_policies.py",
    "tests/api/test_query.py",
    "tests/api/test_tokens.py",
    "tests/api/test_warrants.py",
    "tests/api/test_watch.py",
    "tests/api/test_writes.py",
    "tests/histories/",
    "tests/openfga/test_checks.py",
    "tests/openfga/test_reads.py",
    "tests/operations/",
    "tests/properties/",
    "tests/store/",
    "tests/test_as_of_scenarios.py",
    "tests/test_check_scenarios.py",
    "tests/test_difference_scenarios.py",
    "tests/test_explain_scenarios.py",
    "tests/test_query_scenarios.py",
    "tests/test_write_scenarios.py",
)
"""Begin the names of the tests that run on both stores by day: the store, what reads and writes it, and the scenarios.
Elsewhere, a test that is parametrized by store runs on SQLite by day and on PostgreSQL at night."""
THRESHOLDS = gc.get_threshold()

MAX_SURVIVORS = 300_000
"""Objects that may be frozen besides the tests themselves until all are scanned, which takes half a second."""

# Not of the current profile, which is another where the variable CI is set. Other work on the machine is no failure.
settings.register_profile("quick", parent=settings.get_profile("default"), max_examples=40, deadline=None)
settings.register_profile("nightly", parent=settings.get_profile("quick"), max_examples=1_000)
settings.register_profile("thorough", parent=settings.get_profile("quick"), max_examples=20_000)
settings.load_profile("quick")

gc.disable()  # until all tests are collected, of which nothing is freed


def list_by_day(values: Iterable[Any], count: int) -> list[Any]:
    """Parameters, of which the first `count` are tested by day and the others at night. Tuples have several."""
    return [
        pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=[pytest.mark.nightly] * (place >= count))
        for place, each in enumerate(values)
    ]


def list_seeds(by_day: int, at_night: int) -> list[Any]:
    """Parameters of a test of random histories: the seeds of a run of all tests, and more for the night."""
    return list_by_day(range(at_night), by_day)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        is_by_day = item.nodeid.startswith(BOTH_STORES_BY_DAY) and item.get_closest_marker("postgres_nightly") is None
        if is_for_postgres(item) and not is_by_day:
            item.add_marker(pytest.mark.nightly)
    places = {(TESTS / name).resolve(strict=True): place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def is_for_postgres(item: pytest.Item) -> bool:
    """Whether it is the one of two tests that runs on PostgreSQL."""
    called = getattr(item, "callspec", None)
    return called is not None and "postgres" in called.params.values()


def pytest_collection_finish() -> None:
    freeze_all()
    gc.enable()


def freeze_all() -> int:
    """Keeps the tests and all modules, a million objects, out of each full collection. Returns how many they are."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    return gc.get_freeze_count()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    with postgres_server(tmp_path_factory.mktemp("pg")) as server:
        yield server
        wait_for_stopped_services()


@pytest.fixture(scope="session")
def primary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server that standbys are made of. They get what it has committed at once."""
    with postgres_server(tmp_path_factory.mktemp("primary")) as server:
        require_replication(server)
        server.keep_commits()
        yield server


@pytest.fixture(scope="module")
def standby(primary: PostgresServer) -> Iterator[Standby]:
    with standby_of(primary) as standby:
        yield standby


@pytest.fixture(scope="session")
def frozen_counts() -> list[int]:
    """How many objects were frozen whenever all had been scanned."""
    return [gc.get_freeze_count()]


@pytest.fixture(scope="module", autouse=True)
def thawed_survivors(frozen_counts: list[int]) -> Iterator[None]:
    """A service freezes what survives garbage collections, and this process has had hundreds of services."""
    yield
    if SURVIVORS.follow in gc.callbacks:
        gc.callbacks.remove(SURVIVORS.follow)
        gc.set_threshold(*THRESHOLDS)
        if gc.get_freeze_count() > frozen_counts[-1] + MAX_SURVIVORS:
            frozen_counts.append(freeze_all())


@pytest.fixture
def no_collection() -> Iterator[None]:
    """What is freed meanwhile is freed because nothing refers to it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def stopped_services() -> Iterator[None]:
    yield
    wait_for_stopped_services()


def new_database_url(kind: str, folder: Path, request: pytest.FixtureRequest, has_tables: bool = True) -> str:
    """The URL of a database with no rows in it, for as long as what requests it lasts."""
    if kind == "sqlite":
        path = folder / "magistrate.db"
        return new_migrated_file(path) if has_tables else f"sqlite:///{path}"
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_migrated_url() if has_tables else server.new_url()
    request.addfinalizer(lambda: server.give_back(url))
    return url


@pytest.fixture(params=STORES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with tables and no rows."""
    return new_database_url(request.param, tmp_path, request)


@pytest.fixture(params=STORES)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with nothing in it, not even tables."""
    return new_database_url(request.param, tmp_path, request, has_tables=False)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    """A migrated store at revision 0."""
    settings = settings_for(database_url)
    migrate_store(settings)
    opened = await open_store(settings)
    yield opened
    await opened.close()


@pytest.fixture
def client(database_url: str) -> Iterator[Client]:
    """A client of a service whose store is fresh."""
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        yield client


@pytest.fixture(scope="module", params=STORES)
def shared_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service that all tests of a module share: for tests that do not mind what others leave behind."""
    url = new_database_url(request.param, tmp_path_factory.mktemp("shared"), request)
    with running_service(settings_for(url)) as service, Client(service) as client:
        yield client
