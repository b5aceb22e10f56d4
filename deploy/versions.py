"""`python deploy/versions.py [TAG]` prints the versions of all packages of a repository, in its folder.

It fails unless they are the same, and the one of the tag if there is one, such as v1.2.3. So no client is published
under a version of its own."""

import json
import re
import sys
import tomllib
from pathlib import Path

_PYTHON_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_CHART_VERSION = re.compile(r"^version: (\S+)$", re.MULTILINE)
_APP_VERSION = re.compile(r"^appVersion: (\S+)$", re.MULTILINE)
_GO_VERSION = re.compile(r'^const Version = "([^"]+)"$', re.MULTILINE)


def main(arguments: list[str]) -> str | None:
    """Returns what is wrong, or None."""
    versions = read_versions(Path())
    for path, version in versions.items():
        print(f"{version}  {path}")
    if len({*versions.values()}) != 1:
        return "The versions differ, so nothing is published."
    for tag in arguments:
        if {f"v{version}" for version in versions.values()} != {tag}:
            return f"The tag {tag} is not the version of the packages, so nothing is published."
    return None


def read_versions(root: Path) -> dict[str, str]:
    """Returns the version of each package, by the file that says it: of the service, of every folder of clients that
    has a manifest of Python, npm or Go, and of the chart. Raises LookupError if one has no version, or the chart is of
    another version than the service that it runs."""
    versions: dict[str, str] = {}
    for manifest in (root / "pyproject.toml", *sorted(root.glob("clients/*/pyproject.toml"))):
        path = manifest.parent / tomllib.loads(manifest.read_text())["tool"]["hatch"]["version"]["path"]
        versions[str(path.relative_to(root))] = _find(_PYTHON_VERSION, path)
    for path in sorted(root.glob("clients/*/package*.json")):
        versions[str(path.relative_to(root))] = json.loads(path.read_text())["version"]
    for manifest in sorted(root.glob("clients/*/go.mod")):
        path = manifest.parent / "version.go"
        versions[str(path.relative_to(root))] = _find(_GO_VERSION, path)
    for path in sorted(root.glob("deploy/helm/*/Chart.yaml")):
        versions[str(path.relative_to(root))] = _find(_CHART_VERSION, path)
        if _find(_APP_VERSION, path) != _find(_CHART_VERSION, path):
            raise LookupError(f"version and appVersion of {path} differ")
    return versions


def _find(pattern: re.Pattern[str], path: Path) -> str:
    found = pattern.search(path.read_text())
    if found is None:
        raise LookupError(f"{path} has no version")
    return found[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
