"""Writes measured tables into docs/performance, one file for each benchmark."""

import platform
from collections.abc import Sequence
from pathlib import Path

import apsw

from benchmarks.cores import ALL_CORES

FOLDER = Path(__file__).parents[1] / "docs" / "performance"
PROPER_NAMES = {"openfga": "OpenFGA"}
"""Has the titles of files whose names are not written like other words."""


def write_document(name: str, command: str, text: str, plots: Sequence[Path] = (), folder: Path = FOLDER) -> Path:
    """Writes `text` into the file of that name, with the plots behind it, and returns its path. `command` is what a
    reader runs to write the file again."""
    path = folder / f"{name}.md"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(render_document(name, command, environment(), text, plots))
    return path


def render_document(name: str, command: str, measured_on: str, text: str, plots: Sequence[Path] = ()) -> str:
    """Returns the document as Markdown. The tables' headings move up one level, to follow the title."""
    tables = "\n".join(line.removeprefix("#") if line.startswith("###") else line for line in text.strip().splitlines())
    images = [f"![{path.stem.replace('-', ' ')}]({path.name})" for path in plots]
    title = PROPER_NAMES.get(name, name.replace("-", " ").capitalize())
    origin = f"`{command}` writes this file. [Methods](methods.md) says how it is measured."
    return "\n\n".join([f"# {title}", origin, measured_on, tables, *images]) + "\n"


def environment() -> str:
    cpython, sqlite = platform.python_version(), apsw.sqlite_lib_version()
    return f"CPython {cpython}, SQLite {sqlite}, on a machine with {len(ALL_CORES)} cores."
