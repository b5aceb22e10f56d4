"""Reads the expressions of permissions: `viewer + (editor & member) - banned + parent->view`.

SpiceDB evaluates unions before intersections, and intersections before exclusions. From the left to the right, an
expression in which no operator binds tighter than the one before it means the same either way; others are refused, so
that nobody has to know."""

from magistrate.engine.foreign.names import ForeignName
from magistrate.engine.foreign.schema import Rewrite, RewriteKind
from magistrate.engine.foreign.tokens import ForeignTokens

_OPERATORS: dict[str, RewriteKind] = {"+": "union", "&": "intersection", "-": "exclusion"}
_TIGHTNESS: dict[str, int] = {"+": 3, "&": 2, "-": 1}
_FUNCTIONS: dict[str, RewriteKind] = {"any": "arrow", "all": "for_all"}
_NOBODY = ("nil", "_nil")


class _OpenExpression:
    """Represents what was read of an expression, or of one in brackets."""

    def __init__(self, at: ForeignName) -> None:
        self.at = at
        self.operator = ""
        self.value: Rewrite | None = None

    def add(self, operand: Rewrite) -> None:
        kind = _OPERATORS.get(self.operator)
        if self.value is None or kind is None:
            self.value = operand
        elif self.value.kind == kind != "exclusion":
            self.value.operands.append(operand)
        else:
            self.value = Rewrite(kind, self.at, (), [self.value, operand])


def read_expression(tokens: ForeignTokens) -> Rewrite:
    """Returns the rewrite of an expression. Raises ForeignRefusal."""
    opened = [_OpenExpression(tokens.at)]
    while True:
        if tokens.token == "(":
            opened.append(_OpenExpression(tokens.at))
            tokens.advance()
            continue
        opened[-1].add(_read_operand(tokens))
        while len(opened) > 1 and tokens.accept(")"):
            closed = opened.pop().value
            assert closed is not None
            opened[-1].add(closed)
        if tokens.token not in _OPERATORS:
            break
        _read_operator(tokens, opened[-1])
    if len(opened) > 1:
        raise tokens.refuse("unexpected_token", f"expected ) or an operator, found {tokens.show_next()}")
    value = opened[0].value
    assert value is not None
    return value


def _read_operator(tokens: ForeignTokens, opened: _OpenExpression) -> None:
    operator = tokens.token
    if opened.operator and _TIGHTNESS[operator] > _TIGHTNESS[opened.operator]:
        message = f"put brackets around the operation with {operator}, which binds tighter than {opened.operator}"
        raise tokens.refuse("mixed_operators", message)
    opened.operator = operator
    tokens.advance()


def _read_operand(tokens: ForeignTokens) -> Rewrite:
    name = tokens.take_name("the name of a relation or permission, or (")
    if name.text in _NOBODY:
        return Rewrite("nobody", name)
    if tokens.accept("->"):
        return Rewrite("arrow", name, (tokens.take_name("the name of a relation or permission"), name))
    if not tokens.accept("."):
        return Rewrite("computed", name, (name,))
    function = tokens.take_name("any or all")
    if function.text not in _FUNCTIONS:
        raise tokens.refuse("unexpected_token", f"expected any or all behind '.', found '{function.text}'")
    tokens.demand("(", f"behind {function.text}")
    wanted = tokens.take_name("the name of a relation or permission")
    tokens.demand(")", "behind the name")
    return Rewrite(_FUNCTIONS[function.text], name, (wanted, name))
