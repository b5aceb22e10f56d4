"""Words in the code: every idea has one word, the one that `docs/concepts.md` defines, and no private synonym.

The names that are examined are those that the source code itself gives: to modules, classes, functions, parameters,
attributes and variables. A name is compared word by word (`_resume_stage`, `ResumeStage`), and a synonym may consist of
several words (`let_go`).
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "magistrate"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Idea:
    """Holds an idea: the word for it, and the synonyms that are not used.

    `within` limits where the synonyms are looked for, and `outside` exempts places where they mean something else; both
    have the beginnings of paths. `locals_too` is false for synonyms that are ordinary English in a local variable or a
    parameter.
    """

    word: str
    synonyms: str
    within: tuple[str, ...] = ("",)
    outside: tuple[str, ...] = ()
    locals_too: bool = True

    def covers(self, path: str) -> bool:
        return path.startswith(self.within) and not path.startswith(self.outside)


SETTINGS = ("config", "settings", "wiring", "serving")
"""Lists where settings are read, whose names callers know."""

WITH_JSON_WEB_TOKENS = ("api/auth/", "operations/sessions/", *SETTINGS)
"""Lists where a claim is what a JSON web token claims (RFC 7519, section 4)."""

RESULTS_WITH_ROWS = ("engine/query/rows.py", "engine/query/finding.py", "engine/model_tests/", "engine/policy/")
"""Lists where a row is one of the result of a query (docs/compatibility.md#query), or of a table of operators."""

IDEAS = (
    Idea("warrant", "tuple tuples grant grants granted"),
    Idea("warrant", "claim claims claimed", outside=WITH_JSON_WEB_TOKENS),
    Idea("warrant", "row rows", within=("engine/",), outside=RESULTS_WITH_ROWS),
    Idea("check", "question questions ask asks asked asking"),
    Idea("wildcard", "on_all to_all everyone everybody"),
    Idea("rule", "way ways same_object through combination combinations gate gates"),
    Idea("branch", "choice choices alternative alternatives part parts", within=("engine/",)),
    Idea("warrant pattern", "form forms shape shapes"),
    Idea("truth", "cap caps worth worths"),
    Idea("expand", "lead leads leading led onward road roads stage stages hand_on"),
    Idea("result set", "spread spreads"),
    Idea("result set", "named rest", within=("engine/query/", "engine/graph/")),
    Idea("graph cache", "shelf shelves room rooms touch touches touched let_go lately"),
    Idea("graph cache", "forget forgets forgotten"),
    Idea(
        "graph cache", "drop drops dropped", within=("engine/", "operations/listings.py", "operations/checks/graph.py")
    ),
    Idea("graph cache", "before", within=("engine/graph/",)),
    Idea("membership closure", "reaching"),
    Idea("fast path", "hot"),
    Idea("fast path", "held", outside=("store/holds.py", "operations/chunk_size.py")),  # a lock is held
    Idea("fast path", "shortcut shortcuts", outside=SETTINGS),  # a setting was called that
    Idea("fast path", "head heads", outside=(*SETTINGS, "api/server/", "store/")),  # of a request, or of the change log
    Idea("warrant reader", "joining portion portions"),
    Idea("warrant reader", "reading readings", within=("engine/", "operations/", "store/")),
    Idea(
        "warrant reader", "source sources", within=("engine/query/", "engine/graph/", "engine/warrant", "engine/facts")
    ),
    Idea("budget", "pay pays paid spent"),
    Idea("checkpoint", "turn turns give_way polite"),
    Idea("progress", "tell tells telling teller told hear hears heard"),
    Idea("snapshot listing", "found listed", locals_too=False),
    Idea("legacy cursor", "older first_client first_clients"),
    Idea(
        "legacy cursor",
        "old",
        outside=(
            "engine/segments.py",
            "engine/graph/decision_cache.py",
            "engine/graph/object_entries.py",
            "engine/graph/former_lists.py",
        ),
    ),  # a generation of the graph cache
    Idea("source server", "old_server theirs"),
    Idea("target", "owed"),
)

EXCEPTIONS = {
    "NotFound": "the error behind 404 Not Found",
    "not_found": "whether a route answers 404 Not Found",
}


@dataclass(frozen=True)
class Name:
    """Represents a name where it is given: `path` is relative to the package."""

    path: str
    line: int
    text: str
    is_local: bool = False


def list_names(path: str, text: str) -> Iterator[Name]:
    """Yields every name that a module gives, its own included."""
    yield from (Name(path, 0, part) for part in path.removesuffix(".py").split("/"))
    yield from _list_within(path, ast.parse(text), is_local=False)


def _list_within(path: str, parent: ast.AST, is_local: bool) -> Iterator[Name]:
    for node in ast.iter_child_nodes(parent):
        inner = is_local
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield Name(path, node.lineno, node.name)
            inner = isinstance(node, FUNCTIONS)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            is_variable = is_local and isinstance(node, ast.Name)
            yield Name(path, node.lineno, node.id if isinstance(node, ast.Name) else node.attr, is_variable)
        elif isinstance(node, ast.arg):
            yield Name(path, node.lineno, node.arg, is_local=True)
        elif isinstance(node, ast.alias | ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            given = node.asname if isinstance(node, ast.alias) else node.name
            yield from [Name(path, node.lineno, given, is_local=True)] if given else []
        yield from _list_within(path, node, inner or isinstance(node, ast.Lambda))


def split_words(name: str) -> str:
    """Returns the words of a name in lower case, `_last_found_row_` for `_LastFoundRow`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return "_".join(["", *(word.lower() for word in words), ""])


def find_synonyms(path: str, text: str) -> Iterator[str]:
    """Yields the use of each synonym in a module, with the word to use instead."""
    ideas = [(idea, idea.synonyms.split()) for idea in IDEAS if idea.covers(path)]
    for name in list_names(path, text):
        words = split_words(name.text)
        for idea, synonyms in ideas if name.text not in EXCEPTIONS else ():
            if idea.locals_too or not name.is_local:
                for synonym in synonyms:
                    if f"_{synonym}_" in words:
                        yield f"{path}:{name.line}: {name.text} ({idea.word}, not {synonym})"


def test_names_use_the_words_of_the_glossary() -> None:
    modules = {str(path.relative_to(SRC)): path.read_text() for path in sorted(SRC.rglob("*.py"))}

    assert modules
    assert [use for path, text in modules.items() for use in find_synonyms(path, text)] == []


def test_the_glossary_defines_every_word() -> None:
    headings = re.findall(r"(?m)^### (.*)$", (SRC.parents[1] / "docs" / "concepts.md").read_text())

    assert {idea.word for idea in IDEAS} <= {heading.lower() for heading in headings}


def test_exceptions_are_few_and_needed() -> None:
    given = {name.text for path in SRC.rglob("*.py") for name in list_names(path.name, path.read_text())}

    assert len(EXCEPTIONS) <= 10
    assert set(EXCEPTIONS) <= given


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("engine/stages.py", ""),
        ("engine/plans.py", "class GateDraft: ..."),
        ("engine/plans.py", "def hand_on(): ..."),
        ("engine/plans.py", "def expand(ways): ..."),
        ("engine/plans.py", "def expand(): worth = 1"),
        ("engine/plans.py", "class Plan:\n    parts: list[int]"),
        ("engine/plans.py", "class Plan:\n    def __init__(self): self._forms = {}"),
        ("engine/plans.py", "from magistrate.engine import plans as roads"),
        ("engine/plans.py", "MOST_TOUCHES = 1"),
        ("engine/plans.py", "expand = lambda spread: spread"),
        ("engine/plans.py", "names = [told for told in ()]"),
        ("operations/query.py", "class FoundRow: ..."),
        ("cli/check.py", "def read_claim(): ..."),
    ],
)
def test_a_synonym_is_recognized(path: str, text: str) -> None:
    assert len([*find_synonyms(path, text)]) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("engine/plans.py", "from click import Choice"),
        ("engine/plans.py", "names: tuple[int, ...] = tuple()"),
        ("engine/plans.py", "def find(): found = 1"),
        ("engine/plans.py", "def perform(information): ..."),
        ("api/auth/provider.py", "def verify(claims): ..."),
        ("api/server/protocol.py", "head = b''"),
        ("store/sql.py", "row = ()"),
        ("engine/segments.py", "old = {}"),
    ],
)
def test_other_meanings_of_a_word_are_no_synonyms(path: str, text: str) -> None:
    assert [*find_synonyms(path, text)] == []
