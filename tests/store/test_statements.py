"""SQL has one home: no module outside of store/sql contains a statement, or a piece of one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "magistrate"
HOME = SRC / "store" / "sql"
OTHERS = {
    "mirror/postgres_target.py": "keeps a table in the database of an application",
    "mirror/sqlite_target.py": "keeps a table in the database of an application",
    "mirror/conditional_access.py": "sorts rows in a temporary database of its own",
    "operations/openfga/collected_store.py": "collects rows in a temporary database of its own",
    "operations/importing/row_differences.py": "sorts rows in a temporary database of its own",
}

SQL = re.compile(
    r"""^\s*(SELECT\s+([a-z0-9_*(]|.*\bFROM\b) | INSERT\s+INTO\b | UPDATE\s+\w+\s+SET\b | DELETE\s+FROM\b
    | (CREATE|ALTER|DROP)\s+(TABLE|INDEX|UNIQUE) | WITH\s+RECURSIVE | BEGIN\b | COMMIT\b | ROLLBACK\b | SAVEPOINT\b
    | RELEASE\b | PRAGMA\b | LOCK\s+TABLE | SET\s+LOCAL)
    | \b(LEFT|CROSS)\s+JOIN\b | \bUNION\s+ALL\b | \bWHERE\s+[a-z_.]+\s*[=<>] | \bORDER\s+BY\s+[a-z_.]+""",
    re.VERBOSE | re.DOTALL,
)


def texts_of(tree: ast.AST) -> Iterator[str]:
    """All texts of a module but those that stand alone, such as docstrings; what is filled into one is a name."""
    apart = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            apart.update(map(id, node.values))
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "name" for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.value


def statements_of(source: str) -> list[str]:
    return [text for text in texts_of(ast.parse(source)) if SQL.search(text)]


def test_no_module_but_those_of_store_sql_has_statements() -> None:
    paths = [path for path in SRC.rglob("*.py") if HOME not in path.parents]

    found = {path.relative_to(SRC).as_posix(): statements_of(path.read_text()) for path in paths}

    assert {name for name, statements in found.items() if statements} == set(OTHERS)


@pytest.mark.parametrize(
    "source",
    [
        'connection.execute("PRAGMA query_only = ON")',
        'sql = f"SELECT {columns} FROM warrant"',
        'sql = "\\nINSERT INTO object (meta) VALUES (?)"',
        'sql = base + " WHERE deleted_revision = 3"',
    ],
)
def test_a_statement_is_recognized(source: str) -> None:
    assert statements_of(source)


@pytest.mark.parametrize(
    "source", ['"""SELECT 1 FROM head"""', 'key = "SELECT NAME WHERE"', 'call("DELETE", "/v2/keys")']
)
def test_other_texts_are_not_taken_for_statements(source: str) -> None:
    assert not statements_of(source)
