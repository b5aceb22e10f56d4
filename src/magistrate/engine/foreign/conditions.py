"""Makes policies of conditions and caveats.

A relationship names a condition and gives values for some of its parameters; a check gives the others. Its warrant has
a policy: the expression, with these values in it, and with each other parameter guarded so that a value that is missing
or of another type makes the policy unknown. The condition itself becomes a named policy, which nothing has to use.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from magistrate.engine.foreign.cel import CelRefusal, CelTranslator
from magistrate.engine.foreign.names import NOT_EXPRESSIBLE, Faults
from magistrate.engine.foreign.schema import ForeignCondition
from magistrate.engine.model_text.document import NameAt, PolicyDeclaration
from magistrate.engine.named_policy import read_named_policy
from magistrate.engine.policy import read_new_policy
from magistrate.engine.policy.literals import is_variable
from magistrate.errors import InvalidParameter

MOST_POLICIES_CACHED = 10_000

_GUARDS = {
    "string": '({} + "")',
    "int": "({} + 0)",
    "uint": "({} + 0)",
    "double": "({} + 0)",
    "bool": "(!!{})",
    "timestamp": "date({})",
    "duration": "duration({})",
    "list": "{}[0:]",
}
"""Renders a parameter so that it is an error if its value is absent or of another type."""
_READERS = {"timestamp": "date({})", "duration": "duration({})"}
_PARAMETER_TYPES = {
    "string": "string",
    "int": "integer",
    "uint": "integer",
    "double": "float",
    "bool": "boolean",
    "timestamp": "string",
    "duration": "string",
    "list": "array",
}
_VALUE_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "int": (int,),
    "uint": (int,),
    "double": (int, float),
    "bool": (bool,),
    "timestamp": (str,),
    "duration": (str,),
    "list": (list,),
}
_RESERVED = frozenset({"now", "warrant"})


class ConditionConverter:
    """Converts one condition. Raises InvalidParameter, from the beginning on, if it cannot be expressed."""

    def __init__(self, condition: ForeignCondition, name: str) -> None:
        self._condition = condition
        self._name = name
        self._policies: dict[str, str] = {}
        self.kinds = {parameter: _kind(of_type) for parameter, of_type in condition.parameters.items()}
        for parameter, kind in self.kinds.items():
            if kind not in _GUARDS:
                described = condition.parameters[parameter]
                raise InvalidParameter("", f"parameter {parameter} of type {described} cannot be expressed")
            if not is_variable(parameter) or parameter in _RESERVED:
                raise InvalidParameter("", f"parameter {parameter} cannot have this name")
        self.declaration = self._declare()
        self.render_policy({})

    def _declare(self) -> PolicyDeclaration:
        expression = self._translate(self._render_parameter)
        parameters = {parameter: _PARAMETER_TYPES[kind] for parameter, kind in self.kinds.items()}
        read_named_policy(self._name, parameters, expression)
        return PolicyDeclaration(NameAt(self._name), parameters, expression, self._condition.description)

    def _translate(self, references: Any) -> str:
        return CelTranslator(self._condition.parameters, references).translate(self._condition.expression)

    def _render_parameter(self, parameter: str) -> str:
        return _READERS.get(self.kinds[parameter], "{}").format(parameter)

    def render_policy(self, values: Mapping[str, Any]) -> str:
        """Returns the policy of a warrant whose relationship gives these values. Raises InvalidParameter if a value is
        not one of the parameters or not of its type, or if the policy becomes too long."""
        key = json.dumps(values, sort_keys=True) if values else ""
        policy = self._policies.get(key)
        if policy is None:
            for parameter, value in values.items():
                self._check_value(parameter, value)
            policy = self._translate(partial(self._render_reference, values))
            read_new_policy(policy)
            if len(self._policies) < MOST_POLICIES_CACHED:
                self._policies[key] = policy
        return policy

    def _render_reference(self, values: Mapping[str, Any], parameter: str) -> str:
        if parameter not in values:
            return _GUARDS[self.kinds[parameter]].format(parameter)
        return _READERS.get(self.kinds[parameter], "({})").format(json.dumps(values[parameter]))

    def _check_value(self, parameter: str, value: Any) -> None:
        kind = self.kinds.get(parameter)
        if kind is None:
            raise InvalidParameter("", f"condition {self._name} has no parameter {parameter[:100]}")
        if type(value) not in _VALUE_TYPES[kind] or (kind == "list" and not _is_plain(value)):
            described = self._condition.parameters[parameter]
            raise InvalidParameter("", f"the value of {parameter} cannot be expressed as {described}")


def _kind(of_type: str) -> str:
    """Returns the type without that of its elements."""
    return of_type.partition("<")[0].strip()


def _is_plain(values: list[Any]) -> bool:
    return all(type(value) in (str, int, float, bool) for value in values)


def convert_condition(condition: ForeignCondition, name: str, faults: Faults) -> ConditionConverter | None:
    """Returns the converter of a condition; None, and what is wrong is reported, if it cannot be expressed."""
    try:
        return ConditionConverter(condition, name)
    except CelRefusal as refusal:
        at = condition.locate(refusal.offset)
        faults.report(at, NOT_EXPRESSIBLE, f"condition {condition.name.text}: {refusal.message}")
    except InvalidParameter as fault:
        message = fault.message.partition("\n")[0]
        faults.report(condition.name, NOT_EXPRESSIBLE, f"condition {condition.name.text}: {message}")
    return None
