"""Finds the files that other files name, such as the model of a test file (docs/model-testing.md#format).

A file may come from somebody else, and what it names is printed in messages. So it can name only files below its own
folder, or below the one of `--root`; links count as what they point at."""

from pathlib import Path

import click

from magistrate.errors import InvalidRequest


def _resolve_folder(context: click.Context, parameter: click.Parameter, value: str | None) -> Path | None:
    return None if value is None else Path(value).resolve()


root_option = click.option(
    "--root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    callback=_resolve_folder,
    help="the folder below which a FILE may name other files; by default the folder of that FILE",
)
"""Collects the second argument of `find_named_file`, a resolved path."""


def find_named_file(path: Path, name: str, root: Path | None) -> Path:
    """Returns the path of a file that the file at `path` names, relative to the folder of the latter. Raises
    InvalidRequest if it is below neither that folder nor `root`, or does not exist."""
    folder = path.parent.resolve()
    if not name or "\0" in name:
        raise InvalidRequest(f"{name!r} is not the name of a file")
    target = (folder / name).resolve()
    if target in (folder, root) or not any(target.is_relative_to(top) for top in (folder, root) if top is not None):
        hint = "" if root is None else f", nor in {root}"
        raise InvalidRequest(f"'{name}' is not in the folder of {path.name}{hint}; --root DIR allows files below DIR")
    if not target.is_file():
        raise InvalidRequest(f"there is no file '{name}'")
    return path.parent / name
