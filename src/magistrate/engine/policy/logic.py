"""Compiles the operators that do not evaluate all of their operands (`&&`, `||`, `?:`, `??`), and `!`.

Operands are evaluated from left to right and must be bools where a bool is required: nothing else counts as true or
false.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from magistrate.engine.policy.kinds import BOOL, NIL
from magistrate.engine.policy.node import PolicyNode, compose_node, require
from magistrate.engine.policy.run import Fault, PolicyRun


def compile_logic(children: list[PolicyNode], stops_at: bool, sign: str, offset: int) -> PolicyNode:
    """Compiles `a && b && …`, which stops at the first false, or `a || b || …`, which stops at the first true."""
    for child in children:
        _require_bool(child, sign, offset)
    operands = [child.evaluate for child in children]

    def evaluate(run: PolicyRun) -> object:
        value = None
        for operand in operands:
            value = operand(run)
            if type(value) is not bool:
                raise Fault(f"{sign} needs bools")
            if value is stops_at:
                break
        return value

    return compose_node(evaluate, BOOL, offset, *children)


def compile_negation(child: PolicyNode, sign: str, offset: int) -> PolicyNode:
    _require_bool(child, sign, offset)
    operand = child.evaluate

    def evaluate(run: PolicyRun) -> bool:
        value = operand(run)
        if type(value) is not bool:
            raise Fault(f"{sign} needs a bool")
        return not value

    return compose_node(evaluate, BOOL, offset, child)


def conditional(condition: PolicyNode, then: PolicyNode, otherwise: PolicyNode, offset: int) -> PolicyNode:
    _require_bool(condition, '"?"', offset)
    test, on_true, on_false = condition.evaluate, then.evaluate, otherwise.evaluate

    def evaluate(run: PolicyRun) -> object:
        value = test(run)
        if type(value) is not bool:
            raise Fault("? needs a bool")
        return on_true(run) if value else on_false(run)

    return compose_node(evaluate, then.kinds | otherwise.kinds, offset, condition, then, otherwise)


def first_present(children: list[PolicyNode]) -> PolicyNode:
    """Compiles `a ?? b ?? …`: the first operand that is not nil, or the last."""
    *before, last = [child.evaluate for child in children]

    def evaluate(run: PolicyRun) -> object:
        for operand in before:
            value = operand(run)
            if value is not None:
                return value
        return last(run)

    kinds = frozenset[type]().union(*(child.kinds for child in children)) - NIL | children[-1].kinds
    return compose_node(evaluate, kinds, children[0].offset, *children)


def _require_bool(child: PolicyNode, sign: str, offset: int) -> None:
    require(child.kinds, BOOL, sign, offset)
