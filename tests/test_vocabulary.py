"""Words in the code: every idea has one word, the one that `docs/concepts.md` defines, and no private synonym.

The names that are examined are those that the source code itself gives: to modules, classes, functions, parameters,
attributes and variables. A name is compared word by word (`_resume_stage`, `ResumeStage`), and a synonym may consist of
several words (`let_go`). Private words in prose and names are those of `tests/vocabulary.py`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.vocabulary import PRIVATE_WORDS, find_private_words, list_names, read_files, split_words

SRC = Path(__file__).parents[1] / "src" / "magistrate"


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

OF_OPENFGA = ("engine/openfga/", "operations/openfga/", "api/openfga/")
"""Lists where requests of OpenFGA's API are read, which are about tuples."""
WITH_JSON_WEB_TOKENS = ("api/auth/", "operations/sessions/", *SETTINGS)
"""Lists where a claim is what a JSON web token claims (RFC 7519, section 4)."""

RESULTS_WITH_ROWS = ("engine/lists/results.py", "engine/lists/query_search.py", "engine/testing/", "engine/policy/")
"""Lists where a row is one of the result of a query (docs/compatibility.md#query), or of a table of operators."""

IDEAS = (
    Idea("warrant", "tuple tuples", outside=OF_OPENFGA),
    Idea("warrant", "grant grants granted"),
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
    Idea("result set", "named rest", within=("engine/lists/", "engine/bitmaps/", "engine/cache/", "engine/walk/")),
    Idea("graph cache", "shelf shelves room rooms touch touches touched let_go lately"),
    Idea("graph cache", "forget forgets forgotten"),
    Idea(
        "graph cache",
        "drop drops dropped",
        within=("engine/", "operations/lists/listings.py", "operations/live_graph.py"),
    ),
    Idea("graph cache", "before", within=("engine/cache/", "engine/walk/")),
    Idea("membership closure", "reaching"),
    Idea("fast path", "hot"),
    Idea("fast path", "held", outside=("store/scripts/", "operations/writes/warrants.py")),  # a lock is held
    Idea("fast path", "shortcut shortcuts"),
    Idea(
        "fast path", "head heads", outside=(*SETTINGS, "api/http/", "api/audit/", "store/")
    ),  # of a request, or of the change log
    Idea("warrant reader", "joining portion portions"),
    Idea("warrant reader", "reading readings", within=("engine/", "operations/", "store/")),
    Idea(
        "warrant reader", "source sources", within=("engine/lists/", "engine/bitmaps/", "engine/cache/", "engine/walk/")
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
            "engine/cache/segments.py",
            "engine/cache/decision_cache.py",
            "engine/cache/shared_values.py",
            "engine/cache/object_entries.py",
            "engine/cache/adjacency.py",
        ),
    ),  # a generation of the graph cache
    Idea("source server", "old_server theirs"),
    Idea("target", "owed"),
)

EXCEPTIONS = {
    "NotFound": "the error behind 404 Not Found",
    "not_found": "whether a route answers 404 Not Found",
}


def find_synonyms(path: str, text: str) -> Iterator[str]:
    """Yields the use of each synonym in a module, with the word to use instead."""
    ideas = [(idea, idea.synonyms.split()) for idea in IDEAS if idea.covers(path)]
    for name in list_names(path, text):
        words = f"_{'_'.join(split_words(name.text))}_"
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


COUNTS = (
    "`./run python -m tests.vocabulary` counts the uses in each file, and lists those in the paths that it is given"
)


def test_prose_and_names_have_no_private_words() -> None:
    files = read_files()

    assert files
    assert [use for path, text in files.items() for use in find_private_words(path, text)] == [], COUNTS


def test_exceptions_are_few_and_needed() -> None:
    given = {name.text for path in SRC.rglob("*.py") for name in list_names(path.name, path.read_text())}

    assert len(EXCEPTIONS) <= 10
    assert set(EXCEPTIONS) <= given


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("engine/stages.py", ""),
        ("engine/model/model.py", "class GateDraft: ..."),
        ("engine/model/model.py", "def hand_on(): ..."),
        ("engine/model/model.py", "def expand(ways): ..."),
        ("engine/model/model.py", "def expand(): worth = 1"),
        ("engine/model/model.py", "class Plan:\n    parts: list[int]"),
        ("engine/model/model.py", "class Plan:\n    def __init__(self): self._forms = {}"),
        ("engine/model/model.py", "from magistrate.engine import plans as roads"),
        ("engine/model/model.py", "MOST_TOUCHES = 1"),
        ("engine/model/model.py", "expand = lambda spread: spread"),
        ("engine/model/model.py", "names = [told for told in ()]"),
        ("operations/lists/query.py", "class FoundRow: ..."),
        ("cli/checks/check.py", "def read_claim(): ..."),
    ],
)
def test_a_synonym_is_recognized(path: str, text: str) -> None:
    assert len([*find_synonyms(path, text)]) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("engine/model/model.py", "from click import Choice"),
        ("engine/model/model.py", "names: tuple[int, ...] = tuple()"),
        ("engine/model/model.py", "def find(): found = 1"),
        ("engine/model/model.py", "def perform(information): ..."),
        ("api/auth/bearer.py", "def verify(claims): ..."),
        ("api/http/connection.py", "head = b''"),
        ("store/sql/statements.py", "row = ()"),
        ("engine/cache/segments.py", "old = {}"),
    ],
)
def test_other_meanings_of_a_word_are_no_synonyms(path: str, text: str) -> None:
    assert [*find_synonyms(path, text)] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/magistrate/api/app.py", '"""Leaves long work aside."""'),
        ("src/magistrate/api/app.py", "# what the answer\n# rests on"),
        ("src/magistrate/api/app.py", 'raise ValueError("nobody asked")'),
        ("src/magistrate/api/app.py", "def read() -> None:\n    found = 1"),
        ("src/magistrate/api/app.py", "def read(one: int) -> None: ..."),
        ("src/magistrate/api/app.py", "def read() -> None:\n    left = 1"),
        ("src/magistrate/engine/plans.py", "class Plan:\n    def _leave_aside(self) -> None: ..."),
        ("tests/engine/test_plans.py", "# both take part in turns\npass"),
        ("docs/api.md", "What a check\nrests on.\n\n```console\n$ aside\n```\n`strand` [x](aside.md)"),
        ("docs/api.md", "Kim is blocked of the plan."),
        ("console/src/why.tsx", "<p>Nobody asked that</p>"),
        ("console/src/why.tsx", "// forgotten when the tab closes"),
        ("run", "echo 1  # in vain"),
    ],
)
def test_a_private_word_is_recognized(path: str, text: str) -> None:
    assert len([*find_private_words(path, text)]) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/magistrate/api/app.py", '"""Returns `asked`, and the rest on the next page."""'),
        ("src/magistrate/api/app.py", "def sort(left: int, right: int) -> None: ..."),
        ("src/magistrate/api/auth/bearer.py", '"""Reads the claims of a token."""'),
        ("tests/test_plans.py", "def test_it() -> None:\n    found = one = 1"),
        ("tests/test_plans.py", 'SENT = "asked in vain"'),
        ("docs/policies.md", "A question mark, and a way to tell two warrants apart, in turn."),
        ("Dockerfile", "FROM python AS gates"),
    ],
)
def test_other_meanings_are_no_private_words(path: str, text: str) -> None:
    assert [*find_private_words(path, text)] == []


def test_every_private_word_is_looked_for_somewhere() -> None:
    files = read_files()

    assert all(any(word.covers(path) for path in files) for word in PRIVATE_WORDS)
