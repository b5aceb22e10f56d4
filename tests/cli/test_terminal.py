"""Nothing that callers wrote reaches a terminal as it is, whichever command shows it."""

import ast
import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from magistrate.cli.commands import main
from magistrate.client import Client as ServiceClient
from magistrate.errors import RequestRefused
from magistrate.terminal import printable, printable_json, printable_lines
from magistrate.wiring import server
from tests.cli.every_command import ARGUMENTS, Words, write_files
from tests.cli.runner import CommandRunner
from tests.generated_docs import ROOT
from tests.running import KEY, Client, running_service, settings_for

HOSTILE = "\x1b[31m\x07\x08\x0c\r\x7f\x9b31m\x85\u061c\u200b\u200e\u2028\u202e\u2066\ufeff\U000e0041é日 "
"""Controls of both sets, marks that reorder or hide text, and letters, which must stay."""
FORBIDDEN = re.compile(
    "|".join(re.escape(sign) for sign in HOSTILE if unicodedata.category(sign) in ("Cc", "Cf", "Zl"))
)


def test_everything_is_printed_in_one_way() -> None:
    printing = ("print", "click.echo", "click.secho", "click.style", "sys.stdout.write")
    source = ROOT / "src/magistrate"
    printed: dict[str, list[str]] = {}
    for path in [*source.glob("cli/**/*.py"), *source.glob("wiring/**/*.py")]:
        calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        if printed_here := [call for call in calls if call in printing]:
            printed[str(path.relative_to(source))] = printed_here

    assert set(printed) == {"cli/output.py", "wiring/server.py"}
    assert printed["wiring/server.py"] == ["print"]


@pytest.mark.parametrize("text", ["é日ａ한ñ", "a b\u00a0c\u3000d", "👍", "x\u0301"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert printable(text) == printable_lines(text) == printable_json(text) == text


def test_every_character_that_terminals_obey_is_escaped() -> None:
    for code in range(0x110000):
        sign = chr(code)
        if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert printable(sign).isascii()
            assert printable(sign).isprintable()
            assert printable_lines(sign).isprintable() == (sign not in "\n\t")
            quoted = json.dumps({"x": sign}, ensure_ascii=False)
            assert json.loads(printable_json(quoted)) == {"x": sign}
            assert printable_json(quoted).isprintable()


def poison(value: Any, name: str = "") -> Any:
    """Appends HOSTILE to every text of an answer, and to the keys that callers choose."""
    if isinstance(value, dict):
        chosen = name in ("meta", "context", "relations", "descriptions", "allowedTypes", "decisionPath", "parameters")
        return {key + HOSTILE if chosen else key: poison(member, key) for key, member in value.items()}
    if isinstance(value, list):
        return [poison(member, name) for member in value]
    return value + HOSTILE if isinstance(value, str) and name not in ("nextCursor", "time", "decision") else value


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = settings_for(f"sqlite:///{tmp_path_factory.mktemp('service')}/m.db", decision_log=100)
    with running_service(settings) as url:
        yield url


@pytest.fixture
def url(service: str) -> str:
    """A service with descriptions, policies, meta and decisions by HOSTILE callers."""
    with Client(service) as client:
        client.clear()
        described = {"description": f"A\n{HOSTILE}", "descriptions": {"viewer": HOSTILE}}
        for name in ("document", "spare"):
            body = {"type": name, "relations": {"viewer": {}}, **described}
            client.post("/v2/object-types", json=body).raise_for_status()
        client.post("/v2/object-types", json={"type": "user", "relations": {}}).raise_for_status()
        quoted = HOSTILE.replace("\r", "")
        for name in ("office", "spare"):
            policy = {"name": name, "expression": f'x == "{quoted}" // {quoted}', "parameters": {"x": "string"}}
            client.post("/v2/policies", json=policy | {"description": HOSTILE}).raise_for_status()
        meta = {HOSTILE: [HOSTILE]}
        client.post("/v2/objects", json={"objectType": "document", "objectId": "plan", "meta": meta}).raise_for_status()
        client.write(
            [
                {
                    "objectType": "document",
                    "objectId": "plan",
                    "relation": "viewer",
                    "subject": {"objectType": "user", "objectId": "ann"},
                    "policy": f'x == "{quoted}"',
                }
            ]
        )
        client.ask("document:plan#viewer@user:ann", context={"x": HOSTILE})
    return service


def run(url: str, folder: Path, *command: str, typed: str = "") -> Result:
    write_files(folder)
    environment = {"MAGISTRATE_SERVER": url, "MAGISTRATE_API_KEY": KEY}
    return CommandRunner().invoke(main, command, env=environment, input=typed, prog_name="magistrate")


def assert_is_safe(ran: Result) -> None:
    assert not isinstance(ran.exception, Exception) or isinstance(ran.exception, SystemExit), ran.exception
    for text in (ran.stdout, ran.stderr):
        found = FORBIDDEN.search(text)
        assert found is None, ascii(text[max(0, found.start() - 80) : found.end() + 20])


LONG_RUNNING = (("serve",), ("playground",))


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("command", [words for words in ARGUMENTS if words not in LONG_RUNNING], ids=" ".join)
def test_no_command_shows_what_a_terminal_obeys(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Words, as_json: bool
) -> None:
    words = (*command, *ARGUMENTS[command], *(["--json"] if as_json else []))
    assert_is_safe(run(url, tmp_path, *words, typed="n\n"))
    monkeypatch.setattr(ServiceClient, "_read", lambda self, answer: poison(read(self, answer)))
    assert_is_safe(run(url, tmp_path, *words, typed="n\n"))

    def refuse(self: ServiceClient, answer: object) -> None:
        raise RequestRefused(400, "invalid_parameter", f"said {HOSTILE}", f"parameter{HOSTILE}", f"id{HOSTILE}")

    monkeypatch.setattr(ServiceClient, "_read", refuse)
    assert_is_safe(run(url, tmp_path, *words, typed="n\n"))


read = ServiceClient._read


@pytest.mark.parametrize("words", [("types", "show", "document"), ("model", "show"), ("policies", "show", "office")])
def test_what_is_safe_is_shown(url: str, tmp_path: Path, words: Words) -> None:
    ran = run(url, tmp_path, *words)

    assert "é日" in ran.stdout
    assert r"\x1b[31m\x07" in ran.stdout
    exact = json.loads(run(url, tmp_path, *words, "--json").stdout)
    if words[0] == "types":
        assert exact["descriptions"] == {"viewer": HOSTILE}
    if words[0] == "model":
        assert "only --json has them" in ran.stderr


LOCAL_FILES = {
    "hostile.txt": f"version 1.0\n\n/// {HOSTILE}\ntype document\n    relation viewer // {HOSTILE}\n"
    f"    inherit x{HOSTILE}\n",
    "model.json": json.dumps({"objectTypes": [{"type": "document", "description": HOSTILE, "relations": {}}]}),
    "hostile.jsonl": json.dumps({"objectType": "document", "objectId": HOSTILE}) + "\n",
    "hostile.yaml": json.dumps({"name": HOSTILE, "tests": [{"name": HOSTILE, "check": {HOSTILE: HOSTILE}}]}),
    "hostile.fga": f"model\n  schema 1.1\ntype a{HOSTILE}\n  relations\n    define b: [{HOSTILE}]\n",
    "hostile.log": f'{{"x": "{HOSTILE}"}}\n',
}


@pytest.mark.parametrize(
    "words",
    [
        ("model", "lint", "hostile.txt"),
        ("model", "fmt", "hostile.txt"),
        ("model", "convert", "hostile.txt"),
        ("model", "convert", "model.json"),
        ("model", "plan", "hostile.txt"),
        ("model", "test", "hostile.yaml"),
        ("import", "hostile.jsonl", "--database-url", "sqlite:///new.db"),
        ("import", "--from-openfga", "hostile.fga", "--database-url", "sqlite:///new.db"),
        ("import", "--from-spicedb", "hostile.fga", "--database-url", "sqlite:///new.db"),
        ("audit", "verify", "hostile.log"),
        ("write", "hostile.yaml"),
        ("types", "apply", "hostile.yaml"),
        ("policies", "apply", "hostile.yaml"),
        ("model", "lint", f"no{HOSTILE}"),
        ("types", "show", HOSTILE),
        ("check", HOSTILE),
        (HOSTILE,),
        ("types", HOSTILE),
        ("types", "list", f"--{HOSTILE}"),
        ("query", HOSTILE),
        ("doctor", "--port", HOSTILE),
    ],
    ids=lambda words: ascii(" ".join(words)),
)
def test_no_message_about_a_file_or_an_argument_shows_what_a_terminal_obeys(
    url: str, tmp_path: Path, words: Words
) -> None:
    for name, text in LOCAL_FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")

    assert_is_safe(run(url, tmp_path, *words))


def test_the_service_announces_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    server.announce(HOSTILE)

    assert FORBIDDEN.search(capsys.readouterr().out) is None
