"""Represents a part of a parsed policy: how to evaluate it, and what is known of it before."""

from collections.abc import Callable
from typing import Any

import msgspec

from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.types import StaticType, TypeRule, is_any, type_of_value

Evaluate = Callable[[PolicyRun], Any]
"""Evaluates a part. Such a function gets what it needs as defaults of its parameters rather than as enclosed variables:
a long policy has thousands of these functions, and each enclosed variable is one more object for the garbage
collector."""

Apply = Callable[[PolicyRun, Any, Any], Any]
"""Computes one value from two."""

MAX_DEPTH = 64
"""Limits the nesting of operators, calls, closures, lists and maps. Evaluation goes as deep; parentheses do not
count."""

NOT_LITERAL = object()


class Refusal(Exception):
    """Reports that the policy cannot be accepted as it is written. `offset` is the position in its text, in characters
    from 0."""

    def __init__(self, reason: str, offset: int | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


class PolicyNode(msgspec.Struct):
    """Represents a part of a policy. `weight` counts the parts that one evaluation runs through, loops once; `depth`
    the levels of nesting.

    `literal` is the value if it is known: that of a literal, or of operators on literals. `is_written` says that it is
    a literal itself. `element` is the type that all elements of a written list have, `members` those elements if they
    are literals themselves; `bounds` are those of a range between literals. `is_environment` says that it is all
    variables at once, `is_backwards` that it has `findLast` or `findLastIndex` in it. `read_name` is the name if it is
    a variable of the context, `variable` if its type there is known as well. `patterns` counts the literal regular
    expressions. `lifetime` is how long after the creation of the warrant the part may be true, in microseconds; None if
    it is not known that this ever ends."""

    evaluate: Evaluate
    type: StaticType
    offset: int
    literal: Any = NOT_LITERAL
    weight: int = 1
    depth: int = 1
    patterns: int = 0
    is_written: bool = False
    element: StaticType | None = None
    members: list[Any] | None = None
    bounds: tuple[int, int] | None = None
    is_environment: bool = False
    is_backwards: bool = False
    variable: str | None = None
    read_name: str | None = None
    lifetime: int | None = None


class Constant(msgspec.Struct, frozen=True, gc=False):
    """Evaluates to `value`. It is not a function: see Evaluate. A comparison with a literal does not even call it."""

    value: Any

    def __call__(self, run: PolicyRun) -> Any:
        return self.value


def literal_node(value: Any, offset: int, is_written: bool = False) -> PolicyNode:
    return PolicyNode(Constant(value), type_of_value(value), offset, value, is_written=is_written)


def compose_node(evaluate: Evaluate, static: StaticType, offset: int, *children: PolicyNode) -> PolicyNode:
    """Returns the node of these parts. Raises Refusal if the parts are nested too deep."""
    weight, depth, patterns, is_backwards = 1, 0, 0, False
    for child in children:
        weight += child.weight
        patterns += child.patterns
        is_backwards = is_backwards or child.is_backwards
        if child.depth > depth:
            depth = child.depth
    if depth >= MAX_DEPTH:
        raise Refusal(f"nested more than {MAX_DEPTH} deep", offset)
    return PolicyNode(
        evaluate,
        static,
        offset,
        NOT_LITERAL,
        weight=weight,
        depth=depth + 1,
        patterns=patterns,
        is_backwards=is_backwards,
    )


def require(child: PolicyNode, type_rules: tuple[TypeRule, ...], name: str, offset: int) -> None:
    """Raises Refusal if no type_rule is met by the type of an operand or argument, unless it may have any type."""
    if not is_any(child.type) and not any(type_rule(child.type) for type_rule in type_rules):
        raise Refusal(f"{name} does not take {child.type.name}", offset)


def compose_of_all(evaluate: Evaluate, static: StaticType, offset: int, *children: PolicyNode) -> PolicyNode:
    """Returns the node of parts whose values are all needed at once, as those of an operator or a list are.

    `findLast` works only in the first of them: Go `expr` 1.15 loses the values before it. It is an error in the others,
    which is what Go `expr` makes of it or less."""
    if any(child.is_backwards for child in children[1:]):
        return compose_node(_refuse_backwards, static, offset, *children)
    return compose_node(evaluate, static, offset, *children)


def _refuse_backwards(run: PolicyRun) -> Any:
    raise Fault("findLast and findLastIndex must come first")
