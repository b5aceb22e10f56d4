"""Files that the service makes are for its user alone, whatever the umask says: they hold keys."""

import json
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from magistrate.config.settings import ImportTarget
from magistrate.store.sqlite.files import SUFFIXES, find_exposed_files, migrate_sqlite
from magistrate.wiring.maintenance import import_file, revoke_sessions
from tests.conftest import list_by_day
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, settings_for

NOBODY = 65_534
"""The user id that owns nothing, on every Linux."""


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes_in(folder: Path) -> dict[str, int]:
    """Of every file in it and below, by name."""
    files = [path for path in folder.rglob("*") if not path.is_dir()]
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in files}


def begin_session(service: ServiceProcess) -> None:
    with service.client() as client:
        assert client.post("/v2/sessions", json={"type": "sess", "userId": "ann"}).status_code == 200


@pytest.mark.parametrize("workers", list_by_day(["2", "1"], 1))
def test_every_file_of_a_running_service_is_for_its_user_alone(tmp_path: Path, no_umask: None, workers: str) -> None:
    with ServiceProcess(tmp_path, "--workers", workers, api_key=KEY) as service, service.client() as client:
        begin_session(service)
        assert client.get("/metrics").status_code == 200  # written down for the other workers

        modes = modes_in(tmp_path)
        folders = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir() if path.is_dir()}

    assert {"magistrate.db", "magistrate.db-wal", "magistrate.db-shm"} <= modes.keys()
    assert len(modes) == 3 if workers == "1" else len(modes) > 3
    assert set(modes.values()) == {0o600}, modes
    assert set(folders.values()) <= {0o700}, folders


def test_an_import_makes_the_database_for_its_user_alone(tmp_path: Path, no_umask: None) -> None:
    (tmp_path / "lines").write_text('{"objectType": "d", "objectId": "1"}\n')
    settings = settings_for(f"sqlite:///{tmp_path}/m.db")

    with (tmp_path / "lines").open("rb") as file:
        import_file(ImportTarget(settings, 10), file, None, lambda reached: None)

    assert modes_in(tmp_path)["m.db"] == 0o600


def test_the_target_of_a_link_is_made_for_its_user_alone(tmp_path: Path, no_umask: None) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")

    migrate_sqlite(str(tmp_path / "link.db"), 1_000)

    assert modes_in(tmp_path)["real.db"] == 0o600


def test_another_user_of_the_machine_cannot_read_the_keys(no_umask: None) -> None:
    """`cat` runs as another user if the tests may change users; otherwise the modes are all there is to look at."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "control").write_text("for all")
        os.chmod(folder / "control", 0o644)
        with ServiceProcess(folder, api_key=KEY) as service:
            begin_session(service)
            files = [path for path in folder.iterdir() if path.is_file() and path.name != "control"]
            assert {path.name for path in files} >= {"magistrate.db", "magistrate.db-wal"}
            assert [path for path in files if path.stat().st_mode & 0o077] == []
            if os.geteuid() == 0:
                assert cat_as_nobody(folder / "control").returncode == 0
                for path in files:
                    assert "Permission denied" in cat_as_nobody(path).stderr


def cat_as_nobody(path: Path) -> "subprocess.CompletedProcess[str]":
    command = ["/bin/cat", str(path)]
    return subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True)


def loosen(folder: Path) -> list[Path]:
    """A database as earlier versions made it, and what one that was killed leaves beside it."""
    migrate_sqlite(str(folder / "magistrate.db"), 1_000)
    files = [folder / f"magistrate.db{suffix}" for suffix in SUFFIXES if suffix != "-journal"]
    for file in files:
        file.touch()
        file.chmod(0o644)
    return files


def test_a_database_that_others_can_read_is_warned_of_at_the_start(tmp_path: Path) -> None:
    files = loosen(tmp_path)

    with ServiceProcess(tmp_path, api_key=KEY) as service:
        assert service.stop() == 0
        warnings = [json.loads(line) for line in service.errors().splitlines()]

    assert [warning["file"] for warning in warnings] == [str(file) for file in files]
    for warning in warnings:
        assert warning["level"] == "warning"
        assert warning["mode"] == "0644"
        assert "--fix-permissions" in warning["remedy"]
    assert files[0].stat().st_mode & 0o777 == 0o644


def test_fix_permissions_leaves_all_of_them_to_their_owner(tmp_path: Path) -> None:
    files = loosen(tmp_path)

    with ServiceProcess(tmp_path, "--fix-permissions", api_key=KEY) as service:
        begin_session(service)
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
        assert service.stop() == 0
        assert service.errors() == ""

    assert find_exposed_files(str(tmp_path / "magistrate.db")) == []


def test_other_commands_work_on_a_database_that_others_can_read(tmp_path: Path) -> None:
    loosen(tmp_path)

    assert revoke_sessions(settings_for(f"sqlite:///{tmp_path}/magistrate.db"), "") == 0
