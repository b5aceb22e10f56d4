"""`magistrate keys`."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from magistrate.cli.administration.keys import SCOPES
from magistrate.cli.commands import main
from magistrate.config.settings import read_settings
from magistrate.config.settings_table import Settings
from magistrate.operations.keys.caller_keys import key_digest
from magistrate.operations.keys.callers import Scope
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store
from tests.cli.runner import CommandRunner
from tests.databases import dump
from tests.issuing import wait_for_key
from tests.running import KEY, Client, running_service

PRINTED = re.compile(
    r"API key, shown only this once: (magistrate_[A-Za-z0-9_-]{43})\n"
    r"Running services take it within a second, unless they have --api-key or --api-key-file\n"
)


def reset(url: str) -> Result:
    return CommandRunner().invoke(main, ["keys", "reset", "--database-url", url], env={}, prog_name="magistrate")


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
    migrate_store(settings)
    lost = asyncio.run(prepare_store(settings))
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


def run(url: str, key: str, *arguments: str) -> Result:
    environment = {"MAGISTRATE_SERVER": url, "MAGISTRATE_API_KEY": key}
    return CommandRunner().invoke(main, ["keys", *arguments], env=environment, prog_name="magistrate")


def secret_of(ran: Result) -> str:
    assert ran.exit_code == 0, ran.output
    [secret] = re.findall(r"API key, shown only this once: (\S+)\n", ran.output)
    return str(secret)


def test_keys_are_created_listed_rotated_and_revoked(client: Client) -> None:
    url = str(client.base_url)
    options = ("--scope", "check", "--scope", "read", "--object-type", "document", "--expires", "90d")

    first = secret_of(run(url, KEY, "create", "billing", *options))
    assert secret_of(run(url, KEY, "create", "plain", "--scope", "metrics")) != first
    wait_for_key(client, first)
    listed = run(url, KEY, "list")
    second = secret_of(run(url, KEY, "rotate", "billing", "--grace", "3600"))
    wait_for_key(client, second)
    wait_for_key(client, first)
    revoked = run(url, KEY, "revoke", "billing", "plain")
    wait_for_key(client, second, is_good=False)

    assert re.match(r"NAME +KEY +SCOPES +OBJECT TYPES +CREATED +BY", listed.output)
    assert re.search(rf"billing  {first[:17]}\.\.\.  check read  document ", listed.output)
    assert revoked.output == "revoked  billing\nrevoked  plain\n"
    assert first not in listed.output
    assert run(url, KEY, "list", "--json").output == '{\n  "results": []\n}\n'


def test_a_key_that_is_named_twice_is_revoked_once(client: Client) -> None:
    url = str(client.base_url)
    issued = json.loads(run(url, KEY, "create", "twice", "--scope", "check", "--json").output)

    revoked = run(url, KEY, "revoke", "twice", issued["id"], "twice")

    assert (revoked.exit_code, revoked.output) == (0, "revoked  twice\n")


def test_a_key_is_printed_as_json(client: Client) -> None:
    issued = json.loads(run(str(client.base_url), KEY, "create", "a", "--scope", "admin", "--json").output)

    assert (issued["name"], issued["scopes"]) == ("a", ["admin"])
    assert issued["key"].startswith("magistrate_")


def test_what_cannot_be_done_is_said_in_a_sentence(client: Client) -> None:
    url = str(client.base_url)
    with_read = secret_of(run(url, KEY, "create", "reader", "--scope", "read"))
    wait_for_key(client, with_read)

    unknown = run(url, KEY, "revoke", "nobody")
    refused = run(url, with_read, "list")
    taken = run(url, KEY, "create", "reader", "--scope", "read")

    assert unknown.stderr == "Error: there is no key 'nobody'; `magistrate keys list` shows those there are\n"
    assert refused.stderr == (
        "Error: this request needs the scope keys, which reader does not have; "
        "`magistrate keys list` shows what each key may do\n"
    )
    assert taken.stderr == "Error: there is a key with the name reader already: choose another, or rotate that one\n"
    assert [ran.exit_code for ran in (unknown, refused, taken)] == [2, 2, 2]
    assert run(url, KEY, "create", "x", "--scope", "everything").exit_code == 2


def test_the_scopes_of_the_command_are_those_of_the_service() -> None:
    assert tuple(Scope) == SCOPES
