"""The release workflow, as far as it can be checked without making a release: what comes before what, and the versions
of all packages."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from magistrate import __version__
from tests.generated_docs import ROOT
from tests.workflows import read_workflow

WORKFLOW = read_workflow(ROOT / ".github/workflows/release.yml")
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
PUBLISHING = re.compile(r"\buv publish|npm publish|git push|docker push|gh release create")


def print_versions(folder: Path, *tags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "deploy" / "versions.py"), *tags]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def read_versions(folder: Path) -> dict[str, str]:
    """The version that each file says."""
    lines = print_versions(folder).stdout.splitlines()
    return {path: version for version, path in (line.split("  ") for line in lines)}


def list_needed(name: str) -> set[str]:
    """The jobs that have succeeded when this one begins."""
    needs = JOBS[name].get("needs", [])
    direct = {needs} if isinstance(needs, str) else {*needs}
    return direct.union(*(list_needed(job) for job in direct))


def commands_of(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_only_a_tag_of_a_version_makes_a_release() -> None:
    assert WORKFLOW["True"] == {"push": {"tags": ["v*"]}}


def test_nothing_is_published_before_all_tests_have_passed_on_one_version() -> None:
    commands = commands_of("distributions")
    versions = 'python deploy/versions.py "$GITHUB_REF_NAME"'

    assert not any(PUBLISHING.search(command) for command in commands)
    assert commands[0] == versions
    assert "./run test" in commands[1]
    publishing = [name for name in JOBS if any(PUBLISHING.search(command) for command in commands_of(name))]
    assert publishing == ["image", "publish", "release"]
    assert all("distributions" in list_needed(name) for name in publishing)
    assert commands_of("publish")[0] == versions


def test_packages_are_published_last_and_by_the_identity_of_the_workflow() -> None:
    assert list_needed("publish") == {"distributions", "image"}
    assert list_needed("release") == {"distributions", "image", "publish"}
    assert JOBS["publish"]["permissions"] == {"contents": "write", "id-token": "write"}
    assert JOBS["publish"]["environment"] == "release"
    assert [name for name, job in JOBS.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    assert "secrets." not in "\n".join(commands_of("publish"))


def test_every_package_is_built_and_published() -> None:
    built, published = ("\n".join(commands_of(name)) for name in ("distributions", "publish"))
    folders = {
        path.parent for name in ("pyproject.toml", "package.json", "go.mod") for path in ROOT.glob(f"clients/*/{name}")
    }

    assert {folder.name for folder in folders} == {"python", "typescript", "go"}
    assert "git ls-files pyproject.toml 'clients/*/pyproject.toml'" in built
    assert "npm pack --pack-destination ../../dist" in built
    assert "uv publish --trusted-publishing always dist/*.whl dist/*.tar.gz" in published
    assert "npm publish --provenance --access public dist/*.tgz" in published
    assert 'git tag "clients/go/$GITHUB_REF_NAME"' in published


def test_the_module_for_go_is_only_published_from_where_its_path_leads(tmp_path: Path) -> None:
    [step] = [command for command in commands_of("publish") if "go.mod" in command]
    (tmp_path / "clients/go").mkdir(parents=True)
    (tmp_path / "git").write_text('#!/bin/sh\necho "git $*"\n')
    (tmp_path / "git").chmod(0o755)

    def publish(module: str) -> str:
        (tmp_path / "clients/go/go.mod").write_text(f"module {module}\n\ngo 1.23\n")
        environment = {
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "GITHUB_REPOSITORY": "acme/magistrate",
            "GITHUB_REF_NAME": "v1.2.3",
        }
        command = ["sh", "-e", "-c", step]
        return subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout

    assert publish("github.com/acme/magistrate/clients/go").splitlines() == [
        "git tag clients/go/v1.2.3",
        "git push origin clients/go/v1.2.3",
    ]
    assert publish("magistrate.example/clients/go").startswith("::warning::")


def test_all_packages_have_the_version_of_the_service() -> None:
    versions = read_versions(ROOT)

    assert len(versions) >= 4
    assert {*versions.values()} == {__version__}
    assert print_versions(ROOT, f"v{__version__}").returncode == 0


def test_a_tag_of_another_version_publishes_nothing() -> None:
    ran = print_versions(ROOT, "v99.0.0")

    assert ran.returncode == 1
    assert "v99.0.0" in ran.stderr


@pytest.mark.parametrize("changed", sorted(read_versions(ROOT)))
def test_a_package_of_another_version_is_found(changed: str, tmp_path: Path) -> None:
    for path in (*read_versions(ROOT), *(str(path.relative_to(ROOT)) for path in list_manifests())):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    text = (ROOT / changed).read_text()
    (tmp_path / changed).write_text(
        json.dumps(json.loads(text) | {"version": "9.9.9"})
        if changed.endswith(".json")
        else text.replace(__version__, "9.9.9")
    )

    versions = read_versions(tmp_path)

    assert print_versions(tmp_path).returncode == 1
    assert versions.pop(changed) == "9.9.9"
    assert {*versions.values()} == {__version__}


def list_manifests() -> list[Path]:
    return [ROOT / "pyproject.toml", *ROOT.glob("clients/*/pyproject.toml"), *ROOT.glob("clients/*/go.mod")]
