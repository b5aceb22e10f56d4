"""The files of a release, each installed into an empty environment, with the first commands of its README.

TEST_PACKAGES names a folder that `./run release` has filled; without it, a dry run makes one."""

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import Parser
from pathlib import Path

import pytest

from magistrate import __version__
from tests.generated_docs import ROOT
from tests.kubernetes.helm import find_helm
from tests.processes.starting import start_process
from tests.running import Client
from tests.shown_commands import read_shown, type_commands
from tests.waiting import wait_until

pytestmark = pytest.mark.nightly

STARTED = re.compile(r"listens on (http://\S+).*API key, shown only this once: (\S+)", re.DOTALL)
TOOK = re.compile(r"took (\d+|less than 1) ms")
EXAMPLE = ("--example", "document-sharing")
GO_MODULE = "magistrate.example/clients/go"
TYPESCRIPT_MODEL = """\
version 1.0

type user

type group
    relation member [user]

type document
    relation owner [user]

    relation viewer [user, group#member]
    inherit viewer if relation owner
"""


def run_in(folder: Path, *command: str | Path, **variables: str | Path) -> str:
    """Returns what a command prints, which must succeed. Nothing of the service is in its environment but what is
    given."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAGISTRATE_", "PYTHON"))}
    environment = own | {name: str(value) for name, value in variables.items()}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "TEST_PACKAGES" in os.environ:
        return (ROOT / os.environ["TEST_PACKAGES"]).resolve(strict=True)
    folder = tmp_path_factory.mktemp("packages")
    run_in(ROOT, sys.executable, "deploy/release.py", "--dry-run", folder)
    return folder


def find_package(packages: Path, pattern: str) -> Path:
    [path] = packages.glob(pattern)
    return path


def install_python(package: Path, folder: Path) -> Path:
    """Returns the folder of the commands of an environment with this package and what it needs."""
    venv.create(folder, with_pip=True, symlinks=True)
    constraints = ROOT / "constraints.txt"
    pip = (folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run_in(folder, *pip, "--constraint", constraints, package, PIP_CONSTRAINT=constraints)
    return folder / "bin"


def read_description(bin_folder: Path, name: str) -> str:
    """Returns the README that a package of Python has within it."""
    [metadata] = (bin_folder.parent / "lib").glob(f"python*/site-packages/{name}-*.dist-info/METADATA")
    return str(Parser().parsestr(metadata.read_text(encoding="utf-8")).get_payload())


@pytest.fixture(scope="session")
def service_commands(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("service")
    return install_python(find_package(packages, "magistrate-[0-9]*.whl"), folder)


@contextmanager
def serve(commands: Path, folder: Path, *options: str) -> Iterator[dict[str, str]]:
    """Runs an installed service on a database of its own. Yields what clients find in their environment."""
    log = folder / "service.log"
    with log.open("w") as output:
        process = start_process(
            [commands / "magistrate", "serve", "--port", "0", *options],
            folder=folder,
            environment={"PATH": os.environ["PATH"], "HOME": str(folder)},
            output=output,
        )
        try:
            wait_until(lambda: STARTED.search(log.read_text()) is not None)
            url, key = STARTED.findall(log.read_text())[0]
            yield {"MAGISTRATE_URL": url, "MAGISTRATE_API_KEY": key}
        finally:
            process.terminate()
            assert process.wait(60) == 0, log.read_text()


def test_every_file_has_its_checksum(packages: Path) -> None:
    listed = run_in(packages, "sha256sum", "--check", "SHA256SUMS")

    unlisted = {"SHA256SUMS", "release-notes.md"}
    assert {line.partition(": ")[0] for line in listed.splitlines()} == {
        path.name for path in packages.iterdir() if path.name not in unlisted
    }


def test_the_service_answers_what_its_readme_shows(service_commands: Path, tmp_path: Path) -> None:
    readme = read_description(service_commands, "magistrate").partition("\n## The console\n")[0]
    shown = [pair for pair in read_shown(readme) if pair[0].startswith(("curl", "./run magistrate"))]
    (tmp_path / "magistrate").symlink_to(service_commands / "magistrate")

    with serve(service_commands, tmp_path, *EXAMPLE) as environment:
        exported = [f"export {name}={value}" for name, value in environment.items()]
        commands = [
            command.replace("./run magistrate", "magistrate").replace(
                "http://127.0.0.1:8000", environment["MAGISTRATE_URL"]
            )
            for command, _ in shown
        ]
        printed = type_commands([*exported, *commands], tmp_path)[len(exported) :]

    assert len(shown) >= 4
    assert [TOOK.sub("", text).rstrip() for text in printed] == [TOOK.sub("", output).rstrip() for _, output in shown]


@pytest.mark.parametrize("pattern", ["magistrate-[0-9]*.whl", "magistrate-[0-9]*.tar.gz"])
def test_the_command_says_the_version_and_the_commit(pattern: str, packages: Path, tmp_path: Path) -> None:
    commands = install_python(find_package(packages, pattern), tmp_path)

    printed = run_in(tmp_path, commands / "magistrate", "--version")
    assert re.fullmatch(rf"magistrate, version {re.escape(__version__)}, commit [0-9a-f]{{40}}\n", printed)


@pytest.mark.parametrize("pattern", ["magistrate_client-*.whl", "magistrate_client-*.tar.gz"])
def test_the_client_for_python_does_what_its_readme_shows(
    pattern: str, packages: Path, service_commands: Path, tmp_path: Path
) -> None:
    commands = install_python(find_package(packages, pattern), tmp_path / "client")
    first_hour = read_description(commands, "magistrate_client").partition("\n## Web frameworks")[0]
    blocks = re.findall(r"```python\n(.*?)```", first_hour, re.DOTALL)
    (tmp_path / "readme.py").write_text("\n".join(blocks))

    with serve(service_commands, tmp_path) as environment:
        printed = run_in(tmp_path, commands / "python", "readme.py", **environment)

    assert len(blocks) >= 6
    assert printed in first_hour
    assert printed.strip()


def test_the_client_for_typescript_does_what_its_readme_shows(
    packages: Path, service_commands: Path, tmp_path: Path
) -> None:
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    archive = find_package(packages, "magistrate-client-*.tgz")
    run_in(tmp_path, "npm", "install", "--offline", "--no-audit", "--no-fund", archive)
    installed = tmp_path / "node_modules/@magistrate/client"
    [example, *_] = re.findall(r"```ts\n(.*?)```", (installed / "README.md").read_text(), re.DOTALL)
    expected = " ".join(re.findall(r"// (.*)$", example, re.MULTILINE))

    with serve(service_commands, tmp_path) as environment:
        with Client(environment["MAGISTRATE_URL"], environment["MAGISTRATE_API_KEY"]) as client:
            written = client.put("/v2/model", content=TYPESCRIPT_MODEL.encode(), headers={"content-type": "text/plain"})
            assert written.status_code == 200, written.text
        (tmp_path / "readme.js").write_text(example.replace("http://127.0.0.1:8000", environment["MAGISTRATE_URL"]))
        printed = run_in(tmp_path, "node", "readme.js", **environment)

    assert json.loads((installed / "package.json").read_text())["version"] == __version__
    assert " ".join(printed.split()) == expected


def test_the_client_for_go_does_what_its_readme_shows(packages: Path, service_commands: Path, tmp_path: Path) -> None:
    """Go takes the module from a folder that has the form of a proxy, and refuses an archive that breaks its rules."""
    version = f"v{__version__}"
    proxy = tmp_path / "proxy" / GO_MODULE / "@v"
    proxy.mkdir(parents=True)
    (proxy / f"{version}.zip").write_bytes(find_package(packages, "magistrate-go-*.zip").read_bytes())
    (proxy / f"{version}.info").write_text(json.dumps({"Version": version}))
    with zipfile.ZipFile(proxy / f"{version}.zip") as archive:
        (proxy / f"{version}.mod").write_bytes(archive.read(f"{GO_MODULE}@{version}/go.mod"))
        readme = archive.read(f"{GO_MODULE}@{version}/README.md").decode()
    program = tmp_path / "program"
    program.mkdir()
    [example] = re.findall(r"```go\n(package main\n.*?)```", readme, re.DOTALL)
    (program / "main.go").write_text(example)
    go: dict[str, str | Path] = {
        "GOPROXY": f"file://{tmp_path}/proxy",
        "GOMODCACHE": tmp_path / "modules",
        "GONOSUMDB": "*",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-modcacherw",
    }

    with serve(service_commands, tmp_path, *EXAMPLE) as environment:
        run_in(program, "go", "mod", "init", "documents.example", **go)
        run_in(program, "go", "get", f"{GO_MODULE}@{version}", **go)
        printed = run_in(program, "go", "run", ".", **go, **environment)

    assert f"prints `{printed.strip()}`" in readme


def test_the_chart_becomes_the_resources_of_its_version(packages: Path) -> None:
    charts = [*packages.glob("magistrate-[0-9]*.tgz")]
    if not charts:
        pytest.skip("the dry run has left out the chart, because Helm is not installed")
    helm = find_helm(may_build=False)

    rendered = run_in(packages, helm, "template", "authz", charts[0], "--kube-version", "1.37.0")

    assert f"helm.sh/chart: magistrate-{__version__}" in rendered
    assert f'app.kubernetes.io/version: "{__version__}"' in rendered
