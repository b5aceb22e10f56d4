"""The models of docs/modelling.md and of examples/models do what their own tests say."""

import re
from pathlib import Path

import pytest

from tests.cli.cases import Magistrate
from tests.generated_docs import ROOT

GUIDE = (ROOT / "docs" / "modelling.md").read_text()
SNIPPETS = re.findall(r"^## (.*?)$(?:(?!^## ).)*?^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
MODELS = sorted((ROOT / "examples" / "models").iterdir())


@pytest.fixture
def magistrate() -> Magistrate:
    """With no service anywhere."""
    return Magistrate("http://127.0.0.1:9")


def test_the_guide_has_a_snippet_for_each_pattern() -> None:
    assert len(SNIPPETS) == GUIDE.count("```yaml") == 6


@pytest.mark.parametrize(("title", "snippet"), SNIPPETS, ids=[title for title, _ in SNIPPETS])
def test_a_snippet_of_the_guide_passes(magistrate: Magistrate, title: str, snippet: str) -> None:
    assert magistrate.done("model", "test", "-", typed=snippet).endswith(" passed, 0 failed\n"), title


@pytest.mark.parametrize("example", MODELS, ids=lambda path: path.name)
def test_an_example_passes_and_its_tests_reach_every_rule(magistrate: Magistrate, example: Path) -> None:
    printed = magistrate.done("model", "test", "--coverage", str(example))

    found = re.fullmatch(r"reached: (\d+) of \1 relations and (\d+) of \2 rules\n(\d+) passed, 0 failed\n", printed)
    assert found is not None, printed
    assert int(found[3]) > 4


@pytest.mark.parametrize("example", MODELS, ids=lambda path: path.name)
def test_an_example_has_the_usual_layout_and_no_mistakes(magistrate: Magistrate, example: Path) -> None:
    model = str(example / "model.txt")

    assert magistrate("model", "fmt", "--check", model).exit_code == 0
    assert magistrate("model", "lint", "--strict", model).exit_code == 0
