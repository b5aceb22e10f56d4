"""`magistrate keys`."""

import asyncio
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from magistrate import wiring
from magistrate.cli.commands import main
from magistrate.config import Settings, read_settings
from magistrate.operations.keys import key_digest
from tests.databases import dump
from tests.running import Client, running_service

PRINTED = re.compile(
    r"API key, shown only this once: (magistrate_[A-Za-z0-9_-]{43})\n"
    r"Running services take it within a second, unless they have --api-key or --api-key-file\n"
)


def reset(url: str) -> Result:
    return CliRunner().invoke(main, ["keys", "reset", "--database-url", url], env={}, prog_name="magistrate")


def printed_key(ran: Result) -> str:
    assert ran.exit_code == 0, ran.output
    found = PRINTED.fullmatch(ran.output)
    assert found is not None, ran.output
    return found[1]


@pytest.fixture
def settings(database_url: str) -> Settings:
    """No key is configured."""
    return read_settings({"database_url": database_url, "port": "0"}, {})


def test_a_lost_key_is_replaced_by_one_that_a_service_takes(database_url: str, settings: Settings) -> None:
    wiring.migrate_store(settings)
    lost = asyncio.run(wiring.prepare_store(settings))
    assert lost is not None

    first, second = printed_key(reset(database_url)), printed_key(reset(database_url))

    assert len({lost, first, second}) == 3
    assert [row[0] for row in dump(database_url)["api_key"]] == [key_digest(second)]
    with running_service(settings) as url:
        for key, status in {lost: 401, first: 401, second: 200}.items():
            with Client(url, key) as client:
                assert client.get("/v2/objects").status_code == status


def test_a_database_that_is_not_there_gets_no_key(tmp_path: Path) -> None:
    ran = reset(f"sqlite:///{tmp_path}/m.db")

    assert ran.exit_code == 2
    assert ran.stderr.startswith("Error: ")
    assert ran.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_not_migrated_gets_no_key(tmp_path: Path) -> None:
    (tmp_path / "m.db").touch()

    ran = reset(f"sqlite:///{tmp_path}/m.db")

    assert (ran.exit_code, ran.stderr) == (2, "Error: the database is not migrated\n")
