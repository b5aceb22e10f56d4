"""Holds the incomplete parts of the parser: operators that wait for an operand, and brackets.

`level` says how tightly something binds: the higher, the tighter. A part that no operator completes has the level OPEN.
"""

from collections.abc import Callable
from enum import IntEnum, auto
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


class NextToken(IntEnum):
    """Names what may come next. The parser has a table of tokens for each."""

    OPERAND = auto()
    SCOPED_OPERAND = auto()
    BEHIND_OPERAND = auto()
    BEHIND_ITEM = auto()
    RELATION = auto()
    PIPED = auto()
    PIPED_CALL = auto()
    FIRST_PIPED = auto()
    DECLARED = auto()
    ASSIGNED = auto()
    MEMBER = auto()
    KEY = auto()
    COLON = auto()
    BEHIND_CLOSURE = auto()


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
_NO_STEPS: list[access.Step] = []


class Stack:
    """Holds the incomplete parts. `_stack` has them, the innermost last. Of the current operand `_base` and `_steps`
    are complete, and `_make` makes the next part of it from `_children`, once the token after that is known.

    `_expected` says what may come next. `_pending` begins the scope of a closure or of `let`, once the token after that
    is known, too. `_ended` is the level of the part that was completed last before the current operator, OPEN if it
    completed none. `_root` is the whole policy, when it is complete."""

    __slots__ = (
        "_base",
        "_children",
        "_ended",
        "_environment",
        "_expected",
        "_make",
        "_pending",
        "_root",
        "_stack",
        "_steps",
    )

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._expected = NextToken.OPERAND
        self._pending: Callable[[], None] | None = None
        self._ended = OPEN
        self._root: PolicyNode | None = None
        self._stack: list[Begun] = []
        self._make: Make = PolicyNode
        self._children: tuple[Any, ...] = ()
        self._base: PolicyNode | None = None
        self._steps = _NO_STEPS

    def _push(self, kind: str, token: Token) -> None:
        self._stack.append(Bracket(kind, token, self._base, self._steps))
        self._base, self._steps = None, _NO_STEPS

    def _pop(self) -> Bracket:
        bracket = self._top_bracket()
        self._stack.pop()
        self._base, self._steps = bracket.base, bracket.steps
        return bracket

    def _top_bracket(self) -> Bracket:
        top = self._stack[-1]
        assert isinstance(top, Bracket)
        return top

    def _reread_as_map(self, key: Any) -> None:
        top = self._top_bracket()
        top.kind, top.key = "map", key

    def _join_child(self) -> None:
        made = self._make(*self._children)
        if self._base is None:
            self._base, self._steps = made, []
        else:
            self._steps.append(made)

    def _take_operand(self) -> PolicyNode:
        made: Any = self._make(*self._children)
        base = self._base
        if base is None:
            operand: PolicyNode = made
        else:
            steps = [*self._steps, made]
            self._base, self._steps = None, _NO_STEPS
            operand = compiler.compile_steps(base, steps, self._environment)
        return self._environment.clear_decided(operand) if self._environment.notes_absent else operand

    def _complete(self, operand: PolicyNode, level: int) -> PolicyNode:
        """Completes the parts that bind tighter than the level."""
        stack = self._stack
        self._ended = OPEN
        while stack[-1].level > level:
            begun = stack.pop()
            self._ended = begun.level
            operand = begun.complete(operand)
            if self._environment.notes_absent:
                operand = self._environment.clear_decided(operand)
        return operand
