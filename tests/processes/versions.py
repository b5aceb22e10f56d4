"""Versions of Magistrate with other migrations, each built as a wheel and installed in a folder of its own."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from magistrate.store.migration import migrations

ROOT = Path(__file__).parents[2]
PARTS = ("src", "pyproject.toml", "README.md", "LICENSE")
NEWEST = len(migrations())

_TABLES = re.findall(r"^CREATE TABLE (\w+)", "".join(migration.sql for migration in migrations()), re.MULTILINE)

EXPANDING = "\n".join(
    [
        f"-- breaks_before: {migrations()[-1].breaks_before}",
        *(f"ALTER TABLE {table} ADD COLUMN added INTEGER;" for table in _TABLES),
        *(f"ALTER TABLE {table} ADD COLUMN named TEXT NOT NULL DEFAULT 'none';" for table in _TABLES),
        "CREATE TABLE added (store INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (store, id)) STRICT, WITHOUT ROWID;",
        "CREATE INDEX added_by_id ON added (id);",
    ]
)
"""A migration that does to every table what a release may do that breaks nothing."""

BREAKING = f"-- breaks_before: {NEWEST + 1}\nCREATE TABLE added (store INTEGER NOT NULL PRIMARY KEY) STRICT;\n"
"""A migration that says that it breaks this version."""


def install_version(folder: Path, migration: str = "") -> Path:
    """Builds this tree, with one more migration if there is one, and returns the folder in which it is installed."""
    tree, wheels, installed = folder / "tree", folder / "wheels", folder / "installed"
    tree.mkdir(parents=True)
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, tree / part)
    if migration:
        (tree / f"src/magistrate/store/migrations/{NEWEST + 1:04}_next.sql").write_text(migration)
    run_python("-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels), folder=tree)
    [wheel] = wheels.glob("*.whl")
    run_python("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(installed), str(wheel))
    return installed


def run_python(*arguments: str, folder: Path | None = None) -> None:
    ran = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
