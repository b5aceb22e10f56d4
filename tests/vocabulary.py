"""Which words the prose and the names of the project do not use, and what to write instead.

The table holds a pattern for each private word. A pattern is compared with prose (docstrings, comments, messages,
`--help`, pages) and with the words of names (`_leave_aside` is compared as "leave aside"). `./run python -m
tests.vocabulary [PATH…]` prints the uses in these files and folders, and without a path how many each file has.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

SRC = "src/magistrate/"
IMPORTERS = (
    f"{SRC}engine/importers/",
    f"{SRC}cli/",
    *(f"{SRC}{layer}/openfga/" for layer in ("engine", "operations", "api")),
)
"""Lists where the words of other products are read: a relationship of OpenFGA is a tuple."""
WITH_JSON_WEB_TOKENS = (f"{SRC}api/auth/", f"{SRC}operations/sessions/", f"{SRC}config/", f"{SRC}wiring/")
"""Lists where a claim is what a JSON web token claims (RFC 7519, section 4)."""


@dataclass(frozen=True)
class PrivateWord:
    """Represents a private word: `pattern` finds it, and `instead` is what to write.

    `within` limits where it is looked for, and `outside` exempts places where it means something else; both have the
    beginnings of paths. A blank in a pattern stands for any white space.
    """

    instead: str
    pattern: str
    within: tuple[str, ...] = ("",)
    outside: tuple[str, ...] = ()
    in_names: bool = True

    def covers(self, path: str) -> bool:
        return path.startswith(self.within) and not path.startswith(self.outside)


PRIVATE_WORDS = (
    PrivateWord("offload; without", r"aside"),
    PrivateWord("free, release", r"dismantl(?:e|es|ed|ing)"),
    PrivateWord(
        "orphaned warrant",
        r"strand(?:s|ed|ing)?",
        outside=(f"{SRC}api/", f"{SRC}cli/", "console/", "tests/"),  # a name of the API
    ),
    PrivateWord("filter", r"sift(?:s|ed|ing)?"),
    PrivateWord("validate, measure, compare", r"judg(?:e|es|ed|ing)"),
    PrivateWord("resolve, fix", r"settl(?:e|es|ed|ing)"),
    PrivateWord("depend on", r"(?<!\bthe\s)rest(?:s|ed|ing)? on"),
    PrivateWord("shared by all", r"had by all"),
    PrivateWord("placeholder", r"stand(?:ing)?[- ]ins?"),
    PrivateWord("unknown, other", r"strange(?:rs?)?"),
    PrivateWord("unused, wasted", r"in vain"),
    PrivateWord("overflow, excess rows", r"excess(?! rows)"),
    PrivateWord("SIGHUP, reload", r"hang ?ups?"),
    PrivateWord("attempt", r"trials?", outside=("docs/modelling.md", "examples/")),  # a trial period of a customer
    PrivateWord("shared memory, counters", r"boards?"),
    PrivateWord("time slice", r"(?:an?|the|each|every|this|per) turns?(?! (?:out|on|off))|turns of the|turn by turn"),
    PrivateWord("alternating", r"in turns", in_names=False),
    PrivateWord(
        "branch, rule, path",
        r"ways to the|ways to a relation|(?:all|which|whatever) ways?|each way (?:in|of)|ordinary way",
    ),
    PrivateWord("pattern, structure", r"shapes?"),
    PrivateWord("node, phase", r"stages?", within=(SRC,)),
    PrivateWord("branch, condition", r"gates?"),
    PrivateWord("chunk, batch", r"portions?"),
    PrivateWord("request, check, query, prompt", r"ask(?:s|ed|ing)?"),
    PrivateWord("check, prompt", r"questions?(?! marks?\b)"),
    PrivateWord("warrant", r"claim(?:s|ed|ing)?", within=(SRC,), outside=WITH_JSON_WEB_TOKENS),
    PrivateWord("warrant", r"(?:an?|the|each|every|these|those|of) tuples?", within=(SRC,), outside=IMPORTERS),
    PrivateWord("warrant", r"(?:an?|the|each|every|these|those) grants?(?! type)", in_names=False),
    PrivateWord("discard, evict, expire", r"forg(?:ets?|etting|ot|otten)"),
    PrivateWord("change, access", r"touch(?:es|ed|ing)?"),
    PrivateWord("report, notify", r"told|hears?|heard|teller"),
    PrivateWord("report, notify, say", r"tell(?:s|ing)?(?! (?:\S+ ){1,6}?(?:apart|from)\b)"),
    PrivateWord("space, capacity", r"rooms?"),
    PrivateWord("edge, path", r"roads?|onwards?"),
    PrivateWord("pass, propagate", r"hand(?:s|ed|ing)? on(?! )|hand(?:s|ed|ing)? on to"),
    PrivateWord("result set", r"spreads?", within=(f"{SRC}engine/",)),
    PrivateWord("graph cache, young generation", r"shelf|shelves|lately"),
    PrivateWord("yield", r"giv(?:e|es|en|ing) way|polite(?:ly)?", outside=("console/",)),  # a value of aria-live
    PrivateWord("target", r"owed"),
    PrivateWord("of the source server, of the other", r"theirs|old server"),
    PrivateWord("spend", r"pay(?:s|ing)?|paid", outside=("examples/", "docs/modelling.md", "docs/v1.md")),
    PrivateWord("reach, expand to", r"(?:leads?|leading|led) to", within=(f"{SRC}engine/",), in_names=False),
    PrivateWord("v1 client", r"(?:old|older|first) clients?", within=(SRC, "README.md", "docs/")),
    PrivateWord("p50, p99", r"half of them within|99 (?:of|in) (?:a )?100 within", in_names=False),
    PrivateWord("of that time", r"of then", in_names=False),
    PrivateWord("fix", r"mend(?:s|ed|ing)?"),
    PrivateWord("is blocked on, is related to", r"is (?:blocked|reads) of"),
)

VAGUE_LOCALS = frozenset({"one", "found", "wanted", "known", "given", "left"})
"""Names of variables that say how a value came, not what it is. `left` is one only without `right` in its module."""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern.replace(' ', chr(92) + 's+')})\b", re.IGNORECASE)


COMPILED = [(word, compile_pattern(word.pattern)) for word in PRIVATE_WORDS]
ANY_WORD = compile_pattern("|".join(f"(?:{word.pattern})" for word in PRIVATE_WORDS))
"""Matches where at least one of them does: most texts have none, and are read once for all of them."""


@dataclass(frozen=True)
class Name:
    """Represents a name where it is given: `path` is relative to the root of the project."""

    path: str
    line: int
    text: str
    is_local: bool = False


def list_names(path: str, text: str) -> Iterator[Name]:
    """Yields every name that a module gives, its own included."""
    yield from (Name(path, 0, part) for part in path.removeprefix(SRC).removesuffix(".py").split("/"))
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
            alias = node.asname if isinstance(node, ast.alias) else node.name
            yield from [Name(path, node.lineno, alias, is_local=True)] if alias else []
        yield from _list_within(path, node, inner or isinstance(node, ast.Lambda))


def split_words(name: str) -> list[str]:
    """Returns the words of a name in lower case, `["last", "found", "row"]` for `_LastFoundRow`."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def list_prose(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Yields the prose of a file, each piece with the line where it begins."""
    if path.endswith(".py"):
        yield from _list_python_prose(text, with_messages=path.startswith(SRC))
    elif path.endswith(".md"):
        yield 1, _blank_code(text)
    elif path.endswith((".ts", ".tsx", ".css", ".go")):
        yield from _list_console_prose(text)
    else:
        yield from ((number, line.partition("#")[2]) for number, line in enumerate(text.splitlines(), 1) if "#" in line)


def _list_python_prose(text: str, *, with_messages: bool) -> Iterator[tuple[int, str]]:
    nodes = [*ast.walk(ast.parse(text))]
    documented = [node for node in nodes if hasattr(node, "body") and isinstance(node.body, list)]
    docstrings = {
        id(statement.value) for node in documented for statement in node.body if isinstance(statement, ast.Expr)
    }
    for node in nodes:
        match node:
            case ast.Constant(value=str(value)) if id(node) in docstrings or (with_messages and " " in value):
                yield node.lineno, re.sub(r"`[^`\n]*`", "``", value)
    yield from _join_comments(text)


def _join_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yields comments, those on consecutive lines together."""
    comments: list[tuple[int, list[str]]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            first, lines = comments[-1] if comments else (0, [])
            if first + len(lines) != token.start[0]:
                comments.append((token.start[0], lines := []))
            lines.append(token.string.removeprefix("#"))
    yield from ((line, "\n".join(lines)) for line, lines in comments)


def _blank_code(text: str) -> str:
    """Returns a page without code and targets of links; lines stay lines."""
    text = re.sub(r"(?ms)^ *```.*?^ *```", lambda block: "\n" * block[0].count("\n"), text)
    text = re.sub(r"`[^`]*`", lambda code: "``" + "\n" * code[0].count("\n"), text)
    return re.sub(r"\]\([^)]*\)", "]()", text)


def _list_console_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yields comments, texts of JSX and strings with a blank."""
    pieces = r"//[^\n]*(?:\n\s*//[^\n]*)*|/\*.*?\*/|\"[^\"\n]* [^\"\n]*\"|`[^`]* [^`]*`|>[^<>{}=;]*[a-z] [^<>{}=;]*<"
    for piece in re.finditer(pieces, text, re.DOTALL):
        yield text.count("\n", 0, piece.start()) + 1, re.sub(r"\n\s*//", "\n", piece[0])


def find_private_words(path: str, text: str) -> Iterator[str]:
    """Yields the use of each private word in a file, with what to write instead."""
    words = [(word, pattern) for word, pattern in COMPILED if word.covers(path)]
    for line, prose in list_prose(path, text):
        for word, pattern in words if ANY_WORD.search(prose) else ():
            for use in pattern.finditer(prose):
                number = line + prose.count("\n", 0, use.start())
                yield f"{path}:{number}: {' '.join(use[0].split())} ({word.instead})"
    if path.endswith(".py"):
        yield from _find_private_names(path, text, words)


def _find_private_names(path: str, text: str, words: list[tuple[PrivateWord, re.Pattern[str]]]) -> Iterator[str]:
    # Names of tests are sentences, and their variables are their own.
    names = [*list_names(path, text)] if path.startswith(SRC) else []
    all_names = {name.text for name in names}
    for name in names:
        if name.is_local and name.text in VAGUE_LOCALS and not (name.text == "left" and "right" in all_names):
            yield f"{path}:{name.line}: {name.text} (what it holds)"
        spoken = " ".join(split_words(name.text))
        for word, pattern in words if ANY_WORD.search(spoken) else ():
            if word.in_names and pattern.search(spoken):
                yield f"{path}:{name.line}: {name.text} ({word.instead})"


WRITTEN_IN = (
    "*.md",
    "docs/**/*.md",
    "examples/**/*.md",
    "clients/*/*.md",
    "clients/go/**/*.go",
    "src/**/*.py",
    "history_check/**/*.py",
    "tests/**/*.py",
    "benchmarks/**/*.py",
    "examples/**/*.py",
    "deploy/*",
    "console/src/**/*.ts*",
    "console/src/**/*.css",
    "console/tests/*.ts",
    ".github/workflows/*.yml",
    "run",
    "Dockerfile",
    "compose.yaml",
)
OF_THE_TEST = ("tests/vocabulary.py", "tests/test_vocabulary.py")


def read_files() -> dict[str, str]:
    """Returns the text of every file with prose by its path, except those that have to name private words."""
    paths = sorted({path for pattern in WRITTEN_IN for path in ROOT.glob(pattern) if path.is_file()})
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in paths}
    return {path: text for path, text in texts.items() if path not in OF_THE_TEST}


def main(arguments: list[str]) -> None:
    uses = {path: [*find_private_words(path, text)] for path, text in read_files().items()}
    if arguments:
        print("\n".join(use for path in uses if path.startswith(tuple(arguments)) for use in uses[path]))
        return
    counts = Counter({path: len(found) for path, found in uses.items() if found})
    print("\n".join(f"{count:5} {path}" for path, count in counts.most_common()))
    print(f"{counts.total():5} in all")


if __name__ == "__main__":
    main(sys.argv[1:])
