"""Files that comments, docstrings and pages name exist where they say.

A name of a file stands for a file beside the one that names it, or is a path from the repository or from the package:
`conftest.py`, `tests/oracle.py`, `engine/walk/walk.py`. Whatever else is in backticks and begins with a folder, such
as `engine/rules/`, is a path.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.generated_docs import ROOT

PACKAGE = ROOT / "src" / "magistrate"
PATHS = sorted(
    path
    for folder in ("src", "history_check", "tests", "benchmarks", "docs", "examples")
    for path in [*ROOT.glob(f"{folder}/**/*.py"), *ROOT.glob(f"{folder}/**/*.md")]
)
PATHS += sorted(ROOT.glob("*.md"))
MADE = {"build", "dist"}
"""Names folders that commands make, and that may be there or not."""
FOLDERS = {path.name for parent in (ROOT, PACKAGE) for path in parent.iterdir() if path.is_dir()} - MADE
FILE = re.compile(r"(?<![\w./{}<>*-])((?:[\w.-]+/)*[A-Za-z_][\w-]*\.py)\b")
FOLDER = re.compile(r"`([\w.-]+)(/[\w./-]*)`")
OTHERS = {
    "sitecustomize.py": "a file that Python looks for",
    "access_model.py": "what a command of docs/models.md writes",
    "keto_tuples.py": "what a reader of docs/coming-from-keto.md saves",
}
"""Names files that are no part of the repository, with the reason."""


def read_prose(path: Path) -> Iterator[str]:
    """Yields the text of a page, or the comments and docstrings of a module."""
    text = path.read_text()
    if path.suffix != ".py":
        yield text
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def find_unknown_files(text: str, folder: Path) -> list[str]:
    """Returns the files and folders that a text names, in a file of this folder, and that do not exist."""
    files = [name for name in FILE.findall(text) if name not in OTHERS]
    folders = [top + rest for top, rest in FOLDER.findall(text) if top in FOLDERS]
    unknown = [name for name in files if not any((place / name).exists() for place in (folder, PACKAGE, ROOT))]
    return unknown + [name for name in folders if not any((place / name).exists() for place in (PACKAGE, ROOT))]


def test_files_that_prose_names_exist() -> None:
    unknown = {
        str(path.relative_to(ROOT)): [
            name for text in read_prose(path) for name in find_unknown_files(text, path.parent)
        ]
        for path in PATHS
    }

    assert {path: names for path, names in unknown.items() if names} == {}


@pytest.mark.parametrize(
    "text",
    ["see model.py", "(walk/walk.py)", "`none_such.py`", "tests/walk.py", "`engine/none/`", "`engine/none/ids.py`"],
)
def test_a_file_that_does_not_exist_is_found(text: str) -> None:
    assert find_unknown_files(text, ROOT / "docs")


@pytest.mark.parametrize(
    "text", ["see model.py", "engine/walk/walk.py", "tests/oracle.py", "`engine/rules/`", "a<name>.py"]
)
def test_a_file_that_exists_is_known(text: str) -> None:
    assert find_unknown_files(text, PACKAGE / "engine" / "model") == []
