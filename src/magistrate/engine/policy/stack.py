"""Holds the incomplete parts of the parser: operators that wait for an operand, and brackets.

`level` says how tightly something binds: the higher, the tighter. A part that no operator completes has the level OPEN.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from magistrate.engine.policy import access, compiler
from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import PolicyNode
from magistrate.engine.policy.operations import (
    Sign,
    chain,
    compile_logic,
    compile_negation,
    compile_sign,
    conditional,
    first_present,
)
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


@dataclass(slots=True, eq=False)
class Operators:
    """Represents operators of one level: `a + b -`, waiting for the last operand."""

    level: int
    operands: list[PolicyNode]
    signs: list[Sign]
    kind: ClassVar[str] = "operator"

    def complete(self, operand: PolicyNode) -> PolicyNode:
        self.operands.append(operand)
        if self.level > AND:
            return first_present(self.operands) if self.level == COALESCING else chain(self.operands, self.signs)
        sign = self.signs[0]
        return compile_logic(self.operands, self.level == OR, str(sign), sign.offset)


@dataclass(slots=True, eq=False)
class Prefix:
    """Represents `-`, `+`, `!` or `not`, waiting for its operand."""

    level: int
    sign: Token
    kind: ClassVar[str] = "prefix"

    def complete(self, operand: PolicyNode) -> PolicyNode:
        sign = self.sign
        if self.level == SIGNED:
            return compile_sign(sign.text, operand, sign.offset)
        return compile_negation(operand, f'"{sign.text}"', sign.offset)


@dataclass(slots=True, eq=False)
class Conditional:
    """Represents `a ?`, waiting for the operand before the colon; then, with the kind `otherwise`, for the one after
    it."""

    condition: PolicyNode
    offset: int
    then: PolicyNode | None = None
    kind: str = "choice"
    level: ClassVar[int] = OPEN

    def take_then(self, then: PolicyNode) -> None:
        self.kind, self.then = "otherwise", then

    def complete(self, operand: PolicyNode) -> PolicyNode:
        assert self.then is not None
        return conditional(self.condition, self.then, operand, self.offset)


@dataclass(slots=True, eq=False)
class Declaration:
    """Represents `let name = value;`: first it waits for the value, then, with the kind `scope`, for the expression in
    which the name stands for it."""

    name: Token
    environment: Environment
    value: PolicyNode | None = None
    place: int = 0
    kind: str = "let"
    level: ClassVar[int] = OPEN

    def take_value(self, value: PolicyNode) -> None:
        self.kind, self.value = "scope", value
        self.place = compiler.declare(self.name, value, self.environment)

    def complete(self, operand: PolicyNode) -> PolicyNode:
        assert self.value is not None
        self.environment.end_declaration()
        return compiler.declaration(self.name, self.value, self.place, operand)


@dataclass(slots=True, eq=False)
class Bracket:
    """Represents an opened bracket, or the `whole` text. `children` are complete; `base` and `steps` are those of the
    operand that the bracket belongs to. `key`: in a map that of the value to come; in a closure the possible key, if a
    colon came next, for then it would be a map."""

    kind: str
    token: Token
    base: PolicyNode | None
    steps: list[access.Step]
    children: list[Any] = field(default_factory=list)
    key: Any = None
    level: ClassVar[int] = OPEN

    def complete(self, operand: PolicyNode) -> PolicyNode:
        raise AssertionError("brackets are complete when they are closed")


Begun = Operators | Prefix | Conditional | Declaration | Bracket

Make = Callable[..., Any]
NO_STEPS: list[access.Step] = []
