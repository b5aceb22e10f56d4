"""The modules for threads are those that are generated from the ones for asyncio, and both clients have the same
calls."""

import importlib.util
import inspect
from types import ModuleType

import pytest

import magistrate
import magistrate_client
from magistrate_client import AsyncClient, Client
from tests.generated_docs import ROOT

PACKAGE = ROOT / "clients" / "python"


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_synchronous", PACKAGE / "generate_synchronous.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()


@pytest.mark.parametrize("name", GENERATOR.MODULES)
def test_a_module_for_threads_is_the_generated_one(name: str) -> None:
    assert (PACKAGE / "src/magistrate_client/synchronous" / name).read_text() == GENERATOR.generate(name), (
        "run `./run python clients/python/generate_synchronous.py`"
    )


def test_all_modules_for_asyncio_but_the_network_are_generated_from() -> None:
    modules = {path.name for path in (PACKAGE / "src/magistrate_client/asynchronous").glob("*.py")}

    assert modules == {*GENERATOR.MODULES, "network.py", "__init__.py"}


def test_both_clients_have_the_same_calls() -> None:
    calls = {name for name in vars(Client) if not name.startswith("_")}

    assert {"aclose" if name == "close" else name for name in calls} == {
        name for name in vars(AsyncClient) if not name.startswith("_")
    }
    for name in calls - {"close", "token"}:
        assert inspect.signature(getattr(Client, name)).parameters == (
            inspect.signature(getattr(AsyncClient, name)).parameters
        )


def test_the_version_is_that_of_the_service() -> None:
    assert magistrate_client.__version__ == magistrate.__version__
