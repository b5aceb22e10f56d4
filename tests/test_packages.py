"""The docstrings of packages, from which docs/architecture.md is generated, name modules that exist."""

import importlib
import re

import pytest

from tests.generated_docs import PACKAGES, ROOT


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_names_modules_that_exist(package: str) -> None:
    text = importlib.import_module(f"magistrate.{package}").__doc__ or ""
    folder = ROOT / "src" / "magistrate" / package.replace(".", "/")

    for name in re.findall(r"`([\w/]+\.py)`", text):
        assert (folder / name).exists(), name


def test_every_package_has_a_paragraph() -> None:
    source = ROOT / "src" / "magistrate"
    packages = {path.parent.relative_to(source).as_posix().replace("/", ".") for path in source.rglob("__init__.py")}

    assert packages - {"."} == set(PACKAGES)
