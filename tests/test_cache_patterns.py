"""Patterns that let memory grow, or throw away what is used, are found in the code itself: no cache clears itself when
it is full, and no class is made for what a caller sends."""

import ast
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "magistrate"

MAKES_CLASSES = ("defstruct", "make_dataclass", "new_class", "NamedTuple", "namedtuple")
MADE_AT_START = {"api/v1/resources.py": "a few classes for each resource of its table, when the module is imported"}


def list_modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SRC.rglob("*.py")):
        yield str(path.relative_to(SRC)), ast.parse(path.read_text())


def measures_size(test: ast.expr) -> Iterator[str]:
    """The things that a condition compares with a limit: `len(known) >= MOST`."""
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Gt | ast.GtE):
            continue
        for call in ast.walk(node.left):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "len":
                yield ast.unparse(call.args[0])


def clears_when_full(tree: ast.Module) -> Iterator[int]:
    """The lines at which something is emptied because of its length."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.If):
            continue
        sized = set(measures_size(node.test))
        for statement in node.body:
            for call in ast.walk(statement):
                if isinstance(call, ast.Call) and ast.unparse(call.func) in {f"{name}.clear" for name in sized}:
                    yield node.lineno


def makes_classes(tree: ast.Module) -> Iterator[int]:
    """The lines in functions at which a class is made."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.ClassDef):
                yield node.lineno
            if isinstance(node, ast.Name | ast.Attribute):
                name = node.id if isinstance(node, ast.Name) else node.attr
                if name in MAKES_CLASSES:
                    yield node.lineno
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "type" and len(node.args) == 3:
                yield node.lineno


def test_no_cache_is_cleared_when_it_is_full() -> None:
    assert [(path, line) for path, tree in list_modules() for line in clears_when_full(tree)] == []


def test_no_class_is_made_at_run_time() -> None:
    made = {path for path, tree in list_modules() for _ in makes_classes(tree)}
    assert made == {*MADE_AT_START}


def test_the_patterns_are_found() -> None:
    code = (
        "def keep(self, key):\n    if len(self.known) >= MOST:\n        self.known.clear()\n"
        "def make(fields):\n    return msgspec.defstruct('A', fields), type('B', (), {})\n"
    )
    assert [*clears_when_full(ast.parse(code))] == [2]
    assert [*makes_classes(ast.parse(code))] == [5, 5]
