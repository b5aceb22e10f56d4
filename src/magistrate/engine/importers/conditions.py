"""Makes policies of conditions and caveats.

A relationship names a condition and gives values for some of its parameters; a check gives the others. Its warrant has
a policy: the expression, with these values in it, and with each other parameter read as its type (`as(x, "int")`), so
that a value that is missing or of another type makes the policy unknown. The condition itself becomes a named policy,
which nothing has to use.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from magistrate.engine.importers.cel.literals import render_literal
from magistrate.engine.importers.cel.pieces import ANY, COMPARISON, CelRefusal, Piece, is_list, is_map, normalize_type
from magistrate.engine.importers.cel.translator import translate_cel
from magistrate.engine.importers.names import NOT_EXPRESSIBLE, Faults, show_name
from magistrate.engine.importers.schema import ForeignCondition
from magistrate.engine.policy.named_policies import read_named_policy
from magistrate.engine.policy.policy import read_new_policy
from magistrate.engine.policy.run import Fault
from magistrate.engine.text.document import NameAt, PolicyDeclaration
from magistrate.errors import InvalidParameter

MAX_POLICIES_CACHED = 10_000

_PARAMETER_TYPES = {
    "string": "string",
    "int": "integer",
    "uint": "integer",
    "double": "float",
    "bool": "boolean",
    "timestamp": "string",
    "duration": "string",
    "ipaddress": "string",
}
"""Maps the types of parameters other than lists and maps to those of named policies."""
_CHECKED = frozenset({"string", "double", "bool"})
"""Lists the types that named policies check themselves."""

_PLACE = re.compile(r"\x00([^\x00]+)\x00")  # no policy has this character
_MAX_TEMPLATES_CACHED = 100

_Read = Callable[[str, str], Piece]
"""Returns what reads a parameter, given its name and its type."""


class ConditionConverter:
    """Converts one condition. Raises InvalidParameter or CelRefusal, from the beginning on, if it cannot be expressed.

    `names` has what parameters are called here, by their original names. `declaration` is that of the named policy;
    None if a parameter may have any type, which those of named policies cannot. Unless it `is_typed`, all parameters of
    the named policy may have any type, and its expression reads them as their types, as the original does."""

    def __init__(self, condition: ForeignCondition, name: str, names: Mapping[str, str], is_typed: bool = True) -> None:
        self._condition = condition
        self._name = name
        self._names = names
        self._policies: dict[str, str] = {}
        self._templates: dict[tuple[str, ...], str] = {}
        self.types = {parameter: read_type(of_type) for parameter, of_type in condition.parameters.items()}
        self.declaration = self._declare() if is_typed and ANY not in self.types.values() else None
        expression = self.render_policy({})
        if not is_typed:
            parameters = {self._names[name]: ANY for name in self.types}
            self.declaration = PolicyDeclaration(NameAt(name), parameters, expression, condition.description)

    def _declare(self) -> PolicyDeclaration:
        expression = self._translate(self._read_declared).text
        parameters = {self._names[name]: _declare_type(of_type) for name, of_type in self.types.items()}
        read_named_policy(self._name, parameters, expression)
        return PolicyDeclaration(NameAt(self._name), parameters, expression, self._condition.description)

    def _translate(self, read: _Read) -> Piece:
        def refer(name: str, offset: int) -> Piece:
            return read(name, self.types[name])._replace(offset=offset)

        return translate_cel(self._condition.expression, self.types, refer)

    def _read_declared(self, name: str, of_type: str) -> Piece:
        here = self._names[name]
        return Piece(here if of_type in _CHECKED else f'as({here}, "{of_type}")', of_type, 0)

    def render_policy(self, values: Mapping[str, Any]) -> str:
        """Returns the policy of a warrant whose relationship gives these values. Raises InvalidParameter if a value is
        not one of the parameters or not of its type, or if the policy becomes too long."""
        key = json.dumps(values, sort_keys=True) if values else ""
        policy = self._policies.get(key)
        if policy is None:
            literals = {name: self._render_value(name, value) for name, value in values.items()}
            policy = self._render(literals)
            read_new_policy(policy)
            if len(self._policies) < MAX_POLICIES_CACHED:
                self._policies[key] = policy
        return policy

    def _render(self, literals: Mapping[str, str]) -> str:
        key = (*sorted(literals),)
        template = self._templates.get(key)
        if template is None:
            template = self._build_template(frozenset(literals))
            if len(self._templates) < _MAX_TEMPLATES_CACHED:
                self._templates[key] = template
        return _PLACE.sub(lambda match: literals[match[1]], template)

    def _build_template(self, present: frozenset[str]) -> str:
        """Returns the policy of relationships that give values for these parameters, with places for the values."""
        read: dict[str, str] = {}
        expression = self._translate(partial(self._read_parameter, present, read))
        unread = [name for name in self.types if name not in present and name not in read]
        if not unread or not self._condition.requires_all:
            return expression.text
        # Without a value for each of its parameters, the condition is an error there, even for one it never reads.
        demanded = ", ".join(self._read_parameter(present, read, name, self.types[name]).text for name in unread)
        return f"[{demanded}] != nil && {expression.within(COMPARISON)}"

    def _read_parameter(self, present: frozenset[str], read: dict[str, str], name: str, of_type: str) -> Piece:
        if name in present:
            return Piece(f"\0{name}\0", of_type, 0)
        suffix = "" if self._condition.requires_all else "?"
        read[name] = f'as({self._names[name]}, "{of_type}{suffix}")'
        return Piece(read[name], of_type, 0, can_fail=not self._condition.requires_all)

    def _render_value(self, parameter: str, value: Any) -> str:
        of_type = self.types.get(parameter)
        if of_type is None:
            raise InvalidParameter("", f"condition {self._name} has no parameter {show_name(parameter)}")
        try:
            return render_literal(value, of_type)
        except (Fault, ArithmeticError):
            described = self._condition.parameters[parameter]
            message = f"the value of {parameter} cannot be expressed as {described}"
            raise InvalidParameter("", message) from None


def read_type(written: str) -> str:
    """Returns the type of a parameter. Raises InvalidParameter if it cannot be expressed."""
    of_type = normalize_type(written)
    if of_type is None:
        raise InvalidParameter("", f"type {show_name(written)} cannot be expressed")
    return of_type


def _declare_type(of_type: str) -> str:
    return "array" if is_list(of_type) else "map" if is_map(of_type) else _PARAMETER_TYPES[of_type]


def convert_condition(
    condition: ForeignCondition, name: str, names: Mapping[str, str], faults: Faults, is_typed: bool = True
) -> ConditionConverter | None:
    """Returns the converter of a condition; None, and what is wrong is reported, if it cannot be expressed."""
    described = f"condition {condition.name.text}"
    unknown = [name for name, of_type in condition.parameters.items() if normalize_type(of_type) is None]
    for parameter in unknown:
        of_type = show_name(condition.parameters[parameter])
        at = condition.places.get(parameter, condition.name)
        message = f"{described}: parameter {show_name(parameter)} of type {of_type} cannot be expressed"
        faults.report(at, NOT_EXPRESSIBLE, message)
    if unknown:
        return None
    try:
        return ConditionConverter(condition, name, names, is_typed)
    except CelRefusal as refusal:
        faults.report(condition.locate(refusal.offset), NOT_EXPRESSIBLE, f"{described}: {refusal.message}")
    except InvalidParameter as fault:
        message = fault.message.partition("\n")[0]
        faults.report(condition.name, NOT_EXPRESSIBLE, f"{described}: {message}")
    return None
