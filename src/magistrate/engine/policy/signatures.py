"""Describes what a built-in function takes and gives."""

from collections.abc import Callable
from typing import Any, NamedTuple

from magistrate.engine.policy.types import StaticType, TypeRule


class FunctionParameter(NamedTuple):
    """Describes a parameter of a function: the types it takes before evaluation, and the kinds during it; None for
    any."""

    type_rules: tuple[TypeRule, ...] | None
    kinds: frozenset[type] | None


Result = StaticType | Callable[[list[StaticType]], StaticType]


class Function(NamedTuple):
    """Describes a built-in function. `apply` takes the run and the values of the arguments, whose kinds have been
    checked; it may raise Fault.

    The last `optional` parameters can be left out. If it `repeats`, the last parameter takes one argument or more. If
    it `takes_nil`, a written nil is an error only when the function is called. If it `reads` its arguments, which are
    texts, `apply` gets the parsed value; literals are parsed when the policy is compiled."""

    parameters: tuple[FunctionParameter, ...]
    result: Result
    apply: Callable[..., Any]
    optional: int = 0
    repeats: bool = False
    takes_nil: bool = False
    reads: Callable[..., Any] | None = None
