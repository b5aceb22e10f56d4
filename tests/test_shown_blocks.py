"""Every block of code in the documentation is run by a test, or has the reason for which it is not."""

import ast
import importlib
import json
import re
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from magistrate.cli.commands import main
from tests.cli.runner import CommandRunner
from tests.generated_docs import ROOT
from tests.running import Client
from tests.shown_blocks import FENCE, SHOWN, Block, read_blocks

BLOCKS = read_blocks()
FILE_OF_TESTS = re.compile(r"tests/[\w/]+\.py")


def texts_of(document: str, language: str) -> list[str]:
    return [block.text for block in BLOCKS if (block.document, block.language) == (document, language)]


def find_unknown(document: str, blocks: list[Block]) -> Counter[str]:
    """Returns how many blocks of a document there are more than its rows say, or fewer, by language."""
    numbers = Counter(block.language for block in blocks if block.document == document)
    known = Counter({shown.language: shown.number or numbers[shown.language] for shown in SHOWN.get(document, [])})
    return (numbers - known) + (known - numbers)


@pytest.mark.parametrize("document", sorted({block.document for block in BLOCKS} | {*SHOWN}))
def test_something_runs_each_block_or_there_is_a_reason(document: str) -> None:
    assert find_unknown(document, BLOCKS) == {}, "say in tests/shown_blocks.py what runs the block, or why nothing does"


@pytest.mark.parametrize(("document", "language"), [("docs/api.md", "json"), ("README.md", "sh"), ("docs/cli.md", "")])
def test_a_block_without_a_row_is_found(document: str, language: str) -> None:
    assert find_unknown(document, [*BLOCKS, Block(document, language, "")]) == {language: 1}


@pytest.mark.parametrize(
    ("document", "by"), sorted({(document, shown.by) for document, rows in SHOWN.items() for shown in rows})
)
def test_what_runs_a_block_reads_its_document(document: str, by: str) -> None:
    if FILE_OF_TESTS.fullmatch(by):
        assert Path(document).name in (ROOT / by).read_text()
    else:
        assert len(by.split()) >= 4
        assert [file for file in FILE_OF_TESTS.findall(by) if not (ROOT / file).exists()] == []


def test_no_command_is_indented_in_place_of_a_block() -> None:
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        assert re.findall(r"\n\n    (?:\$ |curl |magistrate |\./run ).*", FENCE.sub("", path.read_text())) == [], path


def test_json_and_yaml_can_be_read() -> None:
    for block in BLOCKS:
        if block.language == "yaml":
            yaml.safe_load(block.text)
        elif block.language == "json" and "…" not in block.text:
            read_json_values(block.text)


def read_json_values(text: str) -> list[Any]:
    """Returns the values of a text that has one behind the other."""
    decoder, values, rest = json.JSONDecoder(), [], text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        values.append(value)
        rest = rest[end:].strip()
    return values


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language in ("python", "py")])
def test_python_compiles_and_imports_what_there_is(block: Block) -> None:
    last = block.text.rstrip().splitlines()[-1]
    is_opened = last.partition("#")[0].rstrip().endswith(":")
    body = " " * (len(last) - len(last.lstrip()) + 4) + "pass\n" if is_opened else ""
    for node in ast.walk(ast.parse(block.text + body)):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("magistrate"):
            module = importlib.import_module(node.module)
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Yields each call of `magistrate` that a block of a shell has, as words, with its document."""
    for block in BLOCKS:
        if block.language in ("console", "sh"):
            text = block.text.replace("\\\n", " ")
            lines = text.splitlines() if block.language == "sh" else re.findall(r"^\$ (.*)$", text, re.MULTILINE)
            for line in lines:
                yield from ((block.document, words) for words in read_calls(line))


def read_calls(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("|&;<>()"):
            while words and ("=" in words[0] or words[0] in ("./run", "until")):
                program = words.pop(0)
                if program == "./run" and words[:1] == ["serve"]:
                    words.insert(0, "magistrate")
            if words[:1] == ["magistrate"]:
                yield words[1:]
            words = []
        else:
            words.append(word)


def test_the_commands_that_are_shown_can_be_typed() -> None:
    commands = [*shown_commands()]

    assert len(commands) > 150
    for document, words in commands:
        try:
            resolve(main, words)
        except click.UsageError as fault:
            raise AssertionError(f"{document}: magistrate {' '.join(words)}: {fault.format_message()}") from fault


def resolve(group: click.Group, words: list[str]) -> None:
    """Reads words as the command would. Raises click.UsageError if it would refuse them."""
    command: click.Command = group
    context = click.Context(group)
    while isinstance(command, click.Group):
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, parent=context)
    command.make_parser(context).parse_args(args=[*words])


@pytest.mark.parametrize(
    "text", ["magistrate chekc x", "magistrate check --explian x", "a | ./run magistrate import --no"]
)
def test_a_command_that_cannot_be_typed_is_found(text: str) -> None:
    [words] = read_calls(text)

    with pytest.raises(click.UsageError):
        resolve(main, words)


def test_the_models_that_are_shown_have_no_mistakes(tmp_path: Path) -> None:
    models = [block for block in BLOCKS if block.language == "fga" or block.text.startswith("version 1.0")]

    assert len(models) >= 4
    for number, block in enumerate(models):
        (tmp_path / f"{number}.txt").write_text(block.text)
        linted = CommandRunner().invoke(main, ["model", "lint", str(tmp_path / f"{number}.txt")], env={})
        assert linted.exit_code == 0, (block.document, linted.output)


PATHS = ("object-types", "warrants", "writes", "warrants/delete", "check", "check", "keys")
"""What the bodies in docs/api.md are sent to, in their order."""


def test_the_bodies_of_the_api_are_accepted(client: Client) -> None:
    bodies = texts_of("docs/api.md", "json")
    client.define({"team": {"member": {}}})

    for path, body in zip(PATHS, bodies, strict=True):
        if path == "writes":  # its document has owners
            client.define({"document": {"owner": {}, "viewer": {}}})
            client.grant("document:plan#owner@user:ann")
        answered = client.post(f"/v2/{path}", content=body.encode())
        assert answered.status_code == 200, (path, answered.text)


def test_the_policy_that_is_shown_is_accepted(client: Client) -> None:
    [policy] = texts_of("docs/policies.md", "json")

    assert client.post("/v2/policies", content=policy.encode()).status_code == 200


def test_the_lines_of_an_import_are_imported(tmp_path: Path) -> None:
    [lines] = texts_of("docs/cli.md", "json")
    (tmp_path / "rows.jsonl").write_text(lines)

    imported = CommandRunner().invoke(
        main, ["import", str(tmp_path / "rows.jsonl"), "--database-url", f"sqlite:///{tmp_path}/m.db"], env={}
    )

    assert imported.exit_code == 0, imported.output
    assert imported.stdout.startswith("4 lines in ")


def test_the_test_file_of_the_page_passes(tmp_path: Path) -> None:
    [tests] = texts_of("docs/model-testing.md", "yaml")
    (tmp_path / "sharing.test.yaml").write_text(tests)
    (tmp_path / "sharing.txt").write_text("""version 1.0
type user
type team
    relation member [user]
type folder
    relation viewer [team#member]
type document
    relation parent [folder]
    relation blocked [user]
    relation viewer []
    inherit viewer if relation viewer on parent [folder]
    relation can-read []
    inherit can-read if
        all_of
            relation viewer
            none_of
                relation blocked
""")

    tested = CommandRunner().invoke(main, ["model", "test", str(tmp_path / "sharing.test.yaml")], env={})

    assert (tested.exit_code, tested.stdout) == (0, "3 passed, 0 failed\n")


def test_the_rules_of_gateways_decide_as_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules.yaml").write_text(texts_of("docs/gateways.md", "yaml")[0])
    command, _, output = texts_of("docs/gateways.md", "console")[0].partition("\n")
    monkeypatch.chdir(tmp_path)

    tried = CommandRunner().invoke(main, shlex.split(command)[2:], env={})

    assert (tried.exit_code, tried.stdout) == (0, output)


def test_the_statement_of_the_mirror_reads_its_table() -> None:
    [statement] = texts_of("docs/mirror.md", "sql")
    database = sqlite3.connect(":memory:")
    columns = "object_type, object_id, relation, subject_type, subject_id, conditional"
    database.execute(f"CREATE TABLE access ({columns})")
    database.execute("CREATE TABLE documents (id, updated)")
    database.executemany("INSERT INTO documents VALUES (?, ?)", [("plan", 1), ("budget", 2), ("secret", 3)])
    rows = [("document", name, "can-read", "user", user, 0) for name, user in
            (("plan", "ann"), ("budget", "ann"), ("secret", "eve"))]  # fmt: skip
    database.executemany("INSERT INTO access VALUES (?, ?, ?, ?, ?, ?)", rows)

    assert database.execute(statement).fetchall() == [("budget", 2), ("plan", 1)]
    database.close()
