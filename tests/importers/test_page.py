"""The examples of docs/coming-from.md are what the commands answer."""

import json
import re
from pathlib import Path

from magistrate.engine.importers.conditions import ConditionConverter
from magistrate.engine.importers.names import ForeignName
from magistrate.engine.importers.schema import ForeignCondition
from tests.cli.foreign_imports import run

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_models_of_the_page_become_what_it_shows(tmp_path: Path) -> None:
    shown = blocks("fga")
    given = [*blocks("openfga"), *blocks("spicedb")]

    assert len(given) == len(shown) == 2
    for text, wanted in zip(given, shown, strict=True):
        (tmp_path / "model").write_text(text)
        assert run("model", "convert", tmp_path / "model").stdout == wanted


def test_the_condition_of_the_page_becomes_the_policy_that_it_shows() -> None:
    [written] = blocks("json")
    [policy] = blocks("expr")
    parameters = {"current_time": "timestamp", "granted_at": "timestamp", "lasts": "duration"}
    name = ForeignName("during")
    condition = ForeignCondition(name, parameters, "current_time < granted_at + lasts", name, requires_all=True)
    names = {parameter: parameter for parameter in parameters}

    rendered = ConditionConverter(condition, "during", names).render_policy(json.loads(written)["condition"]["context"])

    assert rendered == policy.strip()
