"""Compiles operators with their operands: `a + b - c`, `a < b`, `-a`, and those that do not evaluate all of their
operands: `&&`, `||`, `?:`, `??`.

Operators of one precedence are applied from left to right in a loop, however many there are; only nested expressions
make evaluation deeper. Operands must be bools where a bool is required: nothing else counts as true or false.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from collections.abc import Callable
from typing import Any

import msgspec

from magistrate.engine.policy.equality import equal, plain_number
from magistrate.engine.policy.node import (
    NOT_LITERAL,
    Apply,
    Constant,
    Evaluate,
    PolicyNode,
    Refusal,
    compose_node,
    compose_of_all,
    literal_node,
    require,
)
from magistrate.engine.policy.operators import COMPARISONS, OPERATORS, opposite, result_type
from magistrate.engine.policy.run import MAX_STEPS, Fault, PolicyRun
from magistrate.engine.policy.texts import literal_pattern, matches_literal
from magistrate.engine.policy.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NIL,
    NOT_BOOL,
    STRING,
    StaticType,
    is_any,
    is_assignable,
    is_bool,
    is_comparable,
    is_number,
    join_types,
    may_be_bool,
)
from magistrate.engine.policy.values import Byte, finite, whole
from magistrate.engine.warrants.warrant import NO_WARRANT

_STEPS_OF_AN_ERROR = 10
_SHORT_TEXT = 256
"""Limits the characters up to which looking for a text is not charged."""


def compare_variable(left: PolicyNode, sign: str, right: PolicyNode) -> Evaluate | None:
    """Returns what compares a variable with a literal; None for operands it does not know."""
    name, literal = left.variable, right.literal
    assert name is not None
    if left.type is FLOAT and type(literal) in (int, float) and sign in COMPARISONS:
        return _compare_number(name, COMPARISONS[sign], float(literal))
    if left.type is not STRING:
        return None
    if sign in ("==", "!=") and type(literal) is str:
        return _compare_text(name, literal, sign == "==")
    is_among_texts = sign == "in" and right.members and all(type(member) is str for member in right.members)
    return _find_among(name, frozenset(right.members or ())) if is_among_texts else None


def _compare_number(name: str, compare: Callable[[Any, Any], bool], literal: float) -> Evaluate:
    def evaluate(
        run: PolicyRun, name: str = name, compare: Callable[[Any, Any], bool] = compare, literal: float = literal
    ) -> bool:
        return compare(float(run.context[name]), literal)

    return evaluate


def _compare_text(name: str, literal: str, is_equality: bool) -> Evaluate:
    def evaluate(run: PolicyRun, name: str = name, literal: str = literal, is_equality: bool = is_equality) -> bool:
        return (run.context[name] == literal) is is_equality

    return evaluate


def _find_among(name: str, literals: frozenset[Any]) -> Evaluate:
    def evaluate(run: PolicyRun, name: str = name, literals: frozenset[Any] = literals) -> bool:
        text = run.context[name]
        if len(text) > _SHORT_TEXT:
            run.charge_text(len(text))
        return text in literals

    return evaluate


class Sign(msgspec.Struct, frozen=True, gc=False):
    """Represents an operator as written in a policy: `not in` is `in`, negated.

    `is_lost` says that Go `expr` 1.15 loses the negation, because an operator before it binds as tightly or tighter: it
    reads `1 + a not in b` as `1 + a in b`. Such an operation is an error here, so that neither reading grants."""

    name: str
    offset: int
    is_negated: bool = False
    is_lost: bool = False

    def __str__(self) -> str:
        return f'"not {self.name}"' if self.is_negated else f'"{self.name}"'


def chain(children: list[PolicyNode], signs: list[Sign]) -> PolicyNode:
    """Compiles `a + b - c`, with one sign fewer than parts. Raises Refusal at the first that cannot work."""
    first, others = children[0], children[1:]
    pairs = list(zip(signs, others, strict=True))
    first, folded = _fold_first(first, pairs)
    pairs = pairs[folded:]
    if not pairs:
        return first
    static, left = first.type, first
    applies: list[Apply] = []
    for sign, child in pairs:
        static = _check(static, sign, child)
        applies.append(_apply(sign, left, child))
        left = _STEP
    evaluate = _loop(first, applies, pairs) if len(pairs) > 1 else _pair(first, pairs[0][0], applies[0], pairs[0][1])
    node = compose_of_all(evaluate, static, signs[-1].offset, first, *(child for _, child in pairs))
    if len(pairs) == 1 and signs[-1].name == "..":
        node.bounds = _bounds(first, pairs[0][1])
    node.patterns += sum(_is_pattern(sign, child) for sign, child in pairs)
    return node


_STEP = PolicyNode(Constant(None), NOT_BOOL, 0)
"""Stands for the result of the operators before."""


def _bounds(first: PolicyNode, last: PolicyNode) -> tuple[int, int] | None:
    is_literal = type(first.literal) is int and type(last.literal) is int
    return (first.literal, last.literal) if is_literal else None


def _check(left: StaticType, sign: Sign, child: PolicyNode) -> StaticType:
    static = result_type(sign.name, left, child.type)
    if static is None or (sign.name == "in" and not is_comparable(left, child.element)):
        raise Refusal(f"{sign} does not take {left.name} and {child.type.name}", sign.offset)
    return static


def _fold_first(first: PolicyNode, pairs: list[tuple[Sign, PolicyNode]]) -> tuple[PolicyNode, int]:
    """Returns the literal that the first operations are, as far as they are operations on literals, and how many."""
    value, weight, count = first.literal, first.weight, 0
    for sign, child in pairs:
        folded = _fold(value, sign, child.literal)
        if folded is NOT_LITERAL:
            break
        value, weight, count = folded, weight + child.weight, count + 1
    if not count:
        return first, 0
    node = literal_node(value, first.offset)
    node.weight = weight
    return node, count


def _fold(left: Any, sign: Sign, right: Any) -> Any:
    """Returns the value of an operation on two literals, NOT_LITERAL if it is known only during evaluation."""
    kinds = (type(left), type(right))
    if kinds not in _FOLDED_KINDS or not OPERATORS[sign.name].folds or sign.is_negated:
        return NOT_LITERAL
    if sign.name == "==":
        return left == right if kinds[0] is kinds[1] and kinds[0] is not float else NOT_LITERAL
    if kinds[0] is bool or (kinds[0] is str and sign.name != "+"):
        return NOT_LITERAL
    try:
        return OPERATORS[sign.name].apply(_FOLDING, left, right)
    except (Fault, ArithmeticError):
        return NOT_LITERAL
    finally:
        _FOLDING.steps = MAX_STEPS


_FOLDED_KINDS = frozenset({(int, int), (int, float), (float, int), (float, float), (str, str), (bool, bool)})
_FOLDING = PolicyRun({}, NO_WARRANT, 0)


def compile_sign(sign: str, child: PolicyNode, offset: int) -> PolicyNode:
    """Compiles `-a` and `+a`, for numbers."""
    require(child, (is_number,), f'"{sign}"', offset)
    if type(child.literal) in (int, float):
        return literal_node(-child.literal if sign == "-" else child.literal, offset)
    static = NOT_BOOL if is_any(child.type) else child.type
    operand = child.evaluate
    if sign == "+":
        return compose_node(operand, static, offset, child)

    def evaluate(run: PolicyRun) -> Any:
        value = operand(run)
        if type(value) is Byte or type(plain := plain_number(value)) not in (int, float):
            raise Fault('"-" needs a number')
        return whole(-plain) if type(plain) is int else finite(-plain)

    return compose_node(evaluate, static, offset, child)


def _apply(sign: Sign, left: PolicyNode, right: PolicyNode) -> Apply:
    if sign.is_lost:
        return _refuse_lost
    apply = OPERATORS[sign.name].apply
    if _is_pattern(sign, right):
        try:
            literal_pattern(right.literal)
        except Fault as fault:
            raise Refusal(str(fault), right.offset) from fault
        apply = matches_literal
    elif sign.name == "==" and left.type is right.type and left.type in _EQUAL_OF_KIND:
        apply = _EQUAL_OF_KIND[left.type]
    elif sign.name == "in" and right.members is not None:
        apply = _among_literals(left, right.members) or apply
    elif sign.name == "in" and right.bounds is not None and left.type.kind == "int":
        apply = _between(*right.bounds) if left.type is INT else _refuse_kind
    return opposite(apply) if sign.is_negated else apply


def _equal_of_kind(kind: type) -> Apply:
    """Returns the equality of two operands that are known to be of one kind. Another is an error, as in Go `expr`: the
    nil of `findIndex`, for one."""

    def apply(run: PolicyRun, left: Any, right: Any) -> bool:
        for operand in (left, right):
            if type(operand) is not kind:
                raise Fault("the operand is not of the kind that it should be")
        return equal(run, left, right)

    return apply


_EQUAL_OF_KIND: dict[StaticType, Apply] = {INT: _equal_of_kind(int), STRING: _equal_of_kind(str)}


def _refuse_lost(run: PolicyRun, left: Any, right: Any) -> Any:
    raise Fault("the negation needs parentheses")


def _among_literals(left: PolicyNode, members: list[Any]) -> Apply | None:
    """Returns how to search a list of which all elements are literals of one kind; None for the usual way.

    Go `expr` makes such a list a set of texts or of integers. In a set of texts, a missing variable counts as the empty
    text there; here it is an error."""
    if all(type(member) is str for member in members):
        return _among_texts(frozenset(members))
    if left.type.kind == "int" and all(type(member) is int for member in members):
        return None if left.type is INT else _refuse_kind
    return None


def _among_texts(members: frozenset[str]) -> Apply:
    has_empty = "" in members

    def apply(run: PolicyRun, sought: Any, among: Any) -> bool:
        if type(sought) is str:
            run.charge_text(len(sought))
            return sought in members
        if sought is None and not has_empty:
            return False
        raise Fault("only a string can be in a list of strings")

    return apply


def _refuse_kind(run: PolicyRun, left: Any, right: Any) -> Any:
    raise Fault("the operator does not take these kinds")


def _between(first: int, last: int) -> Apply:
    """Returns how to search a range between two literals: it takes no memory, however long the range is."""

    def apply(run: PolicyRun, sought: Any, among: Any) -> bool:
        if type(sought) is not int:
            raise Fault("only an integer can be in a range of integers")
        return first <= sought <= last

    return apply


def _is_pattern(sign: Sign, right: PolicyNode) -> bool:
    return sign.name == "matches" and type(right.literal) is str


def _loop(first: PolicyNode, applies: list[Apply], pairs: list[tuple[Sign, PolicyNode]]) -> Evaluate:
    start = first.evaluate
    operands = [
        child.evaluate for _, child in pairs
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
    if left.variable is not None and not sign.is_negated and (direct := compare_variable(left, sign.name, right)):
        return direct
    if sign.name == "in" and (right.members is not None or (right.bounds is not None and left.type is INT)):
        return _of_literal(apply, left.evaluate, None if right.members is None else right.literal)
    if literal is NOT_LITERAL:
        return _of_two(apply, left.evaluate, right.evaluate)
    if sign.is_lost:
        return _of_literal(apply, left.evaluate, literal)
    if sign.name == "==" and not sign.is_negated and (literal is None or type(literal) is bool):
        return _is_same(left.evaluate, literal)
    if sign.name == "==" and not sign.is_negated and type(literal) is str and left.type is not STRING:
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
