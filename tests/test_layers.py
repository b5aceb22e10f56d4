"""Imports point towards the engine, the engine does no I/O, and no test module is imported."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SRC = Path(__file__).parents[1] / "src" / "magistrate"

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "durations": set(),
    "config": {"errors"},
    "engine": {"errors"},
    "store": {"engine", "tracing", "errors", "durations", "temporary_files"},
    "operations": {
        "store.contract",
        "engine",
        "outgoing_requests",
        "retrying_client",
        "tracing",
        "errors",
    },
    "api": {
        "outgoing_requests",
        "temporary_files",
        "operations",
        "store.contract",
        "engine",
        "errors",
        "log",
        "durations",
        "tracing",
        "__version__",
        "commit",
    },
    "client": {"outgoing_requests", "errors"},
    "mirror": {"client", "config.database_url", "errors"},
    "outgoing_requests": {"errors"},
    "retrying_client": {"outgoing_requests", "errors"},
    "log": {"tracing"},
    "tracing": set(),
    "commit": set(),
    "terminal": set(),
    "temporary_files": {"errors"},
    "cli": {
        "api.audit.chain",
        "client",
        "mirror",
        "outgoing_requests",
        "retrying_client",
        "config",
        "wiring",
        "engine.forwarding",
        "engine.importers",
        "engine.names",
        "engine.testing",
        "engine.text",
        "engine.nesting",
        "engine.rules",
        "engine.warrants.notation",
        "errors",
        "log",
        "terminal",
        "temporary_files",
        "__version__",
        "commit",
    },
}
ENGINE_ORDER: tuple[set[str], ...] = (
    {"id_ranges", "names", "nesting", "truth", "work"},
    {"id_characters", "subjects"},
    {"rules", "terms"},
    {"byte_sizes", "model", "policy", "text", "warrants"},
    {"steps"},
    {"evaluation"},
    {"cache"},
    {"lists", "walk"},
    {"bitmaps"},
    {"difference"},
    {"explanation"},
    {"testing"},
    {"forwarding", "importers"},
    {"openfga"},
)
"""Has the packages and modules of the engine, each after what it may import, or together with it."""
ALLOWED_EVERYWHERE_ABOVE = {"wiring", "__main__", "__init__"}
CLOSED_TO_ENGINE = {
    "apsw",
    "asyncio",
    "http",
    "logging",
    "os",
    "psycopg",
    "random",
    "socket",
    "sqlite3",
    "threading",
    "time",
}


def imports_of(path: Path) -> set[str]:
    """Every dotted name `path` imports, wherever in the file the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write the import in full, so that its layer shows"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def files_of(part: str) -> list[Path]:
    return [*SRC.glob(f"{part}.py"), *SRC.glob(f"{part}/**/*.py")]


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_point_inwards(part: str) -> None:
    inside = tuple(f"magistrate.{prefix}" for prefix in {part, *MAY_IMPORT[part]})

    assert files_of(part)
    for path in files_of(part):
        outside = {
            name
            for name in imports_of(path)
            if name.startswith("magistrate.") and not (name + ".").startswith(tuple(f"{prefix}." for prefix in inside))
        }
        assert not outside, f"{path} imports {outside}"


def test_the_parts_of_the_engine_import_each_other_in_one_direction() -> None:
    parts = {path.stem for path in (SRC / "engine").iterdir() if path.stem.isidentifier()} - {"__init__", "__pycache__"}
    below: set[str] = set()

    assert parts == set().union(*ENGINE_ORDER)
    for level in ENGINE_ORDER:
        below |= level
        for path in [path for part in level for path in files_of(f"engine/{part}")]:
            engine = {name.split(".")[2] for name in imports_of(path) if name.startswith("magistrate.engine.")}
            assert engine <= below, f"{path} imports {engine - below}"


def test_the_engine_is_closed_to_the_world() -> None:
    for path in files_of("engine"):
        opened = {name.split(".")[0] for name in imports_of(path)} & CLOSED_TO_ENGINE
        coroutines = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.AsyncFunctionDef)]

        assert not opened, f"{path} imports {opened}"
        assert not coroutines, f"{path} has coroutines"


def test_every_part_has_its_layer() -> None:
    parts = {path.stem for path in SRC.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}

    assert parts == set(MAY_IMPORT) | ALLOWED_EVERYWHERE_ABOVE


def test_no_test_module_is_imported() -> None:
    """What several test modules use is in a module beside them that has no tests (CONTRIBUTING.md#tests)."""
    for path in TESTS.rglob("*.py"):
        modules = {name for name in imports_of(path) if name.startswith("tests.")}
        tests = {name for name in modules if any(part.startswith("test_") for part in name.split("."))}

        assert not tests, f"{path} imports {tests}"
