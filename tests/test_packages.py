"""The docstrings of packages, of which docs/architecture.md has a row each."""

import importlib

import pytest

from tests.generated_docs import LAYERS, ROOT, list_packages


def test_the_map_has_every_package() -> None:
    source = ROOT / "src" / "magistrate"

    assert {path.parent.name for path in source.glob("*/__init__.py")} == set(LAYERS)


@pytest.mark.parametrize("package", list_packages())
def test_a_package_says_in_one_paragraph_what_it_does(package: str) -> None:
    text = importlib.import_module(f"magistrate.{package}").__doc__ or ""

    assert text.endswith(".")
    assert "\n\n" not in text
    assert ".py" not in text
