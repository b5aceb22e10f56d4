"""Writes conditions of models, and tuples with them."""

from typing import Any

from tests.openfga.conversation import OpenFga
from tests.openfga.requests import key


def of_type(name: str, *generic: dict[str, Any]) -> dict[str, Any]:
    return {"type_name": f"TYPE_NAME_{name}", "generic_types": [*generic]}


def condition(name: str, expression: str, **parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: {"name": name, "expression": expression, "parameters": parameters}}


def conditional(text: str, name: str, **context: Any) -> dict[str, Any]:
    """The key of a tuple with a condition."""
    return {**key(text), "condition": {"name": name, "context": context}}


def put(openfga: OpenFga, *keys: dict[str, Any], **others: Any) -> Any:
    return openfga.post("write", {"writes": {"tuple_keys": [*keys], **others}})


BELOW = condition("below", "level < limit", level=of_type("INT"), limit=of_type("INT"))
