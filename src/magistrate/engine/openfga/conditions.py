"""Reads the conditions of authorization models, and the contexts that tuples give them (docs/openfga.md#conditions).

A condition becomes a named policy. A tuple with it is a warrant that names this policy and gives it values."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from magistrate.engine.importers.cel.literals import read_literal
from magistrate.engine.importers.conditions import read_type
from magistrate.engine.importers.names import STABLE, restore_parameter, show_name
from magistrate.engine.importers.schema import ForeignCondition
from magistrate.engine.names import PolicyName
from magistrate.engine.openfga.tuples import INVALID, MAX_CONDITION_CHARACTERS
from magistrate.engine.policy.references import PolicyReference, render_reference
from magistrate.engine.policy.run import Fault
from magistrate.errors import OpenFgaRefusal

MAX_CONDITIONS, MAX_PARAMETERS = 25, 25
MAX_EXPRESSION_BYTES = 512
MAX_CONTEXT_BYTES = 32_768
"""Limits the context of a tuple in bytes of compact JSON (32 KiB)."""
INVALID_MODEL = "invalid_authorization_model"
_NAME = re.compile(rf"[^\s\x00-\x1f\x7f-\x9f]{{1,{MAX_CONDITION_CHARACTERS}}}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GENERIC = frozenset({"TYPE_NAME_LIST", "TYPE_NAME_MAP"})


class DocumentCondition(msgspec.Struct, frozen=True):
    """Holds what a condition is called here, and the types of its parameters by the names that they have there."""

    name: PolicyName
    parameters: Mapping[str, str]

    def render(self, context: Mapping[str, Any]) -> str:
        """Returns the policy of a tuple with this context. Raises OpenFgaRefusal if a value is not one of the
        parameters or not of its type, or the context is too large."""
        if len(msgspec.json.encode(context)) > MAX_CONTEXT_BYTES:
            raise OpenFgaRefusal(INVALID, f"the context of a condition has at most {MAX_CONTEXT_BYTES} bytes")
        for name, value in context.items():
            of_type = self.parameters.get(name)
            if of_type is None:
                raise OpenFgaRefusal(INVALID, f"the condition has no parameter {show_name(name)}")
            if not _is_value(value, of_type):
                raise OpenFgaRefusal(INVALID, f"the value of {show_name(name)} is no {of_type}")
        return render_reference(self.name, rename_context(context))


def _is_value(value: Any, of_type: str) -> bool:
    if value is None:
        return False
    try:
        read_literal(value, of_type)
    except (Fault, ArithmeticError):
        return False
    return True


def rename_context(context: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the context of a tuple or a request with the names that parameters have here."""
    name_parameter = STABLE.name_parameter
    assert name_parameter is not None
    return {name_parameter(name): value for name, value in context.items()}


def restore_context(reference: PolicyReference) -> Mapping[str, Any]:
    """Returns the context of a tuple, as it was written, given the policy of its warrant."""
    return {restore_parameter(name): value for name, value in reference.values.items()}


def describe_condition(condition: ForeignCondition) -> DocumentCondition:
    """Returns a condition of a model that can be converted."""
    types = {name: read_type(of_type) for name, of_type in condition.parameters.items()}
    return DocumentCondition(PolicyName(STABLE.name_condition(condition.name.text)), types)


def check_conditions(conditions: object) -> None:
    """Raises OpenFgaRefusal for conditions that are not written as such, or are too many or too long."""
    if not isinstance(conditions, dict):
        raise OpenFgaRefusal(INVALID, "conditions must be an object")
    if len(conditions) > MAX_CONDITIONS:
        raise OpenFgaRefusal(INVALID, f"a model has at most {MAX_CONDITIONS} conditions")
    for name, condition in conditions.items():
        _check_condition(name, condition)


def _check_condition(name: str, condition: object) -> None:
    shown = show_name(name)
    if not _NAME.fullmatch(name):
        raise OpenFgaRefusal(INVALID, f"'{shown}' is no name of a condition")
    if not isinstance(condition, dict):
        raise OpenFgaRefusal(INVALID, f"condition {shown} must be an object")
    if condition.get("name") != name:
        raise OpenFgaRefusal(INVALID_MODEL, f"the condition with the key {shown} has another name")
    expression, parameters = condition.get("expression"), condition.get("parameters") or {}
    if not isinstance(expression, str) or not expression:
        raise OpenFgaRefusal(INVALID, f"condition {shown} has no expression")
    if len(expression.encode(errors="surrogatepass")) > MAX_EXPRESSION_BYTES:
        raise OpenFgaRefusal(INVALID, f"the expression of condition {shown} is over {MAX_EXPRESSION_BYTES} bytes")
    if not isinstance(parameters, dict):
        raise OpenFgaRefusal(INVALID, f"the parameters of condition {shown} must be an object")
    if len(parameters) > MAX_PARAMETERS:
        raise OpenFgaRefusal(INVALID, f"condition {shown} has more than {MAX_PARAMETERS} parameters")
    for parameter, of_type in parameters.items():
        if not _PARAMETER.fullmatch(parameter):
            raise OpenFgaRefusal(INVALID, f"'{show_name(parameter)}' is no name of a parameter")
        _check_type(of_type, f"parameter {show_name(parameter)} of condition {shown}")


def _check_type(of_type: object, described: str) -> None:
    """Raises OpenFgaRefusal unless lists and maps have the type of their elements, and nothing else has one."""
    while True:
        if not isinstance(of_type, dict) or not isinstance(name := of_type.get("type_name"), str):
            raise OpenFgaRefusal(INVALID, f"{described} has no type")
        generic = of_type.get("generic_types") or []
        if not isinstance(generic, list) or len(generic) != (name in _GENERIC):
            raise OpenFgaRefusal(INVALID_MODEL, f"{described}: list and map have one generic type, others have none")
        if not generic:
            return
        [of_type] = generic
