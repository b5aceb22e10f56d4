"""Defines named policies: conditions on the context of a check that rules name (docs/policies.md#named-policies).

A named policy is written in the language of the policies of warrants. It declares the variables that it reads, with
their types; a value that is absent or of another type makes it unknown.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from magistrate.engine.names import PolicyName
from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import Refusal
from magistrate.engine.policy.policy import Policy, compile_text, describe_refusal, read_policy
from magistrate.engine.policy.tokens import Token, is_variable, read_tokens
from magistrate.engine.policy.types import ANY, TYPES_OF_VALUES
from magistrate.engine.terms import policy_name, read_description
from magistrate.errors import InvalidParameter, MissingParameter

_NOW = "now"
_OF_WARRANTS = ("warrant", "expiresIn")


def read_expression(text: str, kinds: Mapping[str, type | None], parameter: str) -> Policy:
    """Returns the policy of a text whose variables are these, each with values of one type, or None for any.

    Raises InvalidParameter for this parameter if it is not in the language, reads anything else, or cannot work with
    these types."""
    try:
        policy = read_policy(text)
        declared = _list_declared(text)
        for name in _list_names(text):
            if name.text not in kinds and name.text not in declared:
                _check_undeclared(name, policy)
        types = {name: ANY if kind is None else TYPES_OF_VALUES[kind] for name, kind in kinds.items()}
        compile_text(text, Environment(types))
    except InvalidParameter as fault:
        raise InvalidParameter(parameter, fault.message) from None
    except Refusal as refusal:
        raise InvalidParameter(parameter, describe_refusal(text, refusal)) from None
    return policy


def _list_names(text: str) -> Iterator[Token]:
    """Yields the names in a text that are not those of members."""
    before = ""
    for token in read_tokens(text):
        if token.kind == "name" and before not in (".", "?."):
            yield token
        before = token.text


def _list_declared(text: str) -> set[str]:
    """Returns the names that `let` declares somewhere in a text. The evaluation has no other variables than the
    parameters, so that such a name is nil wherever it is not declared."""
    tokens = [*read_tokens(text)]
    return {name.text for let, name in pairwise(tokens) if let.kind == "let" and name.text != "$env"}


def _check_undeclared(name: Token, policy: Policy) -> None:
    """Raises Refusal if a name that is not declared stands for more than a function or the time."""
    if name.text in _OF_WARRANTS:
        raise Refusal(f"{name.text} is for the policies of warrants", name.offset)
    if name.text.startswith("$"):
        raise Refusal(f"{name.text} is for the policies of warrants; name the parameters", name.offset)
    if name.text in policy.names and name.text != _NOW:
        raise Refusal(f"{name.text} is not one of the parameters", name.offset)


MAX_PARAMETERS = 50

_RESERVED = frozenset({"warrant", "now"})
"""Lists the variables that the language defines itself."""


class ParameterType(StrEnum):
    """Represents the type of a parameter, by its name in JSON."""

    STRING = "string"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    FLOAT = "float"
    ARRAY = "array"
    MAP = "map"
    ANY = "any"

    @property
    def kinds(self) -> tuple[type, ...]:
        """Returns the types that a JSON value of this type can have in Python; the first is declared. An
        empty tuple means any."""
        return _KINDS[self]

    def fits(self, value: object) -> bool:
        """Returns whether a value is of this type; null is of none."""
        return type(value) in self.kinds if self.kinds else value is not None


_KINDS: Mapping[ParameterType, tuple[type, ...]] = {
    ParameterType.STRING: (str,),
    ParameterType.INTEGER: (int,),
    ParameterType.BOOLEAN: (bool,),
    ParameterType.FLOAT: (float, int),
    ParameterType.ARRAY: (list,),
    ParameterType.MAP: (dict,),
    ParameterType.ANY: (),
}


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """Represents a named policy; only `read_named_policy` makes one. `parameters` are in written order."""

    name: PolicyName
    parameters: Mapping[str, ParameterType]
    expression: str
    description: str = ""

    def select(self, context: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Returns the values of the parameters, or None if one is missing or has another type."""
        return self.bind({}, context)

    def bind(self, of_warrant: Mapping[str, Any], context: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Returns the values of the parameters: those that a warrant has, and of the others those of the context.
        Returns None if one is missing or has another type."""
        values = {name: of_warrant[name] if name in of_warrant else context.get(name) for name in self.parameters}
        fits = all(of_type.fits(values[name]) for name, of_type in self.parameters.items())
        return values if fits else None


def read_named_policy(
    name: str | None, parameters: Mapping[str, str] | None, expression: str | None, description: str | None = None
) -> NamedPolicy:
    """Returns the named policy that a request describes. Raises InvalidParameter or MissingParameter for the first
    fault, in the order of the arguments."""
    checked_name = policy_name(name, "name")
    types_by_name = parameters or {}
    if len(types_by_name) > MAX_PARAMETERS:
        raise InvalidParameter("parameters", f"must be at most {MAX_PARAMETERS}")
    types = {parameter: _read_parameter(parameter, of_type) for parameter, of_type in types_by_name.items()}
    if not expression:
        raise MissingParameter("expression")
    kinds = {name: of_type.kinds[0] if of_type.kinds else None for name, of_type in types.items()}
    read_expression(expression, kinds, "expression")
    return NamedPolicy(checked_name, types, expression, read_description(description, "description"))


def can_be_parameter(name: str) -> bool:
    """Returns whether a parameter can have the name: it is no word of the language, and none of its variables."""
    return is_variable(name) and name not in _RESERVED


def _read_parameter(name: str, of_type: str) -> ParameterType:
    if not can_be_parameter(name):
        raise InvalidParameter("parameters", f"'{name}' cannot be the name of a variable in a policy")
    try:
        return ParameterType(of_type)
    except ValueError:
        types = ", ".join(ParameterType)
        raise InvalidParameter("parameters", f"the type of '{name}' is none of {types}") from None
