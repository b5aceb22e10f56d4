"""`magistrate sessions`."""

import time
from pathlib import Path

import pytest
from click.testing import Result

from magistrate.cli.commands import main
from magistrate.operations.sessions import session_keys
from magistrate.wiring.stores import migrate_store
from tests.api.check_answers import ALLOWED
from tests.cli.cases import Magistrate
from tests.cli.runner import CommandRunner
from tests.running import settings_for
from tests.sessions import INVALID, serving

ENDED = "All sessions are ended: running services refuse their tokens within 10 seconds\n"


def revoke(url: str) -> Result:
    return CommandRunner().invoke(main, ["sessions", "revoke", "--database-url", url], env={}, prog_name="magistrate")


def test_a_running_service_refuses_tokens_that_are_revoked_and_makes_new_ones(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_keys, "REVOKED_WITHIN_SECONDS", 0.3)
    with serving(database_url) as served:
        token = served.session()
        assert served.ask(token, "report:a#viewer").json() == ALLOWED

        ran = revoke(database_url)
        time.sleep(0.3)

        assert (ran.exit_code, ran.output) == (0, ENDED)
        assert served.ask(token, "report:a#viewer").json() == INVALID
        assert served.ask(served.session(), "report:a#viewer").json() == ALLOWED


def test_what_is_said_about_the_time_is_true() -> None:
    assert f"within {session_keys.REVOKED_WITHIN_SECONDS:.0f} seconds" in ENDED


def test_where_there_is_no_session_none_is_ended(database_url: str) -> None:
    migrate_store(settings_for(database_url))

    ran = revoke(database_url)

    assert (ran.exit_code, ran.output) == (0, "There was no session to end\n")


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    ran = revoke(f"sqlite:///{tmp_path}/m.db")

    assert ran.exit_code == 2
    assert ran.stderr.startswith("Error: ")
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_not_migrated_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "m.db").touch()

    ran = revoke(f"sqlite:///{tmp_path}/m.db")

    assert (ran.exit_code, ran.stderr) == (2, "Error: the database is not migrated\n")


def test_a_session_is_created_for_a_user(database_url: str) -> None:
    with serving(database_url) as served:
        magistrate = Magistrate(str(served.client.base_url))

        token = magistrate.done("sessions", "create", "ann", "--tenant", "acme", "--ttl", "60", "--context", "a=b")

        assert served.ask(token.strip(), "report:a#viewer").json() == ALLOWED
        assert magistrate.json("sessions", "create", "ann")["token"].count(".") == 2
        assert magistrate.failed("sessions", "create", "a b").startswith("userId: can only contain letters")
