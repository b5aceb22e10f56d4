"""`python deploy/sbom.py FOLDER` prints what is installed in a folder of packages, as CycloneDX 1.6 in JSON.

The folder is that of an environment into which only the service was installed, so that it holds what a user gets. The
same packages give the same text; SOURCE_DATE_EPOCH sets the time that it bears."""

import json
import os
import sys
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from typing import Any

ROOT = "magistrate"
TOOLS = frozenset({"pip", "setuptools", "wheel"})
"""Names what an environment has before anything is installed into it."""


def main(folder: str) -> None:
    document = sbom(distributions(path=[folder]), int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    json.dump(document, sys.stdout, indent=2)
    print()


def sbom(found: Iterable[Distribution], time: int) -> dict[str, Any]:
    """Returns the document. Raises KeyError if the service itself is not among the packages."""
    components = {normalized(one.metadata["Name"]): component(one) for one in found}
    root = components.pop(ROOT)
    listed = [components[name] for name in sorted(components) if name not in TOOLS]
    identity = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(one["purl"] for one in [root, *listed]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {**root, "type": "application"},
        },
        "components": listed,
        "dependencies": [{"ref": root["bom-ref"], "dependsOn": [one["bom-ref"] for one in listed]}],
    }


def component(one: Distribution) -> dict[str, Any]:
    name = normalized(one.metadata["Name"])
    purl = f"pkg:pypi/{name}@{one.version}"
    described: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name, "version": one.version, "purl": purl}
    license_name = license_of(one)
    return described | ({"licenses": license_name} if license_name else {})


def license_of(one: Distribution) -> list[dict[str, Any]]:
    if "License-Expression" in one.metadata:
        return [{"expression": one.metadata["License-Expression"]}]
    classified = [
        text.rpartition(" :: ")[2] for text in one.metadata.get_all("Classifier") or [] if text.startswith("License ::")
    ]
    return [{"license": {"name": name}} for name in classified]


def normalized(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


if __name__ == "__main__":
    main(sys.argv[1])
