"""Represents a part of a parsed policy: how to evaluate it, and what is known of it before."""

from collections.abc import Callable
from typing import Any

import msgspec

from magistrate.engine.policy.kinds import ANY, Kinds, render_kinds
from magistrate.engine.policy.run import PolicyRun

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

    `free_item` is the position of a `#` or `.field` that no closure encloses yet. `literal` is the value if it is a
    literal. `patterns` counts the literal regular expressions."""

    evaluate: Evaluate
    kinds: Kinds
    offset: int
    literal: Any = NOT_LITERAL
    weight: int = 1
    depth: int = 1
    free_item: int | None = None
    patterns: int = 0


_KINDS_OF_ONE: dict[type, Kinds] = {kind: frozenset({kind}) for kind in ANY}


class Constant(msgspec.Struct, frozen=True, gc=False):
    """Evaluates to `value`. It is not a function: see Evaluate. A comparison with a literal does not even call it."""

    value: Any

    def __call__(self, run: PolicyRun) -> Any:
        return self.value


def literal_node(value: Any, offset: int) -> PolicyNode:
    return PolicyNode(Constant(value), _KINDS_OF_ONE[type(value)], offset, value)


def compose_node(evaluate: Evaluate, kinds: Kinds, offset: int, *children: PolicyNode) -> PolicyNode:
    """Returns the node of these parts. Raises Refusal if the parts are nested too deep."""
    weight, depth, patterns, free_item = 1, 0, 0, None
    for child in children:
        weight += child.weight
        patterns += child.patterns
        if child.depth > depth:
            depth = child.depth
        if free_item is None:
            free_item = child.free_item
    if depth >= MAX_DEPTH:
        raise Refusal(f"nested more than {MAX_DEPTH} deep", offset)
    return PolicyNode(evaluate, kinds, offset, NOT_LITERAL, weight, depth + 1, free_item, patterns)


def require(kinds: Kinds, accepted: Kinds, name: str, offset: int) -> None:
    """Raises Refusal if an operand or argument can be of none of the accepted kinds."""
    if not kinds & accepted:
        raise Refusal(f"{name} does not take {render_kinds(kinds)}", offset)
