"""`python deploy/release.py TAG FOLDER` makes all files of a release, in a checkout of the tag; `--dry-run FOLDER` tags
a clone of the last commit and makes them there.

A release needs every program that a file is made with. A dry run leaves out what it cannot make, and prints the reason
of each. Both print what they have made. `--only NAME` makes the files of one step."""

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CHECKSUMS = "SHA256SUMS"
NOTES = "release-notes.md"
HELM_OF_TESTS = Path(".venv/helm/helm")
"""The program that tests/kubernetes builds."""
NEEDS_CREDENTIALS = {
    "signatures and provenance": "Sigstore knows the workflow by the identity that only GitHub gives it",
    "publishing to PyPI, npm, ghcr.io and GitHub": "the registries know the workflow by the same identity",
}
"""What the workflow itself does with the files, by the reason why nobody else can."""


class Missing(Exception):
    """A program that a step needs is not there."""


@dataclass(frozen=True)
class Release:
    """Says what is made: the tag, the hash and time of its commit, the folder for the files, and the checkout that has
    built programs which others may not have."""

    tag: str
    commit: str
    time: str
    folder: Path
    programs: Path
    is_dry_run: bool

    @property
    def version(self) -> str:
        return self.tag.removeprefix("v")


def main(arguments: list[str]) -> str | None:
    """Returns what is wrong, or None."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tag", nargs="?")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--only", choices=STEPS)
    parser.add_argument("--programs", type=Path, default=Path(), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    folder: Path = options.folder.resolve()
    if folder.exists() and any(folder.iterdir()):
        return f"{folder} is not empty, so nothing is made."
    try:
        if options.tag is None:
            return run_on_clone(folder, options.only)
        commit, time = read_output("git", "log", "-1", "--format=%H %ct").split()
        release = Release(options.tag, commit, time, folder, options.programs.resolve(), options.dry_run)
        return make_files(release, [options.only] if options.only else [*STEPS])
    except subprocess.CalledProcessError as error:
        return f"This failed with {error.returncode}: {' '.join(map(str, error.cmd))}"


def run_on_clone(folder: Path, only: str | None) -> str | None:
    """Clones the last commit, tags it, and makes the files by the commands of the clone."""
    if read_output("git", "status", "--porcelain"):
        print("What is not committed is no part of this dry run.", flush=True)
    with tempfile.TemporaryDirectory(prefix="release-") as parent:
        clone = Path(parent) / "checkout"
        run("git", "clone", "--quiet", "--depth", "1", f"file://{Path.cwd()}", clone)
        version = read_output(sys.executable, "deploy/versions.py", folder=clone).split()[0]
        run("git", "tag", f"v{version}", folder=clone)
        selected: list[str | Path] = ["--only", only] if only else []
        made = (f"v{version}", folder, "--dry-run", "--programs", Path.cwd(), *selected)
        run(sys.executable, "deploy/release.py", *made, folder=clone)
    return None


def make_files(release: Release, names: list[str]) -> str | None:
    """Runs the steps of these names in their order. Returns what is wrong, or None."""
    run(sys.executable, "deploy/versions.py", release.tag)
    release.folder.mkdir(parents=True, exist_ok=True)
    left_out: dict[str, str] = {}
    for name in names:
        try:
            STEPS[name](release)
        except Missing as missing:
            left_out[name] = str(missing)
    print(f"\nMade for {release.tag}, from commit {release.commit}, in {release.folder}:")
    for path in sorted(release.folder.iterdir()):
        print(f"  {path.stat().st_size:>10,}  {path.name}")
    if not release.is_dry_run:
        return "\n".join(f"Not made: {name}: {reason}" for name, reason in left_out.items()) or None
    print("Left out:")
    for name, reason in (left_out | NEEDS_CREDENTIALS).items():
        print(f"  {name}: {reason}")
    return None


def build_python(release: Release) -> None:
    """Builds the source distributions, and the wheels from what these hold, by the pinned build backend. The same
    commit gives the same bytes: the times in the files are that of the commit, not of the checkout."""
    Path("src/magistrate/commit.txt").write_text(f"{release.commit}\n")
    environment = {"SOURCE_DATE_EPOCH": release.time}
    for manifest in read_output("git", "ls-files", "pyproject.toml", "clients/*/pyproject.toml").split():
        with tempfile.TemporaryDirectory() as parent:
            build = [sys.executable, "-m", "hatchling", "build", "--directory", parent]
            run(*build, "--target", "sdist", folder=Path(manifest).parent, environment=environment)
            [archive] = Path(parent).glob("*.tar.gz")
            with tarfile.open(archive) as content:
                content.extractall(parent, filter="data")
            [unpacked] = [path for path in Path(parent).iterdir() if path.is_dir()]
            run(*build, "--target", "wheel", folder=unpacked, environment=environment)
            for path in (archive, *Path(parent).glob("*.whl")):
                shutil.copy(path, release.folder)


def pack_npm(release: Release) -> None:
    require("npm")
    source = Path("clients/typescript")
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", folder=source)
    run("npm", "run", "--silent", "build", folder=source)
    with tempfile.TemporaryDirectory() as parent:
        run("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", parent, folder=source)
        keep_archive(Path(parent), release)


def zip_go(release: Release) -> None:
    """Writes the module in the form in which a proxy of modules serves it: the files of the repository, below the name
    of the module and the version."""
    source = Path("clients/go")
    module = next(
        line.split()[1] for line in (source / "go.mod").read_text().splitlines() if line.startswith("module ")
    )
    archive = release.folder / f"magistrate-go-{release.version}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        for name in sorted(read_output("git", "ls-files", ".", folder=source).splitlines()):
            entry = zipfile.ZipInfo(f"{module}@{release.tag}/{name}")
            entry.external_attr = 0o644 << 16
            content.writestr(entry, (source / name).read_bytes(), zipfile.ZIP_DEFLATED)


def package_chart(release: Release) -> None:
    program = release.programs / HELM_OF_TESTS
    if not program.exists():
        program = require("helm")
    with tempfile.TemporaryDirectory() as parent:
        run(program, "package", "deploy/helm/magistrate", "--destination", parent)
        keep_archive(Path(parent), release)


def keep_archive(folder: Path, release: Release) -> None:
    """Copies the one archive of a folder to the release. Its files get the time of the commit, and the rights that do
    not depend on who has made it."""
    [source] = folder.iterdir()
    time = int(release.time)
    with (
        tarfile.open(source) as old,
        (release.folder / source.name).open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=time) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as new,
    ):
        for entry in old:
            entry.mtime, entry.mode = time, 0o755 if entry.mode & 0o100 else 0o644
            new.addfile(entry, old.extractfile(entry))


def build_image(release: Release) -> None:
    """Builds the image for all architectures, in a dry run alone: the workflow has a job for it, which pushes what it
    has built."""
    if not release.is_dry_run:
        return
    docker = require("docker")
    listed = subprocess.run([docker, "buildx", "inspect"], capture_output=True, text=True)
    if listed.returncode:
        raise Missing(f"docker buildx does not work: {listed.stderr.strip().splitlines()[0]}")
    if "linux/arm64" not in listed.stdout:
        raise Missing("docker buildx builds no image for linux/arm64 here")
    archive = release.folder / f"magistrate-image-{release.version}.tar"
    run("deploy/image.sh", "archive", f"magistrate:{release.version}", archive)


def write_bill(release: Release) -> None:
    """Writes the bill of materials of what the wheel needs, from an environment in which nothing else is."""
    [wheel] = release.folder.glob("magistrate-[0-9]*.whl")
    with tempfile.TemporaryDirectory() as parent:
        run(sys.executable, "-m", "venv", parent)
        pip = (Path(parent) / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "--constraint", "constraints.txt", wheel)
        [packages] = Path(parent).glob("lib/python*/site-packages")
        bill = read_output(
            sys.executable, "deploy/sbom.py", packages, environment={"SOURCE_DATE_EPOCH": release.time}, is_raw=True
        )
    (release.folder / "magistrate.cdx.json").write_text(bill)


def write_checksums(release: Release) -> None:
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(release.folder.iterdir())
    ]
    (release.folder / CHECKSUMS).write_text("".join(lines))


def write_notes(release: Release) -> None:
    dated = [] if release.is_dry_run else ["--dated"]
    notes = read_output(sys.executable, "deploy/notes.py", *dated, release.tag, is_raw=True)
    (release.folder / NOTES).write_text(notes)


STEPS: dict[str, Callable[[Release], None]] = {
    "python": build_python,
    "npm": pack_npm,
    "go": zip_go,
    "chart": package_chart,
    "bill of materials": write_bill,
    "image": build_image,
    "checksums": write_checksums,
    "notes": write_notes,
}
"""The steps in their order: the checksums are those of all files but the notes."""


def require(program: str) -> Path:
    """Returns the path of a program. Raises Missing if it is not installed."""
    path = shutil.which(program)
    if path is None:
        raise Missing(f"{program} is not installed")
    return Path(path)


def run(*command: str | Path, folder: Path = Path(), environment: dict[str, str] | None = None) -> None:
    """Runs a command, which must succeed, and prints it."""
    print("+", *command, flush=True)
    subprocess.run(command, cwd=folder, env=os.environ | (environment or {}), check=True)


def read_output(
    *command: str | Path, folder: Path = Path(), environment: dict[str, str] | None = None, is_raw: bool = False
) -> str:
    """Returns what a command prints, which must succeed, without space around it unless `is_raw`."""
    ran = subprocess.run(
        command, cwd=folder, env=os.environ | (environment or {}), check=True, stdout=subprocess.PIPE, text=True
    )
    return ran.stdout if is_raw else ran.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
