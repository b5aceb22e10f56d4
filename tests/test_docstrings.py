"""Docstrings in the code: the first line of a class or a function is a sentence, not a fragment."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src", ROOT / "history_check", ROOT / "clients" / "python" / "src")

ARTICLES_AND_PRONOUNS = {
    "a",
    "all",
    "an",
    "each",
    "every",
    "none",
    "nothing",
    "one",
    "other",
    "so",
    "some",
    "something",
}
ARTICLES_AND_PRONOUNS |= {"that", "the", "there", "these", "this", "those", "more"}
PREPOSITIONS = {"about", "after", "as", "at", "before", "behind", "between", "by", "for", "from", "if", "in", "like"}
PREPOSITIONS |= {"of", "on", "over", "to", "under", "with"}
RELATIVES = {"how", "what", "whatever", "when", "where", "whether", "which", "who", "whoever", "whose"}
FRAGMENTS_BEGIN_WITH = ARTICLES_AND_PRONOUNS | PREPOSITIONS | RELATIVES
Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def list_fragments(text: str) -> Iterator[str]:
    """Yields the name of each class and function whose docstring does not begin with a verb or its subject."""
    for node in ast.walk(ast.parse(text)):
        docstring = ast.get_docstring(node) if isinstance(node, Documented) else None
        if docstring and docstring.split()[0].strip("`.,:;'\"").lower() in FRAGMENTS_BEGIN_WITH:
            yield node.name  # type: ignore[attr-defined]  # it is Documented


def test_the_first_line_of_a_docstring_is_a_sentence() -> None:
    paths = [path for folder in SOURCES for path in folder.rglob("*.py")]
    fragments = {path.relative_to(ROOT): [*list_fragments(path.read_text())] for path in paths}

    assert {path: names for path, names in fragments.items() if names} == {}


@pytest.mark.parametrize(
    "docstring", ["Of a check.", "What it reads.", "The rest.", "Whether it holds.", "`as` it is."]
)
def test_a_fragment_is_recognized(docstring: str) -> None:
    assert [*list_fragments(f'def read():\n    """{docstring}"""')] == ["read"]
