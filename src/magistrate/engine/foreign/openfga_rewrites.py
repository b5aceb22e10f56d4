"""Reads the rewrite of a relation in the text of an OpenFGA model: `[user] or (editor and member) or viewer from
parent`."""

from magistrate.engine.foreign.names import ForeignName
from magistrate.engine.foreign.schema import Restriction, Rewrite, RewriteKind
from magistrate.engine.foreign.tokens import ForeignTokens

_OPERATORS: dict[str, RewriteKind] = {"or": "union", "and": "intersection", "but": "exclusion"}


class _OpenRewrite:
    """Represents what was read of an operation between brackets, or of the whole."""

    def __init__(self, at: ForeignName) -> None:
        self.at = at
        self.operator = ""
        self.operands: list[Rewrite] = []

    def close(self) -> Rewrite:
        return Rewrite(_OPERATORS[self.operator], self.at, (), self.operands) if self.operator else self.operands[0]


def read_rewrite(tokens: ForeignTokens) -> tuple[Rewrite, list[Restriction]]:
    """Returns the rewrite, and which direct subjects it allows. Raises ForeignRefusal."""
    restrictions: list[Restriction] = []
    opened = [_OpenRewrite(tokens.at)]
    while True:
        if tokens.token == "(":
            opened.append(_OpenRewrite(tokens.at))
            tokens.advance()
            continue
        if len(opened) == 1 and tokens.starts_line:
            raise tokens.refuse("unexpected_token", "expected the name of a relation, [ or ( before the line ends")
        opened[-1].operands.append(_read_operand(tokens, restrictions))
        while len(opened) > 1 and tokens.accept(")"):
            closed = opened.pop().close()
            opened[-1].operands.append(closed)
        if tokens.token not in _OPERATORS or (len(opened) == 1 and tokens.starts_line):
            break
        _read_operator(tokens, opened[-1])
    if len(opened) > 1:
        raise tokens.refuse("unexpected_token", f"expected ) or an operator, found {tokens.show_next()}")
    return opened[0].close(), restrictions


def _read_operator(tokens: ForeignTokens, opened: _OpenRewrite) -> None:
    operator = tokens.token
    if opened.operator and (operator != opened.operator or operator == "but"):
        raise tokens.refuse("mixed_operators", "put brackets around one of the operations")
    opened.operator = operator
    tokens.advance()
    if operator == "but":
        tokens.demand("not", "behind but")


def _read_operand(tokens: ForeignTokens, restrictions: list[Restriction]) -> Rewrite:
    at = tokens.at
    if tokens.accept("["):
        if restrictions:
            raise tokens.refuse("repeated_brackets", "a relation has one list of types in brackets")
        restrictions += _read_restrictions(tokens)
        return Rewrite("direct", at)
    name = tokens.take_name("the name of a relation, [ or (")
    if tokens.token == "from" and not tokens.starts_line:
        tokens.advance()
        return Rewrite("arrow", at, (name, tokens.take_name("the name of the linking relation")))
    return Rewrite("computed", at, (name,))


def _read_restrictions(tokens: ForeignTokens) -> list[Restriction]:
    restrictions = [_read_restriction(tokens)]
    while tokens.accept(","):
        restrictions.append(_read_restriction(tokens))
    tokens.demand("]", "or , behind a type")
    return restrictions


def _read_restriction(tokens: ForeignTokens) -> Restriction:
    name = tokens.take_name("the name of a type")
    relation, condition = None, None
    is_wildcard = tokens.accept(":")
    if is_wildcard:
        tokens.demand("*", "behind :")
    elif tokens.accept("#"):
        relation = tokens.take_name("the name of a relation")
    if tokens.accept("with"):
        condition = tokens.take_name("the name of a condition")
    return Restriction(name, relation, is_wildcard, condition)
