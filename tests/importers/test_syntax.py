"""The text of OpenFGA models is read like by `@openfga/syntax-transformer`, the parser of its own tools."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magistrate.engine.importers.conversion import convert_model
from magistrate.engine.importers.names import Faults
from magistrate.engine.importers.openfga_models import read_openfga_json
from magistrate.engine.importers.schema import ForeignModel
from magistrate.engine.text.rendering import render_model
from tests.importers.generating import DrawnModel, models
from tests.importers.models import OPENFGA, read_openfga

SOURCES = Path(__file__).parent / "node"
DEADLINE_SECONDS = 90

HEADER = "model\n  schema 1.1\ntype user\ntype doc\n  relations\n    define a: [user]\n    define up: [doc]\n"
ACCEPTED = [
    OPENFGA,
    HEADER + "    define b: a\n",
    HEADER + "    define b: (a)\n",
    HEADER + "    define b: ((a or up) and a) but not a\n",
    HEADER + "    define b: [user, doc#a] or a from up\n",
    HEADER + "    define b: [user,doc#a ,user:*] # remark\n\n# remark\n",
    HEADER + "    define b: ([user] or a) and a\n",
    HEADER + "    define b: a but not (a from up)\n",
    HEADER + "  # remark\n    define can-do: a\n    define X_1: a\n",
    HEADER + "    define member: a\n    define module: a\n    define type: a\n",
]
REFUSED = [
    HEADER + "    define b:\n",
    HEADER + "    define b a\n",
    HEADER + "    define b: a or\n",
    HEADER + "    define b: a or a and a\n",
    HEADER + "    define b: a but not a but not a\n",
    HEADER + "    define b: (a\n",
    HEADER + "    define b: a)\n",
    HEADER + "    define b: []\n",
    HEADER + "    define b: [user\n",
    HEADER + "    define b: [user:ann]\n",
    HEADER + "    define b: a from\n",
    HEADER + "    define b: a but a\n",
    "type\n",
    "typ user\n",
]


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the parser is installed, as package-lock.json has it."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; @openfga/syntax-transformer needs node 18 or newer, and npm")
    folder = tmp_path_factory.mktemp("transformer")
    for path in SOURCES.iterdir():
        shutil.copy(path, folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    installed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    assert installed.returncode == 0, installed.stderr
    return folder


def transform(folder: Path, texts: list[str]) -> list[Any]:
    """The JSON of each model, or the message of its error."""
    ran = subprocess.run(
        ["node", "transform.mjs"],
        cwd=folder,
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert ran.returncode == 0, ran.stderr
    results: list[Any] = json.loads(ran.stdout)
    return results


def render(model: ForeignModel, faults: Faults) -> str:
    text = render_model(convert_model(model, faults).document)
    assert faults.kept == []
    return text


def demand_equal(texts: list[str], results: list[Any]) -> None:
    for text, result in zip(texts, results, strict=True):
        assert "model" in result, (text, result)
        faults = Faults()
        there = read_openfga_json(result["model"], "{}", "m.json", faults)
        assert render(there, faults) == render(read_openfga(text, faults), faults), text


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(models(), min_size=30, max_size=30))
def test_generated_models_are_read_alike(transformer: Path, drawn: list[DrawnModel]) -> None:
    texts = [model.text() for model in drawn]

    demand_equal(texts, transform(transformer, texts))


def test_models_in_other_layouts_are_read_or_refused_alike(transformer: Path) -> None:
    of_store = yaml.safe_load((SOURCES.parent / "files" / "documents.fga.yaml").read_text())["model"]
    accepted = [of_store, *ACCEPTED]

    results = transform(transformer, [*accepted, *REFUSED])

    demand_equal(accepted, results[: len(accepted)])
    for text, result in zip(REFUSED, results[len(accepted) :], strict=True):
        faults = Faults()
        read_openfga(text, faults)
        assert "error" in result, text
        assert faults.errors, text
