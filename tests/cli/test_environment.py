"""The environment of every command: what a container platform puts there, and whose key is which."""

import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from magistrate.cli.commands import main
from magistrate.config.api_keys import read_api_key_file
from magistrate.config.settings import find_service_links, read_client_settings, read_settings, read_warrant_api_key
from magistrate.config.settings_table import CLIENT_SETTINGS, MOVING_SETTINGS, SETTINGS, Settings
from magistrate.errors import InvalidSetting
from magistrate.wiring import playground, server
from tests.cli.cases import Magistrate
from tests.cli.every_command import ARGUMENTS, Words, list_commands, write_files
from tests.cli.runner import CommandRunner
from tests.generated_docs import ROOT
from tests.processes.service_process import ServiceProcess
from tests.running import KEY

ADDRESS = "tcp://10.96.0.17:8000"


def make_links(service: str) -> dict[str, str]:
    """What Kubernetes makes of a service with a named and an unnamed port, and of one that speaks UDP."""
    links = {
        f"{service}_SERVICE_HOST": "10.96.0.17",
        f"{service}_SERVICE_PORT": "8000",
        f"{service}_SERVICE_PORT_HTTP": "8000",
        f"{service}_SERVICE_PORT_HTTP_2": "8001",
        f"{service}_PORT": ADDRESS,
    }
    for port, protocol in ((8000, "tcp"), (53, "udp")):
        name = f"{service}_PORT_{port}_{protocol.upper()}"
        links |= {
            name: f"{protocol}://10.96.0.17:{port}",
            f"{name}_PROTO": protocol,
            f"{name}_PORT": str(port),
            f"{name}_ADDR": "10.96.0.17",
        }
    return links


LINKS = {
    name: text
    for service in ("MAGISTRATE", "MAGISTRATE_ADMIN", "MAGISTRATE_POSTGRES", "MAGISTRATE_API_KEY", "MAGISTRATE_WEB_2")
    for name, text in make_links(service).items()
} | {"MAGISTRATE_DNS_PORT": "udp://10.96.0.10:53"}


def test_the_arguments_of_every_command_are_known() -> None:
    assert set(ARGUMENTS) == set(list_commands())


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "serve", lambda settings, *_: 0)
    monkeypatch.setattr(playground, "run_playground", lambda *_: 0)
    return tmp_path


@pytest.mark.parametrize("command", ARGUMENTS, ids=" ".join)
def test_no_command_minds_the_variables_of_a_container_platform(in_folder: Path, command: Words) -> None:
    away = {"MAGISTRATE_SERVER": "http://127.0.0.1:1", "MAGISTRATE_API_KEY": KEY}

    def run(environment: dict[str, str]) -> Result:
        return CommandRunner().invoke(main, [*command, *ARGUMENTS[command]], env=away | environment, input="")

    plain, linked = run({}), run(LINKS)

    assert (linked.exit_code, linked.stderr) == (plain.exit_code, plain.stderr)
    assert "is not a setting" not in linked.output
    assert "is not a setting" in run({"MAGISTRATE_SERVICE": "x"}).output or command not in READERS


READERS = {command for command in ARGUMENTS if command[0] not in ("audit", "forward", "playground", "completion")} - {
    ("model", name) for name in ("fmt", "lint", "convert", "test")
}
"""The commands that read the environment."""


def test_settings_are_read_beside_the_variables_of_a_container_platform() -> None:
    environment = LINKS | {"MAGISTRATE_HOST": "::1", "MAGISTRATE_WARRANT_API_KEY": "w"}

    assert (read_settings({}, environment).host, read_settings({}, environment).port) == ("::1", 8000)
    assert read_settings({"port": "9"}, environment).admin_port == 0
    assert read_client_settings({}, environment).server == "http://127.0.0.1:8000"
    assert read_warrant_api_key(None, environment) == "w"


def test_no_setting_is_taken_for_a_variable_of_a_container_platform() -> None:
    names = [setting.variable for setting in (*SETTINGS, *CLIENT_SETTINGS, *MOVING_SETTINGS)]

    assert find_service_links({name: "8000" for name in names}) == []


@pytest.mark.parametrize(
    "name",
    ["MAGISTRATE_SERVICE", "MAGISTRATE_SERVICE_HOSTS", "MAGISTRATE_PORT_8000", "MAGISTRATE_PORT_X_TCP", "MAGISTRATE_X"],
)
def test_a_variable_that_only_looks_alike_is_refused(name: str) -> None:
    with pytest.raises(InvalidSetting, match=f"^{name} is not a setting"):
        read_settings({}, {name: "10.96.0.17"})


def test_a_port_that_is_no_address_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="MAGISTRATE_PORT must be a whole number"):
        read_settings({}, {"MAGISTRATE_PORT": "http://10.96.0.17:8000"})


@pytest.mark.parametrize("space", [" ", "\t\n", "\N{EM SPACE}", "\x1e"])
def test_space_around_a_number_does_not_matter(space: str) -> None:
    environment = {"MAGISTRATE_PORT": f"{space}9{space}", "MAGISTRATE_TRACE_SAMPLE": f"{space}0.5{space}"}

    settings = read_settings({}, environment)

    assert (settings.port, settings.trace_sample) == (9, 0.5)


def test_the_service_says_once_which_variables_it_ignores(tmp_path: Path) -> None:
    links = {name.removeprefix("MAGISTRATE_"): text for name, text in make_links("MAGISTRATE").items()}
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY, **links) as service:
        service.stop()

    [line] = [json.loads(line) for line in service.errors().splitlines()]
    assert (line["level"], line["variables"]) == ("debug", sorted(make_links("MAGISTRATE")))


def given_keys(monkeypatch: pytest.MonkeyPatch, *flags: str, **environment: str) -> tuple[tuple[str, ...], bool]:
    """The keys that `serve` begins with, and whether they are those of clients."""
    started: list[Settings] = []
    monkeypatch.setattr(server, "serve", lambda settings, *_: started.append(settings))
    ran = CommandRunner().invoke(main, ["serve", *flags], env=environment)
    assert ran.exit_code == 0, ran.output
    return started[0].api_keys, started[0].has_client_key


def test_the_keys_of_the_service_are_not_those_of_clients(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("k" * 16)
    of_clients = {"MAGISTRATE_API_KEY": "a-key-that-clients-send"}

    for others in ({}, {"MAGISTRATE_API_KEY": "short"}, {"MAGISTRATE_API_KEY": ""}, of_clients):
        by_variable = given_keys(monkeypatch, MAGISTRATE_API_KEYS=f"{KEY},{KEY}2", **others)
        assert by_variable == ((KEY, f"{KEY}2"), False)
        assert given_keys(monkeypatch, "--api-key", KEY, **others) == ((KEY,), False)
        assert given_keys(monkeypatch, "--api-key-file", str(tmp_path / "keys"), **others) == ((), False)
    assert given_keys(monkeypatch, **of_clients) == (("a-key-that-clients-send",), True)
    assert read_client_settings({}, of_clients | {"MAGISTRATE_API_KEYS": KEY}).api_key == "a-key-that-clients-send"
    assert read_client_settings({}, {"MAGISTRATE_API_KEYS": KEY}).api_key is None


def test_a_service_that_finds_the_key_of_clients_alone_warns(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, API_KEY=KEY) as service, service.client() as client:
        assert client.get("/v2/object-types").status_code == 200
        service.stop()
    found = Magistrate("").json_of("doctor", "--database-url", f"sqlite:///{tmp_path}/magistrate.db")

    [line] = [json.loads(line) for line in service.errors().splitlines()]
    assert (line["level"], line["event"]) == ("warning", "the key of clients is used as a key of the service")
    assert "MAGISTRATE_API_KEYS" in line["remedy"]
    assert any(finding["message"].startswith("MAGISTRATE_API_KEY,") for finding in found["findings"])


KEY_IN_DOCS = re.compile(
    r"(?:(?:ApiKey|Bearer) +|_API_?KEYS?=|--(?:warrant-)?api-key[= ])[\"']?([!-~]+?)[\"'`]?(?=[\s;,)|]|$)"
    r"|(magistrate_(?=[a-z]*[A-Z0-9])[A-Za-z0-9_.-]+)"
)
"""Finds what stands where a key would, and what looks like one that was generated."""
FOLDERS = ("docs", "examples", "deploy", "src/magistrate", "console/src")
SUFFIXES = {".md", ".yaml", ".yml", ".json", ".html", ".ts", ".tsx", ".py", ".txt", ".service", ""}


def list_documented_keys() -> set[str]:
    """Every word that README, documents, examples, and the pages and texts of the program show as a key."""
    files = [*ROOT.glob("*.md"), ROOT / "compose.yaml", ROOT / "Dockerfile"]
    files += [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in SUFFIXES]
    found = set()
    for file in files:
        if file.is_file() and not {"node_modules", "__pycache__", "data", ".venv", "tests"} & set(file.parts):
            for match in KEY_IN_DOCS.finditer(file.read_text("utf-8", "replace")):
                found.add(match[1] or match[2])
    return {key for key in found if len(key) >= 16 and not re.search(r"[${}()\\<>\"]", key)}


def test_keys_that_stand_in_the_documents_are_refused(tmp_path: Path) -> None:
    documented = list_documented_keys()

    assert "magistrate_Vd3..." in documented
    for key in documented | {"magistrate_Xyz...abcdef"}:
        (tmp_path / "keys").write_text(f"{KEY}\n{key}\n")
        for flags, environment in (
            ({"api_key": f"{KEY},{key}"}, {}),
            ({}, {"MAGISTRATE_API_KEYS": key}),
        ):
            with pytest.raises(InvalidSetting, match="is an example of the documentation"):
                read_settings(flags, environment)
        with pytest.raises(InvalidSetting, match=r"line 2 of \S+ is an example of the documentation"):
            read_api_key_file(str(tmp_path / "keys"))
        ran = CommandRunner().invoke(main, ["doctor"], env={"MAGISTRATE_API_KEY": key})
        assert (ran.exit_code, "is an example of the documentation" in ran.stdout) == (2, True)
