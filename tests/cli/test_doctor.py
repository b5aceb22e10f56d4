"""`magistrate doctor` finds what is wrong, says what to do, and changes nothing."""

import asyncio
import json
import os
import socket
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from magistrate.cli.commands import main
from magistrate.operations.keys.caller_keys import KeyDraft, create_key
from magistrate.operations.keys.callers import ALL_SCOPES, Caller, Scope
from magistrate.store.migration import Migration, StoreReport
from magistrate.wiring import diagnosis
from magistrate.wiring.contexts import open_context
from magistrate.wiring.stores import migrate_store
from tests.certificates import Authority
from tests.cli.runner import CommandRunner
from tests.databases import PostgresServer
from tests.leaks import keep_secret, require_no_leak
from tests.running import settings_for
from tests.standby import Standby

DAY = 86_400_000_000
QUIET = {"max_connections": "10"}
"""What keeps the limits of the machine that runs the tests out of the findings."""


def run(environment: Mapping[str, str], *arguments: str) -> tuple[int, str]:
    """The exit code and the output."""
    variables = {f"MAGISTRATE_{name.upper()}": text for name, text in {**QUIET, **environment}.items()}
    keep_secret(environment.get("api_keys", "").split(","))
    result = CommandRunner().invoke(main, ["doctor", *arguments], env=variables, prog_name="magistrate")
    require_no_leak(result.output, "what doctor finds")
    return result.exit_code, result.stdout


def findings(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """All but those about the space of the machine that runs the tests."""
    _, output = run(environment, "--json")
    found: list[dict[str, Any]] = json.loads(output)["findings"]
    return [one for one in found if one["check"] != "space"]


def the_finding(check: str, **environment: str) -> dict[str, Any]:
    [found] = [one for one in findings(environment) if one["check"] == check]
    return found


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """A migrated store."""
    url = f"sqlite:///{tmp_path}/m.db"
    migrate_store(settings_for(url))
    return url


def test_where_nothing_is_wrong_the_exit_code_is_0(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "LITTLE_SPACE_BYTES", 0)
    monkeypatch.setattr(diagnosis, "NO_SPACE_BYTES", 0)

    assert run({"database_url": database_url}) == (0, "nothing is wrong\n")


def test_a_store_that_does_not_exist_yet_is_no_finding_and_is_not_created(tmp_path: Path) -> None:
    assert findings({"database_url": f"sqlite:///{tmp_path}/m.db"}) == []
    assert list(tmp_path.iterdir()) == []


def test_warnings_alone_end_with_1_and_errors_with_2(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "m.db").chmod(0o644)

    code, output = run({"database_url": database_url})
    assert code == 1
    assert f"warning: files: other users can use {tmp_path}/m.db (mode 0644)" in output
    assert "\n  start once with --fix-permissions, then run `magistrate sessions revoke`\n" in output

    code, output = run({"database_url": database_url, "port": "x"})
    assert (code, output.splitlines()[0]) == (2, "error: settings: MAGISTRATE_PORT must be a whole number, not 'x'")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"request_timeout_ms": "5000"}, "store_timeout_ms (10000) is not below request_timeout_ms (5000)"),
        ({"wait_timeout_ms": "30000"}, "wait_timeout_ms (30000) is not below request_timeout_ms (30000)"),
        ({"host": "0.0.0.0"}, "the service listens on 0.0.0.0 without TLS"),
        ({"jwt_keys": "http://x/k", "jwt_issuer": "i", "jwt_audience": "a"}, "jwt_keys is fetched without TLS"),
    ],
)
def test_settings_that_do_not_fit_together_are_found(database_url: str, given: dict[str, str], message: str) -> None:
    found = the_finding("settings", database_url=database_url, **given)

    assert found["level"] == "warning"
    assert found["message"].startswith(message)
    assert found["remedy"]


@pytest.mark.parametrize("given", [{"host": "::1"}, {"host": "0.0.0.0", "public_url": "https://x"}])
def test_a_service_that_is_encrypted_or_local_is_fine(database_url: str, given: dict[str, str]) -> None:
    assert findings({"database_url": database_url, **given}) == []


def test_limits_of_the_machine_are_found(database_url: str) -> None:
    found = [one for one in findings({"database_url": database_url, "max_connections": "1000000", "workers": "256",
        "cache_bytes": "1000000000000"}) if one["check"] == "limits"]  # fmt: skip

    assert [one["message"].split(" ")[:3] for one in found][-1] == ["full", "caches", "take"]
    assert all(one["remedy"] for one in found)


def test_files_that_others_can_use_are_found(database_url: str, tmp_path: Path) -> None:
    issued = Authority(tmp_path).issue("service")
    (tmp_path / "keys").write_text("an-api-key-of-a-file\n")
    (tmp_path / "audit").touch()
    for path in (issued.key, tmp_path / "keys", tmp_path / "audit"):
        path.chmod(0o646)
    tmp_path.chmod(0o777)

    found = findings(
        {
            "database_url": database_url,
            "api_key_file": f"{tmp_path}/keys",
            "audit_log": f"{tmp_path}/audit",
            "tls_cert": str(issued.certificate),
            "tls_key": str(issued.key),
        }
    )

    assert [(one["check"], one["level"], one["message"]) for one in found] == [
        ("files", "warning", f"other users can use {tmp_path}/keys (mode 0646)"),
        ("files", "warning", f"other users can use {issued.key} (mode 0646)"),
        ("files", "warning", f"other users can use {tmp_path}/audit (mode 0646)"),
        ("files", "warning", f"every user can replace the files in {tmp_path}"),
    ]


def test_rules_for_gateways_are_read(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    given = {"database_url": database_url, "forward_rules": str(file)}
    file.write_text("version: 1\nsource: envoy\nidentity: session\nrules:\n  - {path: /, deny: true}\n")
    assert [one for one in findings(given) if one["check"] == "gateways"] == []

    file.chmod(0o666)
    exposed = the_finding("gateways", **given)
    file.write_text("version: 1\nsource: envoy\nidentity: jwt\nrules: []\n")
    unknown = the_finding("gateways", **given)
    file.write_text("version: 2")
    invalid = the_finding("gateways", **given)

    assert (exposed["level"], exposed["remedy"]) == ("warning", f"run `chmod go-w {file}`")
    assert (unknown["level"], invalid["level"]) == ("error", "error")
    assert "needs a provider: --jwt-keys" in unknown["message"]
    assert "line 1: version" in invalid["message"]
    assert "magistrate forward test FILE" in invalid["remedy"]


def test_files_that_cannot_be_read_are_errors(database_url: str, tmp_path: Path) -> None:
    found = the_finding("files", database_url=database_url, secret_key_file=f"{tmp_path}/none")

    assert (found["level"], found["remedy"]) == ("error", "correct the setting, or the file")
    assert found["message"].startswith("secret_key_file: ")


@pytest.mark.parametrize(("days", "level", "message"), [(5, "warning", "is valid until"), (-1, "error", "was valid")])
def test_a_certificate_that_ends_is_found(
    database_url: str, tmp_path: Path, days: int, level: str, message: str
) -> None:
    issued = Authority(tmp_path).issue("service", days=days)

    found = the_finding(
        "certificate", database_url=database_url, tls_cert=str(issued.certificate), tls_key=str(issued.key)
    )

    assert (found["level"], found["remedy"]) == (level, "renew the certificate")
    assert message in found["message"]


def test_a_store_of_a_newer_version_is_found(database_url: str, tmp_path: Path) -> None:
    with closing(apsw.Connection(f"{tmp_path}/m.db")) as connection:
        connection.execute("INSERT INTO migration VALUES (9999, 'later', 9999)")

    found = the_finding("store", database_url=database_url)

    assert (found["level"], found["message"].split(",")[0]) == ("error", "the store has schema 9999")


def test_a_store_of_a_newer_version_that_breaks_nothing_is_no_finding(database_url: str, tmp_path: Path) -> None:
    with closing(apsw.Connection(f"{tmp_path}/m.db")) as connection:
        connection.execute("INSERT INTO migration VALUES (9999, 'later', 1)")

    assert findings({"database_url": database_url}) == []


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("auto", ("warning", "which migrates it; versions that do not know schema 13 refuse it then")),
        ("never", ("error", "run `magistrate migrate`, or start with --migrate auto")),
    ],
)
def test_a_store_of_an_older_version_is_found(
    database_url: str, monkeypatch: pytest.MonkeyPatch, mode: str, expected: tuple[str, str]
) -> None:
    pending = [Migration(14, "later", "", 13)]
    monkeypatch.setattr(diagnosis, "inspect_store", lambda _: StoreReport(13, 14, pending))

    found = the_finding("store", database_url=database_url, migrate=mode)

    assert found["message"] == "the store has schema 13, and this version needs 14"
    assert (found["level"], found["remedy"].removeprefix("back it up and start this version, ")) == expected


def test_a_file_that_is_no_database_is_found(tmp_path: Path) -> None:
    (tmp_path / "m.db").write_bytes(b"no database" * 1_000)
    (tmp_path / "m.db").chmod(0o600)

    found = the_finding("store", database_url=f"sqlite:///{tmp_path}/m.db")

    assert found["level"] == "error"
    assert found["remedy"] == "start the database, or correct --database-url"


def test_little_space_is_found(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> list[tuple[str, str]]:
        _, output = run({"database_url": database_url}, "--json")
        return [(one["level"], one["remedy"]) for one in json.loads(output)["findings"] if one["check"] == "space"]

    remedy = "free some space or move the file to a larger disk"
    monkeypatch.setattr(diagnosis, "NO_SPACE_BYTES", 0)
    monkeypatch.setattr(diagnosis, "LITTLE_SPACE_BYTES", 2**70)
    assert found() == [("warning", remedy)]
    monkeypatch.setattr(diagnosis, "NO_SPACE_BYTES", 2**70)
    assert found() == [("error", remedy)]


def test_a_write_of_the_future_is_found(database_url: str, tmp_path: Path) -> None:
    with closing(apsw.Connection(f"{tmp_path}/m.db")) as connection:
        connection.execute(
            "INSERT INTO revision (store, revision, bits, written_at, reached_at, called_revision, actor) "
            "VALUES (1, 9, 7, 4102444800000000, 1, 9, 'x')"
        )

    found = the_finding("clock", database_url=database_url)

    assert found["message"].startswith("the newest write has the time 2100-01-01 00:00:00 UTC")


@pytest.mark.parametrize(("seconds", "word"), [(60, "ahead of"), (-60, "behind")])
def test_a_database_with_another_clock_is_found(
    database_url: str, monkeypatch: pytest.MonkeyPatch, seconds: int, word: str
) -> None:
    def inspect(_: object) -> StoreReport:
        return StoreReport(0, 14, now=int((time.time() + seconds) * 1_000_000))

    monkeypatch.setattr(diagnosis, "inspect_store", inspect)

    assert f"s {word} that of this machine" in the_finding("clock", database_url=database_url)["message"]


def test_keys_that_need_attention_are_found(database_url: str) -> None:
    async def create() -> None:
        async with open_context(settings_for(database_url)) as context:
            now = context.now()
            operator = Caller("operator", ALL_SCOPES)
            for name, scope, until in (
                ("eternal", Scope.ADMIN, None),
                ("ending", Scope.CHECK, now + 5 * DAY),
                ("fine", Scope.CHECK, now + 50 * DAY),
            ):
                await create_key(context, operator, KeyDraft(name, (scope,), None, until))
            past = replace(context, now=lambda: now - 100 * DAY)
            await create_key(past, operator, KeyDraft("unused", (Scope.CHECK,), None, None))
            await create_key(past, operator, KeyDraft("ended", (Scope.CHECK,), None, now - 50 * DAY))

    asyncio.run(create())

    found = [one["message"] for one in findings({"database_url": database_url}) if one["check"] == "keys"]

    assert sorted(found) == [
        "keys expire within 14 days: ending",
        "keys have expired: ended",
        "keys may do everything and never expire: eternal",
        "keys were not used for 90 days: unused",
    ]


def test_a_postgres_store_is_examined(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    before = findings({"database_url": url})
    migrate_store(settings_for(url))

    assert (before, findings({"database_url": url})) == ([], [])


def test_a_database_server_that_is_away_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    found = the_finding("store", database_url=f"postgresql://u:secret@127.0.0.1:{port}/d")

    assert found["level"] == "error"
    assert "secret" not in found["message"]


def test_a_replica_that_would_not_be_used_is_found(primary: PostgresServer, standby: Standby) -> None:
    url, other, empty = primary.new_url(), primary.new_url(), primary.new_url()
    for each in (url, other):
        migrate_store(settings_for(each))
    standby.catch_up(url)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        away = f"postgresql://u:secret@127.0.0.1:{taken.getsockname()[1]}/d"
    replicas = [standby.url(url), other, empty, away]

    found = findings({"database_url": url, "read_database_url": ",".join(replicas)})

    assert {(one["level"], one["check"]) for one in found} == {("warning", "replicas")}
    another, no_schema, silent = (one["message"] for one in found)
    assert another == "the primary answers what replica 2 would: it is another database than the primary"
    assert no_schema.startswith("the primary answers what replica 3 would: it has schema 0, and this version needs ")
    assert silent.startswith("the primary answers what replica 4 would: PostgreSQL cannot be read: ")
    assert "secret" not in silent


def test_the_url_of_a_replica_that_cannot_be_read_is_an_error(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    migrate_store(settings_for(url))

    found = the_finding("replicas", database_url=url, read_database_url="postgresql://u:pass%zz@h/d")

    assert found["level"] == "error"
    assert "libpq cannot read it" in found["message"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_folder_that_cannot_be_written_is_an_error(database_url: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert the_finding("files", database_url=database_url)["level"] == "error"
    finally:
        tmp_path.chmod(0o700)
