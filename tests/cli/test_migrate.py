"""`magistrate migrate`, and the commands that migrate unless they must not."""

import json
from pathlib import Path

import pytest
from click.testing import Result

from magistrate.cli.commands import main
from magistrate.store.migration import migrations
from magistrate.wiring.stores import migrate_store
from tests.cli.runner import CommandRunner
from tests.databases import dump, run_sql
from tests.processes.service_process import read_failed_start
from tests.running import settings_for

NEWEST = len(migrations())


def run(*arguments: str, **variables: str) -> Result:
    return CommandRunner().invoke(main, arguments, env=variables, prog_name="magistrate")


def test_a_plan_changes_nothing(empty_database_url: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())

    planned = run("migrate", "--plan", "--database-url", empty_database_url)

    assert planned.exit_code == 1
    assert planned.stdout.splitlines()[0] == f"The database has schema 0, and this version knows {NEWEST}"
    assert sorted(tmp_path.iterdir()) == before
    assert dump(empty_database_url) == {}


def test_a_plan_has_the_statements_as_the_database_gets_them(empty_database_url: str) -> None:
    planned = json.loads(run("migrate", "--plan", "--json", "--database-url", empty_database_url).stdout)

    for step in planned["pending"]:
        run_sql(empty_database_url, step.pop("sql"))
    assert planned == {
        "schema": 0,
        "known": NEWEST,
        "pending": [
            {"number": step.number, "name": step.name, "breaksBefore": step.breaks_before} for step in migrations()
        ],
    }
    assert "warrant" in dump(empty_database_url)


def test_what_is_up_to_date_has_an_empty_plan(database_url: str) -> None:
    migrate_store(settings_for(database_url))

    planned = run("migrate", "--plan", MAGISTRATE_DATABASE_URL=database_url)
    applied = run("migrate", MAGISTRATE_DATABASE_URL=database_url)

    assert (planned.exit_code, planned.stdout.splitlines()[-1]) == (0, "There is nothing to apply")
    assert (applied.exit_code, applied.stdout) == (0, "There is nothing to apply\n")


@pytest.mark.parametrize("plans", [("--plan",), ("--plan", "--json"), ()])
def test_what_cannot_be_migrated_is_refused_with_a_reason(database_url: str, plans: tuple[str, ...]) -> None:
    migrate_store(settings_for(database_url))
    unknown = run("migrate", *plans, "--to", str(NEWEST + 1), "--database-url", database_url)
    run_sql(database_url, f"INSERT INTO migration VALUES ({NEWEST + 1}, 'newer', {NEWEST + 1})")
    newer = run("migrate", *plans, "--database-url", database_url)

    assert (unknown.exit_code, newer.exit_code) == (2, 2)
    assert unknown.stderr == f"Error: this version knows the schemas up to {NEWEST}, not {NEWEST + 1}\n"
    assert newer.stderr.startswith(f"Error: the store has schema {NEWEST + 1}, made by a newer Magistrate; it can be")


def test_json_goes_with_a_plan_only(database_url: str) -> None:
    assert "--json goes with --plan only" in run("migrate", "--json", "--database-url", database_url).stderr


@pytest.mark.parametrize("command", ["import", "restore"])
def test_commands_that_migrate_are_kept_from_it(empty_database_url: str, tmp_path: Path, command: str) -> None:
    file = tmp_path / "file"
    file.write_text('{"objectType": "user", "objectId": "ann"}\n')
    if command == "restore":
        source = f"sqlite:///{tmp_path}/source.db"
        assert run("import", str(file), "--database-url", source).exit_code == 0
        assert run("backup", str(file), "--database-url", source).exit_code == 0

    refused = run(command, str(file), "--migrate", "never", "--database-url", empty_database_url)
    by_variable = run(command, str(file), "--database-url", empty_database_url, MAGISTRATE_MIGRATE="never")

    assert refused.exit_code == by_variable.exit_code == 2
    assert "run `magistrate migrate`" in refused.stderr
    assert refused.stderr == by_variable.stderr
    assert dump(empty_database_url) == {}
    assert run(command, str(file), "--database-url", empty_database_url).exit_code == 0


def test_another_value_is_refused(database_url: str) -> None:
    ran = run("serve", "--migrate", "sometimes", "--database-url", database_url)

    assert (ran.exit_code, read_failed_start(ran.stderr)) == (1, "migrate must be auto or never")
