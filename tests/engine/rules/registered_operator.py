"""A plugin of pytest with which every test runs as if exactlyOneOf were an operator of the service."""

from collections.abc import Iterator

import pytest

from tests.engine.rules.exactly_one_of import USES, register


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--uses", help="the member of the operator that each test has to use")


def pytest_configure(config: pytest.Config) -> None:
    register()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fails a test that did not use the operator, and so shows nothing."""
    member = item.config.getoption("--uses")
    USES.clear()
    yield
    assert USES[member] > 0, f"{item.name} does not use {member}"
