"""The release workflow, as far as it can be checked without making a release: what comes before what, the versions of
all packages, its notes, and that the same commit makes the same files. tests/test_installing.py installs them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from magistrate import __version__
from tests.generated_docs import ROOT
from tests.kubernetes.helm import find_helm
from tests.workflows import read_workflow

WORKFLOW = read_workflow(ROOT / ".github/workflows/release.yml")
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
PUBLISHING = re.compile(r"\buv publish|npm publish|git push|docker push|image\.sh push|helm push|gh release create")
TAG = f"v{__version__}"


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
    return [step["run"] for step in JOBS[job].get("steps", []) if "run" in step]


def actions_of(job: str) -> list[str]:
    return [step["uses"].partition("@")[0] for step in JOBS[job]["steps"] if "uses" in step]


def test_only_a_tag_of_a_version_makes_a_release() -> None:
    assert WORKFLOW["True"] == {"push": {"tags": ["v*"]}}


def test_nothing_is_published_before_all_tests_have_passed_on_one_version() -> None:
    """The tests are those of a pull request, which run on each supported version of Python and PostgreSQL."""
    assert JOBS["tests"] == {"uses": "./.github/workflows/ci.yml"}
    made = commands_of("distributions")
    assert made == ['./run release "$GITHUB_REF_NAME"', "./run test -m nightly tests/test_installing.py"]
    publishing = [name for name in JOBS if any(PUBLISHING.search(command) for command in commands_of(name))]
    assert publishing == ["image", "publish", "release"]
    assert all(list_needed(name) >= {"tests", "distributions"} for name in publishing)
    assert commands_of("publish")[0].splitlines() == [
        'python deploy/versions.py "$GITHUB_REF_NAME"',
        "cd dist && sha256sum --check SHA256SUMS",
    ]


def test_a_pull_request_makes_the_files_of_a_release_from_a_clone() -> None:
    job = read_workflow(ROOT / ".github/workflows/ci.yml")["jobs"]["release"]

    assert job["steps"][-1]["run"] == "./run release --dry-run"
    assert "permissions" not in job
    assert "secrets." not in json.dumps(job)


def test_packages_are_published_last_and_by_the_identity_of_the_workflow() -> None:
    assert list_needed("publish") == {"tests", "distributions", "image"}
    assert list_needed("release") == {"tests", "distributions", "image", "publish"}
    signing = {"packages": "write", "id-token": "write", "attestations": "write"}
    assert JOBS["image"]["permissions"] == {"contents": "read", **signing}
    assert JOBS["publish"]["permissions"] == {"contents": "write", **signing}
    assert JOBS["publish"]["environment"] == "release"
    assert [name for name, job in JOBS.items() if "id-token" in job.get("permissions", {})] == ["image", "publish"]
    secrets = re.findall(r"secrets\.(\w+)", "\n".join(command for name in JOBS for command in commands_of(name)))
    assert {*secrets} == {"GITHUB_TOKEN"}


def test_all_that_is_published_is_signed_and_has_its_provenance() -> None:
    image, publish = ("\n".join(commands_of(name)) for name in ("image", "publish"))

    assert image.index("image.sh try") < image.index("image.sh push") < image.index("cosign sign --yes")
    assert 'cosign sign --yes "${{ steps.push.outputs.name }}@${{ steps.push.outputs.digest }}"' in image
    assert "cosign sign-blob --yes --bundle dist/SHA256SUMS.sigstore.json dist/SHA256SUMS" in publish
    assert publish.index("cosign sign-blob") < publish.index("uv publish")
    for job in ("image", "publish"):
        assert {"sigstore/cosign-installer", "actions/attest-build-provenance"} <= {*actions_of(job)}


def test_every_package_is_published() -> None:
    published = "\n".join(commands_of("publish"))
    folders = {
        path.parent for name in ("pyproject.toml", "package.json", "go.mod") for path in ROOT.glob(f"clients/*/{name}")
    }

    assert {folder.name for folder in folders} == {"python", "typescript", "go"}
    assert "uv publish --trusted-publishing always dist/*.whl dist/*.tar.gz" in published
    assert "npm publish --provenance --access public dist/magistrate-client-*.tgz" in published
    assert "helm push dist/magistrate-[0-9]*.tgz" in published
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

    assert len(versions) >= 6
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


def run_release(*arguments: str | Path, folder: Path = ROOT, umask: int = -1) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "deploy/release.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, umask=umask)


def clone_checkout(folder: Path, umask: int, time: int) -> Path:
    """Returns a clone whose files have the rights and the time that somebody else's would have."""
    subprocess.run(
        ["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", folder],
        check=True,
        capture_output=True,
        umask=umask,
    )
    for path in folder.rglob("*"):
        os.utime(path, (time, time))
    return folder


PACKAGES = {
    "python": [
        f"magistrate-{__version__}-py3-none-any.whl",
        f"magistrate-{__version__}.tar.gz",
        f"magistrate_client-{__version__}-py3-none-any.whl",
        f"magistrate_client-{__version__}.tar.gz",
    ],
    "npm": [f"magistrate-client-{__version__}.tgz"],
    "go": [f"magistrate-go-{__version__}.zip"],
    "chart": [f"magistrate-{__version__}.tgz"],
}


@pytest.mark.parametrize(
    "step", ["python", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("npm", "go", "chart"))]
)
def test_the_same_commit_makes_the_same_packages_byte_for_byte(step: str, tmp_path: Path) -> None:
    """The checkouts are in different folders, of different times, and made by users with different rights."""
    if step == "npm" and shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    if step == "chart":
        find_helm(may_build=True)
    made = {}
    for name, umask, time in (("one", 0o022, 1_700_000_000), ("a/longer/path", 0o077, 1_800_000_001)):
        clone = clone_checkout(tmp_path / name, umask, time)
        folder = tmp_path / f"{umask}"
        ran = run_release(TAG, folder, "--programs", ROOT, "--only", step, folder=clone, umask=umask)
        assert ran.returncode == 0, ran.stderr
        made[name] = {path.name: path.read_bytes() for path in folder.iterdir()}

    one, other = made.values()
    assert sorted(one) == PACKAGES[step]
    assert [name for name in one if one[name] != other[name]] == []


def test_a_release_of_another_version_makes_nothing(tmp_path: Path) -> None:
    ran = run_release("v99.0.0", tmp_path / "dist")

    assert ran.returncode == 1
    assert not (tmp_path / "dist").exists()


def test_a_folder_with_files_of_another_release_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("")

    ran = run_release(TAG, tmp_path)

    assert ran.returncode == 1
    assert "is not empty" in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def print_notes(folder: Path, *arguments: str, repository: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "deploy/notes.py", *arguments],
        cwd=folder,
        env=os.environ | {"GITHUB_REPOSITORY": repository},
        capture_output=True,
        text=True,
    )


CHANGELOG = """# Changelog

## Unreleased

- What comes next.

## 1.2.3 - 2026-01-31

One release
in two lines.

### Added

- **Checks** of [all](docs/api.md#checks)
  kinds; see [elsewhere](https://example.com/).
- A command:

```console
$ one
  two
```

## 1.2.2 (not yet tagged)

- What came before.

## 1.2.1 - 2026-01-01
"""


def test_the_notes_of_a_release_are_its_entry_in_the_changelog(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)

    ran = print_notes(tmp_path, "--dated", "v1.2.3", repository="acme/magistrate")

    assert (
        ran.stdout
        == """One release in two lines.

### Added

- **Checks** of [all](https://github.com/acme/magistrate/blob/v1.2.3/docs/api.md#checks) kinds; see [elsewhere](https://example.com/).
- A command:

```console
$ one
  two
```
"""
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("v1.2.4",), "CHANGELOG.md has no entry '## 1.2.4'."),
        (("v1.2",), "CHANGELOG.md has no entry '## 1.2'."),
        (("--dated", "v1.2.2"), "must be '## 1.2.2 - ' and the date, not '## 1.2.2 (not yet tagged)'"),
        (("v1.2.1",), "The entry of CHANGELOG.md for 1.2.1 is empty."),
    ],
)
def test_a_release_without_a_dated_entry_is_refused(arguments: tuple[str, ...], error: str, tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)

    ran = print_notes(tmp_path, *arguments)

    assert ran.returncode == 1
    assert error in ran.stderr


def test_an_entry_that_is_not_yet_tagged_has_notes_for_a_dry_run(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)

    assert print_notes(tmp_path, "v1.2.2").stdout == "- What came before.\n"


def test_the_changelog_has_an_entry_for_this_version() -> None:
    assert "### Added" in print_notes(ROOT, TAG).stdout
