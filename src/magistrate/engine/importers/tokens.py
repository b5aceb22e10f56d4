"""Reads the words, signs and statements of the text of a model, with their places."""

import re
from collections.abc import Collection, Mapping, Sequence

from magistrate.engine.importers.cel.tokens import find_cel_end
from magistrate.engine.importers.names import Faults, ForeignName, ForeignRefusal, show_name
from magistrate.engine.importers.schema import (
    ForeignCondition,
    ForeignModel,
    Restriction,
    Rewrite,
    RewriteKind,
    report_repeated_parameter,
)
from magistrate.engine.text.faults import MAX_FAULTS
from magistrate.engine.text.parser import MAX_MODEL_CHARACTERS
from magistrate.engine.text.positions import LineStarts


class ForeignTokens:
    """Reads a text from the beginning to the end. `token` is the next word or sign, empty at the end, and `kind` is its
    kind; `starts_line` says whether only blanks are before it in its line.

    The pattern has a group for each kind; it matches at every place. Blanks and comments are skipped; `remark` is the
    text of the last one of the kind `remark` directly before the token, or empty."""

    def __init__(self, text: str, file: str, pattern: re.Pattern[str], line: int = 1, column: int = 1) -> None:
        """`line` and `column` are where the text begins in the file; each of its lines begins in the same column."""
        self.text = text
        self.file = file
        self._first_line = line
        self.margin = column - 1
        self._pattern = pattern
        self._lines = LineStarts(text)
        self._end = 0
        self.offset = 0
        self.token = self.kind = self.remark = ""
        self.starts_line = True
        self.skip_to(0)

    def skip_to(self, offset: int) -> None:
        """Goes to the first token behind an offset."""
        self._end = offset
        self.remark = ""
        self.advance(is_jump=True)

    def advance(self, is_jump: bool = False) -> None:
        """Goes to the next token."""
        if not is_jump:
            self.remark = ""
        self.starts_line = self._end == 0
        while match := self._pattern.match(self.text, self._end):
            self._end = match.end()
            kind = match.lastgroup or ""
            if kind == "remark":
                self.remark = match[0]
            elif kind == "blank":
                self.starts_line = self.starts_line or "\n" in match[0]
            elif kind != "comment":
                self.token, self.kind, self.offset = match[0], kind, match.start()
                return
        self.token = self.kind = ""
        self.offset = len(self.text)
        self.starts_line = True

    @property
    def at(self) -> ForeignName:
        """Returns the place of the token."""
        return self.locate(self.offset, self.token)

    def locate(self, offset: int, name: str = "") -> ForeignName:
        """Returns the place of an offset."""
        line, column = self._lines.find_place(offset)
        return ForeignName(name, self.file, line + self._first_line - 1, column + self.margin)

    def accept(self, token: str) -> bool:
        """Goes past a token, if it is the next one; returns whether it was."""
        is_next = self.token == token
        if is_next:
            self.advance()
        return is_next

    def demand(self, token: str, context: str) -> None:
        """Goes past a token. Raises ForeignRefusal if another one is next."""
        if not self.accept(token):
            raise self.refuse("unexpected_token", f"expected {token} {context}, found {self.show_next()}")

    def take_name(self, described: str) -> ForeignName:
        """Returns the next word, and goes past it. Raises ForeignRefusal if no word is next."""
        if self.kind != "word":
            raise self.refuse("missing_name", f"expected {described}, found {self.show_next()}")
        name = self.at
        self.advance()
        return name

    def show_next(self) -> str:
        """Returns the next token as messages show it."""
        return f"'{show_name(self.token)}'" if self.token else "the end of the file"

    def refuse(self, code: str, message: str) -> ForeignRefusal:
        """Returns the refusal at the next token."""
        return ForeignRefusal(self.at, code, message)


def read_parameter_type(tokens: ForeignTokens) -> str:
    """Reads the type of a parameter: `string`, `list<string>`, `list<map<any>>`."""
    containers: list[str] = []
    of_type = tokens.take_name("the type of the parameter").text
    while tokens.accept("<"):
        containers.append(of_type)
        of_type = tokens.take_name("the type of the elements").text
    for _ in containers:
        tokens.demand(">", "behind the type of the elements")
    return "<".join([*containers, of_type]) + ">" * len(containers)


class _OpenExpression:
    """Represents what was read of an expression, or of one in brackets."""

    def __init__(self, at: ForeignName) -> None:
        self.at = at
        self.operator = ""
        self.value: Rewrite | None = None

    def add(self, operand: Rewrite, operators: Mapping[str, RewriteKind]) -> None:
        kind = operators.get(self.operator)
        if self.value is None or kind is None:
            self.value = operand
        elif self.value.kind == kind != "exclusion":
            self.value.operands.append(operand)
        else:
            self.value = Rewrite(kind, self.at, (), [self.value, operand])


def is_short_enough(text: str, noun: str, at: ForeignName, faults: Faults) -> bool:
    """Returns whether a model (`a model`) has no more characters than a model of ours may have, and reports it if it
    has more."""
    if len(text) <= MAX_MODEL_CHARACTERS:
        return True
    message = f"{noun} has at most {MAX_MODEL_CHARACTERS} characters; this one has {len(text)}"
    faults.report(at, "model_too_large", message)
    return False


class StatementReader:
    """Reads the statements of the text of a model. After a fault, it goes on at the next line that begins like one."""

    keywords: Collection[str] = ()
    operators: Mapping[str, RewriteKind] = {}
    ends_with_line = False
    """Says whether a new line ends an expression, except in brackets."""

    def __init__(self, model: ForeignModel, faults: Faults, tokens: ForeignTokens) -> None:
        self._model = model
        self._faults = faults
        self._tokens = tokens

    def read_all(self) -> None:
        tokens = self._tokens
        while tokens.token and self._faults.errors < MAX_FAULTS:
            try:
                self._read_statement()
            except ForeignRefusal as refusal:
                self._faults.report(refusal.at, refusal.code, refusal.message)
                while tokens.token and not (tokens.starts_line and tokens.token in self.keywords):
                    tokens.advance()

    def _read_statement(self) -> None:
        raise NotImplementedError

    def _read_expression(self) -> Rewrite:
        """Returns the rewrite of an expression. Raises ForeignRefusal."""
        tokens, opened = self._tokens, [_OpenExpression(self._tokens.at)]
        while True:
            if tokens.token == "(":
                opened.append(_OpenExpression(tokens.at))
                tokens.advance()
                continue
            if self._is_behind_line(opened):
                raise tokens.refuse("unexpected_token", "expected the name of a relation, [ or ( before the line ends")
            opened[-1].add(self._read_operand(), self.operators)
            while len(opened) > 1 and tokens.accept(")"):
                closed = opened.pop().value
                assert closed is not None
                opened[-1].add(closed, self.operators)
            if tokens.token not in self.operators or self._is_behind_line(opened):
                break
            before, opened[-1].operator = opened[-1].operator, tokens.token
            self._read_operator(before)
        value = opened[0].value
        if len(opened) > 1 or value is None:
            raise tokens.refuse("unexpected_token", f"expected ) or an operator, found {tokens.show_next()}")
        return value

    def _is_behind_line(self, opened: Sequence[_OpenExpression]) -> bool:
        return self.ends_with_line and len(opened) == 1 and self._tokens.starts_line

    def _read_operand(self) -> Rewrite:
        raise NotImplementedError

    def _read_operator(self, before: str) -> None:
        """Reads an operator, given the one before it in the same brackets, or the empty text."""
        raise NotImplementedError

    def _read_restrictions(self, noun: str, separator: str) -> list[Restriction]:
        """Returns the direct subjects of a relation; `noun` is what their types are called."""
        restrictions = [self._read_restriction(noun)]
        while self._tokens.accept(separator):
            restrictions.append(self._read_restriction(noun))
        return restrictions

    def _read_restriction(self, noun: str) -> Restriction:
        tokens = self._tokens
        name = tokens.take_name(f"the name of a {noun}")
        relation = None
        is_wildcard = tokens.accept(":")
        if is_wildcard:
            tokens.demand("*", "behind :")
        elif tokens.accept("#"):
            relation = self._read_userset()
        condition, expires = self._read_limits() if tokens.accept("with") else (None, False)
        return Restriction(name, relation, is_wildcard, condition, expires=expires)

    def _read_userset(self) -> ForeignName | None:
        return self._tokens.take_name("the name of a relation")

    def _read_limits(self) -> tuple[ForeignName | None, bool]:
        """Returns a condition, and whether there is an expiration."""
        raise NotImplementedError

    def _read_condition(self, noun: str, colon: str, description: str = "", *, requires_all: bool) -> None:
        """Reads a condition or caveat behind its keyword; `colon` is what stands behind the name of a parameter."""
        tokens = self._tokens
        name = tokens.take_name(f"the name of a {noun}")
        self._model.unread.add(name.text)
        tokens.demand("(", f"behind the name of the {noun}")
        parameters: dict[str, str] = {}
        places: dict[str, ForeignName] = {}
        while not tokens.accept(")"):
            parameter = tokens.take_name("the name of a parameter")
            if colon:
                tokens.demand(colon, "behind the name of the parameter")
            of_type = read_parameter_type(tokens)
            if parameter.text in parameters:
                report_repeated_parameter(parameter, self._faults)
            parameters[parameter.text] = of_type
            places[parameter.text] = parameter
            if tokens.token != ")":
                tokens.demand(",", "between parameters")
        begin, end = tokens.offset + 1, find_cel_end(tokens.text, tokens.offset + 1)
        if tokens.token != "{" or end is None:
            raise tokens.refuse("unexpected_token", f"expected the expression of the {noun} in {{ }}")
        written = tokens.text[begin:end]
        at = tokens.locate(begin + len(written) - len(written.lstrip()))
        tokens.skip_to(end + 1)
        if name.text in self._model.conditions:
            raise ForeignRefusal(name, "repeated_declaration", f"{noun} {show_name(name.text)} is declared twice")
        self._model.conditions[name.text] = ForeignCondition(
            name=name,
            parameters=parameters,
            expression=written.strip(),
            at=at,
            description=description,
            margin=tokens.margin,
            places=places,
            requires_all=requires_all,
        )
        self._model.unread.discard(name.text)
