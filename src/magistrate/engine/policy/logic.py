"""Compiles the operators that do not evaluate all of their operands (`&&`, `||`, `?:`, `??`), and `!`.

Operands are evaluated from left to right and must be bools where a bool is required: nothing else counts as true or
false.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from magistrate.engine.policy.node import Evaluate, PolicyNode, Refusal, compose_node, literal_node, require
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.types import ANY, BOOL, NIL, is_assignable, is_bool, join_types, may_be_bool

_STEPS_OF_AN_ERROR = 10


def compile_logic(children: list[PolicyNode], stops_at: bool, sign: str, offset: int) -> PolicyNode:
    """Compiles `a && b && …`, which stops at the first false, or `a || b || …`, which stops at the first true.

    A literal decides before anything is evaluated: `a && false` is false whatever `a` is."""
    for child in children:
        _require_bool(child, sign, offset)
    if any(child.literal is stops_at for child in children):
        return literal_node(stops_at, offset)
    others = [child for child in children if child.literal is not (not stops_at)]
    if not others:
        return literal_node(not stops_at, offset)
    operands = [child.evaluate for child in others]

    def evaluate(run: PolicyRun) -> object:
        value = None
        for operand in operands:
            value = operand(run)
            if type(value) is not bool:
                raise Fault(f"{sign} needs bools")
            if value is stops_at:
                break
        return value

    node = compose_node(evaluate, BOOL, offset, *others)
    node.lifetime = _lifetime([child.lifetime for child in others], needs_all=not stops_at)
    return node


def compile_absorbing(children: list[PolicyNode], stops_at: bool, name: str, offset: int) -> PolicyNode:
    """Compiles `anyOf(a, b, …)`, which is true if one is true whatever the others are, and `allOf(a, b, …)`, which is
    false if one is false. Only without such a one is an error in another an error of the whole."""
    if not children:
        raise Refusal(f"wrong number of arguments for {name}: expected 1 or more, got 0", offset)
    for child in children:
        _require_bool(child, name, child.offset)
    operands = [child.evaluate for child in children]

    def evaluate(run: PolicyRun) -> bool:
        is_known = True
        outer = run.item, run.iteration
        for operand in operands:
            value = attempt(run, operand)
            run.item, run.iteration = outer
            if value is stops_at:
                return stops_at
            is_known = is_known and type(value) is bool
        if not is_known:
            raise Fault(f"{name} is not decided")
        return not stops_at

    node = compose_node(evaluate, BOOL, offset, *children)
    node.lifetime = _lifetime([child.lifetime for child in children], needs_all=not stops_at)
    return node


def attempt(run: PolicyRun, operand: Evaluate) -> object:
    """Returns the value of an operand, None after an error. The element of a closure may be another afterwards. Raises
    Fault when the steps are used up."""
    try:
        return operand(run)
    except (Fault, ArithmeticError):
        run.charge(_STEPS_OF_AN_ERROR)
        return None


def _lifetime(lifetimes: list[int | None], needs_all: bool) -> int | None:
    """Returns how long all of the parts may be true together, or one of them at least."""
    limited = [lifetime for lifetime in lifetimes if lifetime is not None]
    if needs_all:
        return min(limited, default=None)
    return max(limited) if len(limited) == len(lifetimes) else None


def compile_negation(child: PolicyNode, sign: str, offset: int) -> PolicyNode:
    _require_bool(child, sign, offset)
    if type(child.literal) is bool:
        return literal_node(not child.literal, offset)
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

    return compose_node(evaluate, join_types(then.type, otherwise.type), offset, condition, then, otherwise)


def first_present(children: list[PolicyNode]) -> PolicyNode:
    """Compiles `a ?? b ?? …`: the first operand that is not nil, or the last."""
    *before, last = [child.evaluate for child in children]

    def evaluate(run: PolicyRun) -> object:
        for operand in before:
            value = operand(run)
            if value is not None:
                return value
        return last(run)

    static = children[0].type
    for child in children[1:]:
        if static is NIL or child.type is NIL:
            static = child.type if static is NIL else static
        elif not is_assignable(child.type, static):
            static = ANY if may_be_bool(static) or may_be_bool(child.type) else join_types(static, child.type)
    return compose_node(evaluate, static, children[0].offset, *children)


def _require_bool(child: PolicyNode, sign: str, offset: int) -> None:
    require(child, (is_bool,), sign, offset)
