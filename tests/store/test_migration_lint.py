"""The migrations, as PostgreSQL gets them, keep to what squawk demands: no long locks, no rewriting of tables."""

import subprocess
import sys
from pathlib import Path

import pytest

from magistrate.store.migration import Migration, migrations
from magistrate.store.sql.postgres import translate_schema

SQUAWK = Path(sys.executable).with_name("squawk")

LEFT_OUT = {
    "require-lock-timeout": "store/postgres/migration.py sets it for every migration",
    "require-statement-timeout": "how long one takes depends on the rows; the other rules allow no long ones",
}
"""The rules that are not followed, and why."""


def lint(folder: Path, statements: str) -> str:
    """What squawk finds."""
    file = folder / "migration.sql"
    file.write_text(translate_schema(statements))
    options = ["--assume-in-transaction", "--pg-version", "14", "--exclude", ",".join(LEFT_OUT)]
    ran = subprocess.run([SQUAWK, *options, file], cwd=folder, capture_output=True, text=True, check=False)
    assert (ran.returncode == 0) == (not ran.stdout or "0 issues" in ran.stdout), ran.stderr
    return "" if ran.returncode == 0 else ran.stdout


@pytest.mark.parametrize("migration", [pytest.param(step, id=step.name) for step in migrations()])
def test_migrations_hold_no_long_locks(tmp_path: Path, migration: Migration) -> None:
    assert lint(tmp_path, migration.sql) == ""


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("ALTER TABLE object ADD COLUMN owner TEXT NOT NULL", "adding-required-field"),
        ("ALTER TABLE object ALTER COLUMN created_at TYPE TEXT", "changing-column-type"),
        ("ALTER TABLE object ALTER COLUMN meta SET NOT NULL", "adding-not-nullable-field"),
        ("ALTER TABLE object RENAME COLUMN meta TO content", "renaming-column"),
        ("CREATE INDEX object_by_meta ON object (store, meta)", "require-concurrent-index-creation"),
    ],
)
def test_what_would_break_others_is_found(tmp_path: Path, statement: str, rule: str) -> None:
    assert rule in lint(tmp_path, f"{statement};")
