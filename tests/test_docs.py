"""The documents say what is true: commands are run, tables are made anew, links are not broken."""

import argparse
import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click
import pytest

from benchmarks.fairness import command as fairness
from benchmarks.mixed import command as mixed
from magistrate.cli.commands import main
from magistrate.config.settings_table import SETTINGS, Settings
from magistrate.engine.evaluation.check import Check
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_id, object_ref, relation_name, type_name
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.checks.decision_log import RequestOrigin
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.writes.warrants import create_warrants, delete_warrants
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.postgres.database import PostgresServer
from magistrate.store.sqlite.database import SqliteFile
from magistrate.wiring import contexts
from magistrate.wiring.examples import read_example
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.stores import migrate_store
from tests.conftest import list_by_day
from tests.generated_docs import BLOCKS, FILES, ROOT, filled
from tests.running import KEY, running_service, settings_for

README = (ROOT / "README.md").read_text()
PAGES = ("*.md", "docs/**/*.md", "examples/*/*.md", "clients/*/*.md")
DOCUMENTS = sorted(path for pages in PAGES for path in ROOT.glob(pages))

EVENT_ID = re.compile(r"\b[\w-]{36}(?![\w-])")
STORE_ID = re.compile(r"\b(01[0-9A-HJKMNP-TV-Z]{24}|STORE)\b")
"""Stands for the store that a command before has made."""
CHANGING = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r'(Cursor":")[\w-]+'), r"\1<cursor>"),
    (re.compile(r'("token":")[\w.-]+'), r"\1<token>"),
    (re.compile(r" in [0-9.]+ s( \(\d+ lines/s\))?"), " in <n> s"),
    (re.compile(r'("(authorization_model_id|warrant_token)":")[\w.-]+'), r"\1<id>"),
    (re.compile(r"(planned at|now at token) [\w-]+"), r"\1 <token>"),
    (re.compile(r"took (\d+|less than 1) ms"), "took <n> ms"),
    (re.compile(r"\b0[0-9A-HJKMNP-TV-Z]{25}\b"), "<ulid>"),
    (EVENT_ID, "<id of an event>"),
]


def settled(text: str) -> str:
    """A text with everything that differs from run to run replaced by its name."""
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    return text


TRIED = {
    "README.md": 4,
    "docs/http.md": 6,
    "docs/query-language.md": 1,
    "docs/explain.md": 8,
    "docs/sessions.md": 4,
    "docs/agents.md": 10,
    "docs/authzen.md": 6,
    "docs/v1.md": 2,
    "docs/fga-v1.md": 2,
    "docs/history.md": 7,
    "docs/difference.md": 5,
    "docs/mirror.md": 2,
    "docs/model-testing.md": 2,
    "docs/tutorial.md": 7,
    "docs/stores.md": 6,
    "docs/coming-from-warrant.md": 5,
    "docs/coming-from-workos.md": 4,
    "docs/coming-from-openfga.md": 11,
    "docs/coming-from-spicedb.md": 6,
    "docs/coming-from-keto.md": 6,
    "docs/asked-for-elsewhere.md": 15,
}
"""Documents whose commands are run, and how many there are at least."""
EXAMPLE_OF_DOCUMENT = {
    "docs/agents.md": "agents",
    "docs/authzen.md": "authzen",
    "docs/tutorial.md": None,
    "docs/coming-from-workos.md": None,
    "docs/coming-from-openfga.md": None,
    "docs/coming-from-spicedb.md": None,
    "docs/coming-from-keto.md": None,
}
"""Documents whose commands need another example than `document-sharing`, or none."""
TYPED = ("curl", "printf", "python3", "./run magistrate", "MAGISTRATE_WARRANT_API_KEY=")
"""How commands begin that are run."""
NOT_TYPED = ("./run serve", "magistrate serve", "magistrate mcp", "export ", "pip install ", "(umask ")
"""How the others begin: they begin to serve, set what the tests set themselves, or change the machine."""
SERVERS = ("http://127.0.0.1:8000", "http://127.0.0.1:8001", "http://127.0.0.1:8080")
"""What documents call the service, a service beside it, and a server that is moved from: the tests have one for all."""
OF_THE_PAST = ("docs/history.md", "docs/difference.md", "docs/asked-for-elsewhere.md")
"""Documents whose commands look back on what `write_history` writes."""


def shown_commands(document: str) -> list[tuple[str, str]]:
    """Each command of a document that talks to the service, with the output shown."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    pairs = [pair for block in blocks for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]
    assert [command for command, _ in pairs if not command.startswith((*TYPED, *NOT_TYPED))] == []
    return [(command, output) for command, output in pairs if command.startswith(TYPED)]


def write_shown_files(document: str, folder: Path) -> None:
    """Writes the files that a document says to save: those whose first line is a comment with the name, and JSON, which
    has no comments, whose name ends the sentence before it."""
    text = (ROOT / document).read_text()
    for name, content in re.findall(r"```\w+\n((?:#|//) [\w.-]+\n)(.*?)```", text, re.DOTALL):
        (folder / name.split()[1]).write_text(name + content)
    for name, content in re.findall(r"`([\w.-]+\.json)`:\n\n```json\n(.*?)```", text, re.DOTALL):
        (folder / name).write_text(content)


INTERNS = NewWarrant(
    object_ref("group", "finance"),
    relation_name("member", "relation"),
    Subject(type_name("group", "type"), object_id("interns", "id"), relation_name("member", "relation")),
)


async def write_history(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes what documents OF_THE_PAST describe: a mistake on a Friday that is corrected on the Tuesday after."""

    def set_clock(time: str) -> None:
        now = int(datetime.fromisoformat(time).timestamp() * 1_000_000)
        for database in (SqliteFile, PostgresServer):
            monkeypatch.setattr(database, "now", lambda self: now)

    set_clock("2025-11-03T08:00:00+00:00")
    await prepare_store(settings, read_example("document-sharing"))
    set_clock("2025-11-14T16:40:00+00:00")
    async with contexts.open_context(settings) as context:
        await create_warrants(context, [INTERNS], context.stamp("friday"), str)
    await decide_on_saturday(settings, set_clock)
    set_clock("2025-11-18T09:12:00+00:00")
    async with contexts.open_context(settings) as context:
        await delete_warrants(context, [INTERNS], context.stamp("tuesday"))
    monkeypatch.undo()


async def decide_on_saturday(settings: Settings, set_clock: Callable[[str], None]) -> None:
    """Lets kim read the payroll, with the decision log on: the service of the document has it off, so that nothing
    else is recorded."""
    set_clock("2025-11-15T07:30:12+00:00")
    async with contexts.open_context(replace(settings, decision_log=100)) as context:
        assert context.decisions is not None
        subject = Subject(type_name("user", "type"), object_id("kim", "id"))
        checked = Check(
            object_ref("document", "payroll"), relation_name("can-read", "relation"), subject, {"network": "office"}
        )
        origin = RequestOrigin("portal", "01990f4e-7c1a-7b5e-9c3d-5a1f0e8d2b46")
        pending = PendingChecks(context, [checked], ALL_NEEDED, NO_DEMAND, origin=origin)
        assert pending.decide_at_once() or await pending.decide()
        await context.decisions.write()


@pytest.mark.parametrize("document", list_by_day(TRIED, 15))
def test_the_commands_of_a_document_answer_what_it_shows(
    document: str, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, arguments in {"curl": f"{ROOT}/tests/curl.py", "magistrate": "-m magistrate"}.items():
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    write_shown_files(document, tmp_path)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "MAGISTRATE_API_KEY": KEY}
    path |= {"MAGISTRATE_DATABASE_URL": database_url}  # of commands that open the database themselves
    path |= {"FGA_API_TOKEN": KEY}
    settings = settings_for(database_url, retention_hours=87_600)
    migrate_store(settings)
    if document in OF_THE_PAST:
        asyncio.run(write_history(settings, monkeypatch))
    else:
        example = EXAMPLE_OF_DOCUMENT.get(document, "document-sharing")
        asyncio.run(prepare_store(settings, None if example is None else read_example(example)))
    answered: list[tuple[str, str]] = []
    session_token = event_id = store_id = ""

    with running_service(settings) as url:
        for command, output in shown_commands(document):
            typed = command.replace("./run magistrate", "magistrate")
            for server in SERVERS:
                typed = typed.replace(server, url)
            typed = EVENT_ID.sub(event_id, STORE_ID.sub(store_id, typed))
            environment = os.environ | path | {"MAGISTRATE_SERVER": url, "SESSION_TOKEN": session_token}
            ran = subprocess.run(["sh", "-c", typed], cwd=tmp_path, env=environment, capture_output=True, text=True)
            answered.append((settled(output).strip(), settled(ran.stdout).strip()))
            if made := re.search(r'{"token":"([^"]+)"}', ran.stdout):
                session_token = made[1]
            if made := re.search(r'"id":"([0-9A-Z]{26})"', ran.stdout):
                store_id = made[1]
            if listed := EVENT_ID.findall(ran.stdout):
                event_id = listed[-1]

    assert len(answered) >= TRIED[document]
    for promised, real in answered:
        assert real == promised


def test_the_readme_begins_with_a_sentence_a_command_a_request_and_its_answer() -> None:
    title, sentence, command, request = README.split("\n\n")[:4]

    assert title == "# Magistrate"
    assert sentence.count(". ") == 0
    assert command.startswith("```console\n$ ./run serve --example document-sharing\n")
    assert "$ curl" in README.partition("## ")[0]
    assert request


@pytest.mark.parametrize("name", BLOCKS)
def test_what_is_read_off_the_code_is_up_to_date(name: str) -> None:
    text = (ROOT / name).read_text()

    assert filled(text, BLOCKS[name]) == text, "run ./run docs"


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_written_from_the_code_is_up_to_date(name: str) -> None:
    assert FILES[name]() == (ROOT / name).read_text(), "run ./run docs"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        assert target.startswith("http") or (document.parent / target).exists(), target


SOURCES = sorted(
    path
    for folder in ("src", "history_check", "tests", "benchmarks", "docs", "examples")
    for path in [*ROOT.glob(f"{folder}/**/*.py"), *ROOT.glob(f"{folder}/**/*.yaml"), *ROOT.glob(f"{folder}/**/*.md")]
)


def anchors_of(document: Path) -> set[str]:
    """Returns the anchors of all headings outside of code blocks, as the usual renderers of Markdown name them."""
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_headings_that_exist(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text())

    for target, anchor in links:
        assert anchor in anchors_of(document.parent / target if target else document), f"{target}#{anchor}"


def unresolved_citations(text: str) -> list[str]:
    """Returns what a text cites of docs/ and does not exist: pages, headings and decision records."""
    pages = re.findall(r"docs/([\w/-]+\.md)(?:#([\w-]+))?", text)
    records = re.findall(r"decisions/(\d{4}[\w-]*)", text)
    missing = [f"{page}#{anchor}" for page, anchor in pages if not is_page(page, anchor)]
    return missing + [record for record in records if not any(ROOT.glob(f"docs/decisions/{record}*.md"))]


def is_page(page: str, anchor: str) -> bool:
    document = ROOT / "docs" / page
    return document.exists() and (not anchor or anchor in anchors_of(document))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_tests_that_documents_cite_exist(document: Path) -> None:
    cited = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", document.read_text())

    assert [
        (file, name) for file, name in cited if name and not re.search(rf"def {name}\b", (ROOT / file).read_text())
    ] == []


def test_the_threat_model_has_a_test_for_each_threat() -> None:
    rows = re.findall(r"^\| (?!attacker|-).*", (ROOT / "docs" / "threat-model.md").read_text(), re.MULTILINE)

    assert len(rows) >= 50
    assert [row for row in rows if not re.search(r"`tests/[\w/]+\.py::test_\w+` \|$", row)] == []


def test_citations_of_documents_and_decisions_resolve() -> None:
    unresolved = {path.relative_to(ROOT): unresolved_citations(path.read_text()) for path in SOURCES}

    assert {path: citations for path, citations in unresolved.items() if citations} == {}


@pytest.mark.parametrize("cited", ["compatibility.md#no-such-heading", "no-such-page.md", f"decisions/{9999}-none.md"])
def test_a_citation_of_something_missing_is_found(cited: str) -> None:
    assert unresolved_citations(f"docs/{cited}")


def test_code_cites_no_contract_that_the_repository_does_not_contain() -> None:
    cited = re.compile(r"\bcontract('s)?[\s(#]+(sections?\b|\d)|\(decisions? \d", re.IGNORECASE)
    code = [path for path in SOURCES if path.suffix != ".md" and path != Path(__file__)]

    assert [path for path in code if cited.search(path.read_text())] == []


def flags_of_benchmarks() -> set[str]:
    flags: set[str] = set()
    for command in (mixed, fairness):
        parser = argparse.ArgumentParser()
        command.add_options(parser)
        flags |= set(re.findall(r"--[a-z-]+", parser.format_help()))
    return flags


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_flags_that_documents_name_exist(document: Path) -> None:
    others = {"--help", "--hypothesis-profile", "--only", "--seconds", "--version"}
    flags = {setting.flag for setting in SETTINGS} | others
    flags |= {
        flag
        for command in commands_of(main)
        for option in command.params
        for flag in (*option.opts, *option.secondary_opts)
    }
    flags |= flags_of_benchmarks()

    for flag in re.findall(r"`(--[a-z-]+)", document.read_text()):
        assert flag in flags, flag


def commands_of(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        yield command
        if isinstance(command, click.Group):
            yield from commands_of(command)


def test_help_shows_every_setting() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "magistrate", "serve", "--help"],
        env=os.environ | {"COLUMNS": "500"},
        capture_output=True,
        text=True,
        check=True,
    )

    help_text = " ".join(ran.stdout.split())
    for setting in SETTINGS:
        assert setting.flag in help_text
        assert setting.variable in help_text
        assert setting.meaning in help_text
