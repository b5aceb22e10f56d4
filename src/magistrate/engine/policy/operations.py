"""Compiles operators with their operands: `a + b - c`, `a < b`, `-a`.

Operators of one precedence are applied from left to right in a loop, however many there are; only nested expressions
make evaluation deeper.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from typing import Any

import msgspec

from magistrate.engine.policy.kinds import DURATION, NUMBER, STRING, render_kinds
from magistrate.engine.policy.node import (
    NOT_LITERAL,
    Apply,
    Evaluate,
    PolicyNode,
    Refusal,
    compose_node,
    literal_node,
    require,
)
from magistrate.engine.policy.operators import OPERATORS, opposite, result_kinds
from magistrate.engine.policy.patterns import literal_pattern, matches_literal
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.values import Duration, finite, whole


class Sign(msgspec.Struct, frozen=True, gc=False):
    """Represents an operator as written in a policy: `not in` is `in`, negated."""

    name: str
    offset: int
    is_negated: bool = False

    def __str__(self) -> str:
        return f'"not {self.name}"' if self.is_negated else f'"{self.name}"'


def chain(children: list[PolicyNode], signs: list[Sign]) -> PolicyNode:
    """Compiles `a + b - c`, with one sign fewer than parts. Raises Refusal at the first that cannot work."""
    first, *others = children
    pairs = list(zip(signs, others, strict=True))
    kinds = first.kinds
    for sign, child in pairs:
        taken, kinds = kinds, result_kinds(sign.name, kinds, child.kinds)
        if not kinds:
            raise Refusal(f"{sign} does not take {render_kinds(taken)} and {render_kinds(child.kinds)}", sign.offset)
    applies = [_apply(sign, child) for sign, child in pairs]
    evaluate = _pair(first, signs[0], applies[0], others[0]) if len(pairs) == 1 else _loop(first, applies, others)
    node = compose_node(evaluate, kinds, signs[-1].offset, *children)
    for sign, child in pairs:
        if sign.name == "matches":
            node.patterns += _is_pattern(sign, child)
    return node


def compile_sign(sign: str, child: PolicyNode, offset: int) -> PolicyNode:
    """Compiles `-a` and `+a`, for numbers; a duration can be negated."""
    accepted = NUMBER | DURATION if sign == "-" else NUMBER
    require(child.kinds, accepted, f'"{sign}"', offset)
    if type(child.literal) in NUMBER:
        return literal_node(-child.literal if sign == "-" else child.literal, offset)
    operand = child.evaluate

    def evaluate(run: PolicyRun) -> Any:
        value = operand(run)
        if type(value) not in accepted:
            raise Fault(f'"{sign}" needs a number')
        return _negative(value) if sign == "-" else value

    return compose_node(evaluate, child.kinds & accepted, offset, child)


def _negative(value: Any) -> Any:
    if type(value) is Duration:
        return Duration(whole(-value.nanoseconds))
    return whole(-value) if type(value) is int else finite(-value)


def _apply(sign: Sign, right: PolicyNode) -> Apply:
    apply = OPERATORS[sign.name].apply
    if _is_pattern(sign, right):
        try:
            literal_pattern(right.literal)
        except Fault as fault:
            raise Refusal(str(fault), right.offset) from fault
        apply = matches_literal
    return opposite(apply) if sign.is_negated else apply


def _is_pattern(sign: Sign, right: PolicyNode) -> bool:
    return sign.name == "matches" and type(right.literal) is str


def _loop(first: PolicyNode, applies: list[Apply], others: list[PolicyNode]) -> Evaluate:
    start = first.evaluate
    operands = [
        child.evaluate for child in others
    ]  # kept apart from `apply` rather than in pairs, to spare the garbage collector

    def evaluate(run: PolicyRun) -> Any:
        value = start(run)
        for apply, operand in zip(applies, operands, strict=True):
            value = apply(run, value, operand(run))
        return value

    return evaluate


def _pair(left: PolicyNode, sign: Sign, apply: Apply, right: PolicyNode) -> Evaluate:
    """Compiles one operation, with fast paths for literals: most operations of policies compare something with a
    literal."""
    literal = right.literal
    if literal is NOT_LITERAL:
        return _of_two(apply, left.evaluate, right.evaluate)
    if sign.name == "==" and (literal is None or type(literal) is bool):
        return _is_same(left.evaluate, literal)
    if sign.name == "==" and type(literal) in STRING:
        return _is_text(left.evaluate, literal)
    return _of_literal(apply, left.evaluate, literal)


def _of_two(apply: Apply, first: Evaluate, second: Evaluate) -> Evaluate:
    def evaluate(run: PolicyRun, apply: Apply = apply, first: Evaluate = first, second: Evaluate = second) -> Any:
        return apply(run, first(run), second(run))

    return evaluate


def _of_literal(apply: Apply, first: Evaluate, literal: Any) -> Evaluate:
    def evaluate(run: PolicyRun, apply: Apply = apply, first: Evaluate = first, literal: Any = literal) -> Any:
        return apply(run, first(run), literal)

    return evaluate


def _is_same(first: Evaluate, literal: bool | None) -> Evaluate:
    def evaluate(run: PolicyRun, first: Evaluate = first, literal: bool | None = literal) -> bool:
        return first(run) is literal

    return evaluate


def _is_text(first: Evaluate, literal: str) -> Evaluate:
    """Returns a function that compares with a text literal: a text is equal to no other kind of value."""

    def evaluate(run: PolicyRun, first: Evaluate = first, literal: str = literal) -> Any:
        return first(run) == literal

    return evaluate
