"""The package as users get it: built, installed into an empty environment, run by each Python that is here; and its
README, from top to bottom."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.clients.conformance.driver import conformance_service
from tests.generated_docs import ROOT
from tests.running import KEY

PACKAGE = ROOT / "clients" / "python"
DEADLINE_SECONDS = 180
VERSIONS = ("3.9", "3.10", "3.12", "3.13", "3.14")
"""Names the supported versions of Python beside the one that runs the tests."""

USE = """
import asyncio, sys
from magistrate_client import AsyncClient, Client

async def check():
    async with AsyncClient() as client:
        return await client.check("user:ann", "viewer", "document:plan")

with Client() as client:
    client.write_model("version 1.0\\n\\ntype user\\n\\ntype document\\n    relation viewer [user]\\n")
    client.write(create=["document:plan#viewer@user:ann"])
    assert client.check("user:ann", "viewer", "document:plan")
    assert [str(warrant) for warrant in client.warrants()] == ["document:plan#viewer@user:ann"]
    assert client.explain("user:ann", "viewer", "document:plan").allowed
    assert next(client.watch(snapshot=True)).is_first
assert asyncio.run(check())
print(Client.__module__, "httpx" in sys.modules)
"""


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("distributions")
    for kind in ("wheel", "sdist"):
        command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(folder)]
        subprocess.run(command, cwd=PACKAGE, check=True, capture_output=True, timeout=DEADLINE_SECONDS)
    return folder


def run_python(python: Path | str, code: str, **variables: str) -> str:
    """What a program prints, which sees nothing of this repository."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAGISTRATE_", "PYTHON"))}
    command = [python, "-W", "error", "-c", code]
    ran = subprocess.run(
        command, env=inherited | variables, capture_output=True, text=True, timeout=DEADLINE_SECONDS, cwd="/"
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def is_usable(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, timeout=DEADLINE_SECONDS).returncode == 0


def find_pythons() -> list[str]:
    """The Pythons that are here, of the supported versions, and can be run: there may be a name that leads to none."""
    folders = sorted(Path.home().glob(".pyenv/versions/*/bin"))
    found = []
    for version in VERSIONS:
        name = f"python{version}"
        paths = [shutil.which(name), *(str(folder / name) for folder in folders if (folder / name).exists())]
        found += [path for path in paths if path is not None and is_usable(path)][-1:]
    return found


def test_the_wheel_has_all_that_it_takes(distributions: Path) -> None:
    [wheel] = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = [archive.read(name).decode() for name in names if name.endswith("METADATA")]

    sources = {str(path.relative_to(PACKAGE / "src")) for path in PACKAGE.glob("src/**/*.py")}
    assert sources | {"magistrate_client/py.typed"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE) == [
        "httpx>=0.27",
        "django>=4.2; extra == 'django'",
        "fastapi>=0.115; extra == 'fastapi'",
        "flask>=3.0; extra == 'flask'",
        "langchain-core>=0.3; extra == 'langchain'",
        "llama-index-core>=0.12; extra == 'llama-index'",
        "sqlalchemy>=2.0; extra == 'sqlalchemy'",
        "starlette>=0.40; extra == 'starlette'",
        "magistrate; (python_version >= '3.11') and extra == 'testing'",
    ]
    for line in ("Requires-Python: >=3.9", "License-Expression: Apache-2.0", "Classifier: Typing :: Typed"):
        assert line in metadata
    assert "## The first hour" in metadata


def test_the_source_distribution_builds_the_same(distributions: Path, tmp_path: Path) -> None:
    [sdist] = distributions.glob("*.tar.gz")
    subprocess.run(["tar", "--extract", "--file", sdist, "--directory", tmp_path], check=True)
    [unpacked] = tmp_path.iterdir()
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "built")]
    subprocess.run(command, cwd=unpacked, check=True, capture_output=True, timeout=DEADLINE_SECONDS)

    [again], [wheel] = (tmp_path / "built").glob("*.whl"), distributions.glob("*.whl")
    with zipfile.ZipFile(again) as first, zipfile.ZipFile(wheel) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())


def test_an_empty_environment_gets_the_wheel_alone(distributions: Path, tmp_path: Path, database_url: str) -> None:
    [wheel] = distributions.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True, timeout=60)
    python = tmp_path / "venv" / "bin" / "python"
    [site] = (tmp_path / "venv").glob("lib/python*/site-packages")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*command, str(wheel)], check=True, timeout=60, env={**os.environ, "PIP_NO_WARN_CONFLICTS": "1"})

    with conformance_service(database_url) as service:
        printed = run_python(python, USE, MAGISTRATE_URL=service.url, MAGISTRATE_API_KEY=KEY)

    assert printed == "magistrate_client.synchronous.client False\n"  # and so without httpx


@pytest.mark.parametrize("python", find_pythons(), ids=lambda path: Path(path).name)
def test_each_python_runs_the_client(python: str, database_url: str) -> None:
    with conformance_service(database_url) as service:
        variables = {"MAGISTRATE_URL": service.url, "MAGISTRATE_API_KEY": KEY, "PYTHONPATH": str(PACKAGE / "src")}

        assert run_python(python, USE, **variables) == "magistrate_client.synchronous.client False\n"


def test_the_first_hour_goes_as_the_readme_says(database_url: str) -> None:
    readme = (PACKAGE / "README.md").read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    code = "\n".join(text for language, text in blocks if language == "python")
    [shown] = [text for language, text in blocks if not language]

    with conformance_service(database_url) as service:
        printed = run_python(
            sys.executable, f"{code}\nclient.close()", MAGISTRATE_URL=service.url, MAGISTRATE_API_KEY=KEY
        )

    assert printed == shown


def test_the_license_is_that_of_the_service() -> None:
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
