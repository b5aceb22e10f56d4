"""Holds the incomplete parts of the parser: operators that wait for an operand, and brackets.

`level` says how tightly something binds: the higher, the tighter. A part that no operator completes has the level OPEN.
"""

from collections.abc import Callable
from typing import Any

from magistrate.engine.policy import access, compiler, logic
from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import PolicyNode
from magistrate.engine.policy.operations import Sign, chain, compile_sign
from magistrate.engine.policy.tokens import Token

OPEN, OR, AND, COMPARISON, INTERVAL, SUM, NEGATION, PRODUCT, SIGNED, POWER, COALESCING = range(11)

LEVELS = {
    "or": OR,
    "and": AND,
    "comparison": COMPARISON,
    "relation": COMPARISON,
    "..": INTERVAL,
    "sign": SUM,
    "product": PRODUCT,
    "power": POWER,
    "??": COALESCING,
}
"""Maps the kind of a token to the precedence of its binary operator."""


class Operators:
    """Represents operators of one level: `a + b -`, waiting for the last operand."""

    __slots__ = ("level", "operands", "signs")
    kind = "operator"

    def __init__(self, level: int, operand: PolicyNode, sign: Sign) -> None:
        self.level = level
        self.operands = [operand]
        self.signs = [sign]

    def complete(self, operand: PolicyNode) -> PolicyNode:
        self.operands.append(operand)
        if self.level > AND:
            return logic.first_present(self.operands) if self.level == COALESCING else chain(self.operands, self.signs)
        sign = self.signs[0]
        return logic.compile_logic(self.operands, self.level == OR, str(sign), sign.offset)


class Prefix:
    """Represents `-`, `+`, `!` or `not`, waiting for its operand."""

    __slots__ = ("level", "sign")
    kind = "prefix"

    def __init__(self, level: int, sign: Token) -> None:
        self.level = level
        self.sign = sign

    def complete(self, operand: PolicyNode) -> PolicyNode:
        sign = self.sign
        if self.level == SIGNED:
            return compile_sign(sign.text, operand, sign.offset)
        return logic.compile_negation(operand, f'"{sign.text}"', sign.offset)


class Conditional:
    """Represents `a ?`, waiting for the operand before the colon; then, with the kind `otherwise`, for the one after
    it."""

    __slots__ = ("condition", "kind", "offset", "then")
    level = OPEN

    def __init__(self, condition: PolicyNode, offset: int) -> None:
        self.kind = "choice"
        self.condition = condition
        self.offset = offset
        self.then: PolicyNode | None = None

    def take_then(self, then: PolicyNode) -> None:
        self.kind, self.then = "otherwise", then

    def complete(self, operand: PolicyNode) -> PolicyNode:
        assert self.then is not None
        return logic.conditional(self.condition, self.then, operand, self.offset)


class Declaration:
    """Represents `let name = value;`: first it waits for the value, then, with the kind `scope`, for the expression in
    which the name stands for it."""

    __slots__ = ("environment", "kind", "name", "place", "value")
    level = OPEN

    def __init__(self, name: Token, environment: Environment) -> None:
        self.kind = "let"
        self.name = name
        self.environment = environment
        self.value: PolicyNode | None = None
        self.place = 0

    def take_value(self, value: PolicyNode) -> None:
        self.kind, self.value = "scope", value
        self.place = compiler.declare(self.name, value, self.environment)

    def complete(self, operand: PolicyNode) -> PolicyNode:
        assert self.value is not None
        self.environment.end_declaration()
        return compiler.declaration(self.name, self.value, self.place, operand)


class Bracket:
    """Represents an opened bracket, or the `whole` text. `children` are complete; `base` and `steps` are those of the
    operand that the bracket belongs to. `key`: in a map that of the value to come; in a closure the possible key, if a
    colon came next, for then it would be a map."""

    __slots__ = ("base", "children", "key", "kind", "steps", "token")
    level = OPEN

    def __init__(self, kind: str, token: Token, base: PolicyNode | None, steps: list[access.Step]) -> None:
        self.kind = kind
        self.token = token
        self.base = base
        self.steps = steps
        self.children: list[Any] = []
        self.key: Any = None

    def complete(self, operand: PolicyNode) -> PolicyNode:
        raise AssertionError("brackets are complete when they are closed")


Begun = Operators | Prefix | Conditional | Declaration | Bracket

Make = Callable[..., Any]
NO_STEPS: list[access.Step] = []
