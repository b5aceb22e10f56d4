"""Reads worked examples from magistrate/examples: each is a model as text and a file with its tests, whose warrants and
checks `serve --example` loads and prints (docs/cli.md#worked-examples)."""

from importlib.resources import files

import msgspec
from msgspec.structs import replace

from magistrate.engine.model_tests.parsing import read_suite
from magistrate.engine.model_tests.suite import CheckAssertion
from magistrate.operations.examples import Example, ExampleObject, Try

TESTS = "model.test.yaml"
OBJECTS = "objects.json"
"""Names the file with the objects that have meta, if there are any."""


def read_example(name: str) -> Example:
    """Returns the example of this name, which must exist."""
    from magistrate.engine.model_tests.yaml_documents import read_yaml  # only for examples: imports PyYAML

    folder = files("magistrate").joinpath("examples", name)
    value = read_yaml(folder.joinpath(TESTS).read_text(), TESTS)
    suite = read_suite(value, lambda file: folder.joinpath(file).read_text(), now=0)
    tries = [
        Try(replace(one.check, context={}).render(), one.is_allowed, one.name, one.check.context)
        for one in suite.assertions
        if isinstance(one, CheckAssertion)
    ]
    objects = folder.joinpath(OBJECTS)
    given = msgspec.json.decode(objects.read_bytes(), type=list[ExampleObject]) if objects.is_file() else []
    return Example(value["name"], suite.types, suite.policies, suite.warrants, tries, given)
