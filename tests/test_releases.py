"""What every release has stored is migrated by this version, which answers as that release did."""

from pathlib import Path

import pytest

import magistrate
from magistrate.wiring.stores import MigrationRun, apply_migrations, inspect_store
from tests.conftest import STORES, new_database_url
from tests.databases import restore
from tests.releases.recording import RETENTION, Exchange, Recording, digest_migrations, read_recordings, send
from tests.running import KEY, Client, running_service, settings_for

RECORDINGS = read_recordings()
RELEASES = pytest.mark.parametrize("recording", RECORDINGS, ids=[each.version for each in RECORDINGS])


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_database_url(request.param, tmp_path, request, has_tables=False)


def test_this_version_is_recorded() -> None:
    """`./run python -m tests.releases.recording` does it, once, before the tag."""
    assert magistrate.__version__ in [each.version for each in RECORDINGS]


@RELEASES
def test_the_migrations_of_a_release_stay_as_they_were(recording: Recording) -> None:
    assert recording.migrations == digest_migrations()[: len(recording.migrations)]


@RELEASES
def test_what_a_release_stored_is_answered_as_it_was(recording: Recording, url: str) -> None:
    settings = settings_for(url, **RETENTION)
    apply_migrations(settings, MigrationRun(to=len(recording.migrations)))
    restore(url, recording.rows)

    with running_service(settings) as service_url, Client(service_url, KEY) as client:
        for exchange in recording.exchanges:
            assert send(client, exchange.method, exchange.path, exchange.body) == exchange

    assert inspect_store(settings).mismatch is None


@RELEASES
def test_the_backup_of_a_release_is_restored(recording: Recording, url: str) -> None:
    settings = settings_for(url)
    with running_service(settings) as service_url, Client(service_url, KEY) as client:
        assert client.post("/v2/restore", content=recording.backup.encode()).status_code == 200
        restored = [each for each in recording.exchanges if is_of_backup(each)]
        assert [send(client, each.method, each.path, each.body) for each in restored] == restored


def is_of_backup(exchange: Exchange) -> bool:
    """Returns whether a backup holds what the answer is made of: the present state, without its times."""
    is_present = "asOf" not in f"{exchange.path}{exchange.body}"
    return is_present and exchange.path.startswith(("/v2/check", "/v2/explain", "/v2/query", "/v2/policies"))
