"""Translates expressions of CEL while it reads them, without recursion and without a tree.

It is an operator-precedence parser with a stack of its own: what is complete becomes a Piece at once, because its types
are known by then. The macros over lists become functions with a closure, whose element is `#`; an inner closure hides
it, and an outer element that is used there is declared as a variable `$name` first.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from magistrate.engine.importers.cel import operations
from magistrate.engine.importers.cel.operations import LEVELS
from magistrate.engine.importers.cel.pieces import (
    AND,
    ANY,
    NULL,
    OPEN,
    UNARY,
    CelRefusal,
    Piece,
    call,
    describe_type,
    element_of,
    is_list,
    is_map,
    join_types,
)
from magistrate.engine.importers.cel.tokens import CelToken, read_cel_string, read_cel_tokens
from magistrate.engine.policy.tokens import render_string

References = Callable[[str, int], Piece]
"""Returns what becomes of a parameter, given its name and where it was written."""

_MACROS: Mapping[str, tuple[str, str]] = {
    "exists": ("some", "bool"),
    "all": ("every", "bool"),
    "exists_one": ("one", "bool"),
    "filter": ("filter", "list"),
    "map": ("map", "list"),
}
"""Maps the macros to functions of the policy language, and the kind of their results."""

_CONSTANTS = {"true": ("true", "bool"), "false": ("false", "bool"), "null": ("nil", NULL)}
_NO_PIECE = Piece("", ANY, 0)
_WITH_COMMAS = frozenset({"list", "map", "function", "method", "macro"})
_LARGEST = 2**63
_MAX_DIGITS = 100


@dataclass(slots=True)
class _Variable:
    """Represents the element of a macro: `alias` is what it is called in the closures within."""

    name: str
    type: str
    alias: str
    is_declared: bool = False


class _Operators:
    """Represents `a + b -`, waiting for the last operand; of `&&` and `||` all operands are kept."""

    def __init__(self, sign: CelToken, operand: Piece) -> None:
        self.sign = sign
        self.level = LEVELS[sign.text]
        self.operands = [operand]

    def extend(self, sign: CelToken, operand: Piece) -> None:
        self.operands = [*self.operands, operand] if self.level <= AND else [self.complete(operand)]
        self.sign = sign

    def complete(self, operand: Piece) -> Piece:
        if self.level <= AND:
            return operations.connect(self.sign.text, [*self.operands, operand])
        return operations.combine(self.sign.text, self.operands[0], operand, self.sign.offset)


class _Prefix:
    """Represents `!` or `-`, waiting for its operand."""

    level = UNARY

    def __init__(self, sign: CelToken) -> None:
        self.sign = sign

    def complete(self, operand: Piece) -> Piece:
        if self.sign.text == "!":
            return operations.negate_bool(operand)
        return operations.negate_number(operand, self.sign.offset)


@dataclass(slots=True)
class _Conditional:
    """Represents `a ?`, waiting for the operand before the colon, and then for the one behind it."""

    condition: Piece
    then: Piece | None = None
    level: int = OPEN


@dataclass(slots=True)
class _Bracket:
    """Represents an open bracket and what it belongs to: a `group`, a `list`, a `map`, an `index`, the arguments of a
    `function`, a `method`, a `macro` or `has`, or the `whole` expression."""

    kind: str
    token: CelToken
    end: str = ")"
    base: Piece = _NO_PIECE
    name: str = ""
    variable: _Variable | None = None
    children: list[Piece] = field(default_factory=list)
    keys: list[Piece] = field(default_factory=list)
    level: int = OPEN

    @property
    def may_end(self) -> bool:
        """Returns whether the bracket may be closed where another operand could stand."""
        if self.kind in ("function", "method"):
            return not self.children
        return self.kind == "list" or (self.kind == "map" and len(self.keys) == len(self.children))


_Frame = _Operators | _Prefix | _Conditional | _Bracket


def translate_cel(expression: str, parameters: Mapping[str, str], references: References) -> Piece:
    """Returns the expression as one of the policy language. `parameters` has their types. Raises CelRefusal."""
    return _CelTranslator(read_cel_tokens(expression), parameters, references).translate()


class _CelTranslator:
    def __init__(self, tokens: list[CelToken], parameters: Mapping[str, str], references: References) -> None:
        self._tokens = tokens
        self._place = 0
        self._parameters = parameters
        self._references = references
        self._variables: list[_Variable] = []
        self._stack: list[_Frame] = [_Bracket("whole", tokens[0], "")]
        self._operand: Piece | None = None
        """Holds the operand that is complete up to here; None where one has to begin."""

    def translate(self) -> Piece:
        while True:
            token = self._tokens[self._place]
            self._place += 1
            if self._operand is None:
                self._begin_operand(token)
            elif not self._continue_operand(token, self._operand):
                return self._operand

    def _peek(self, ahead: int = 0) -> CelToken:
        return self._tokens[min(self._place + ahead, len(self._tokens) - 1)]

    def _top(self) -> _Bracket:
        top = self._stack[-1]
        assert isinstance(top, _Bracket)
        return top

    # Where an operand begins

    def _begin_operand(self, token: CelToken) -> None:
        if token.kind == "string":
            text = read_cel_string(token)
            self._operand = Piece(render_string(text), "string", token.offset, literal=text)
        elif token.kind == "double":
            self._operand = Piece(token.text, "double", token.offset, literal=float(token.text))
        elif token.kind == "integer":
            self._operand = self._read_integer(token)
        elif token.kind == "word":
            self._read_word(token)
        elif token.text in ("!", "-"):
            self._stack.append(_Prefix(token))
        elif token.text in ("(", "[", "{"):
            kind, end = {"(": ("group", ")"), "[": ("list", "]"), "{": ("map", "}")}[token.text]
            self._stack.append(_Bracket(kind, token, end))
        else:
            self._end_early(token)

    def _read_integer(self, token: CelToken) -> Piece:
        is_unsigned = token.text[-1] in "uU"
        digits = token.text.rstrip("uU")
        is_hexadecimal = digits.startswith("0x")
        value = int(digits, 16 if is_hexadecimal else 10) if len(digits) <= _MAX_DIGITS else _LARGEST + 1
        is_negative = isinstance(self._stack[-1], _Prefix)
        if value >= _LARGEST + (is_negative and not is_unsigned):
            raise CelRefusal(f"the number {token.text[:40]} cannot be expressed", token.offset)
        return Piece(str(value), "uint" if is_unsigned else "int", token.offset, literal=value)

    def _read_word(self, token: CelToken) -> None:
        if token.text in _CONSTANTS:
            text, of_type = _CONSTANTS[token.text]
            self._operand = Piece(text, of_type, token.offset)
        elif self._peek().text == "(":
            self._place += 1
            self._stack.append(_Bracket("has" if token.text == "has" else "function", token, name=token.text))
        else:
            self._operand = self._refer(token)

    def _refer(self, token: CelToken) -> Piece:
        """Returns the element of a macro, or a parameter. Raises CelRefusal."""
        for place in range(len(self._variables) - 1, -1, -1):
            variable = self._variables[place]
            if variable.name == token.text:
                if place == len(self._variables) - 1:
                    return Piece("#", variable.type, token.offset)
                variable.is_declared = True
                return Piece(variable.alias, variable.type, token.offset)
        if token.text not in self._parameters:
            raise CelRefusal(f"'{token.text}' cannot be expressed", token.offset)
        return self._references(token.text, token.offset)

    def _end_early(self, token: CelToken) -> None:
        """Handles a closing bracket where an operand could stand: that of nothing, or behind the last comma."""
        top = self._stack[-1]
        if token.kind == "end":
            raise CelRefusal("ends too early", token.offset)
        if not isinstance(top, _Bracket) or top.end != token.text or not top.may_end:
            raise CelRefusal(f"'{token.text}' cannot be expressed", token.offset)
        self._close()

    # Behind an operand

    def _continue_operand(self, token: CelToken, operand: Piece) -> bool:
        """Returns whether the expression goes on."""
        if token.text == "." and token.kind == "sign":
            self._read_member(operand)
        elif token.text == "[":
            self._stack.append(_Bracket("index", token, "]", operand))
            self._operand = None
        elif token.text in LEVELS and token.kind in ("sign", "word"):
            self._operate(token)
        elif token.text == "?":
            self._stack.append(_Conditional(self._complete(OPEN)))
            self._operand = None
        else:
            return self._end_operand(token)
        return True

    def _complete(self, level: int) -> Piece:
        """Returns the operand with all operators around it that bind tighter than the level."""
        operand = self._operand
        assert operand is not None
        while self._stack[-1].level > level:
            frame = self._stack.pop()
            assert isinstance(frame, _Operators | _Prefix)
            operand = frame.complete(operand)
        return operand

    def _operate(self, sign: CelToken) -> None:
        level = LEVELS[sign.text]
        operand = self._complete(level)
        top = self._stack[-1]
        if isinstance(top, _Operators) and top.level == level:
            top.extend(sign, operand)
        else:
            self._stack.append(_Operators(sign, operand))
        self._operand = None

    def _end_operand(self, token: CelToken) -> bool:
        """Handles a comma, a colon, a closing bracket and the end; returns whether the expression goes on."""
        operand = self._complete(OPEN)
        top = self._stack[-1]
        while isinstance(top, _Conditional) and top.then is not None:
            operand = operations.choose(top.condition, top.then, operand)
            self._stack.pop()
            top = self._stack[-1]
        self._operand = None
        if isinstance(top, _Conditional):
            if token.text != ":":
                raise CelRefusal("expected ':' and another value", token.offset)
            top.then = operand
            return True
        return self._end_child(self._top(), operand, token)

    def _end_child(self, top: _Bracket, operand: Piece, token: CelToken) -> bool:
        """Adds a key, an element or an argument to a bracket, and closes it if the token does."""
        is_key = top.kind == "map" and len(top.keys) == len(top.children)
        if is_key and token.text != ":":
            raise CelRefusal("expected ':' and a value", token.offset)
        if is_key:
            top.keys.append(operand)
            return True
        top.children.append(operand)
        if token.text == "," and top.kind in _WITH_COMMAS:
            return True
        if token.kind == "end" and top.kind == "whole":
            self._operand = operand
            return False
        if token.text != top.end or token.kind == "end":
            raise CelRefusal(f"'{token.text}' closes nothing" if token.text else "ends too early", token.offset)
        self._close()
        return True

    def _read_member(self, base: Piece) -> None:
        """Reads `.name`, `.name(` and `.exists(x,` behind an operand."""
        name = self._peek()
        if name.kind != "word":
            raise CelRefusal(f"'.{name.text}' cannot be expressed", name.offset)
        self._place += 1
        if self._peek().text != "(":
            self._operand = operations.select_member(base, name.text, name.offset)
            return
        self._place += 1
        self._operand = None
        if name.text not in _MACROS:
            self._stack.append(_Bracket("method", name, base=base, name=name.text))
            return
        variable = self._peek()
        if variable.kind != "word" or self._peek(1).text != ",":
            raise CelRefusal(f"'.{name.text}' takes the name of a variable and an expression", variable.offset)
        self._place += 2
        bracket = _Bracket("macro", name, base=base, name=name.text)
        bracket.variable = _Variable(variable.text, self._find_element_type(base), self._choose_alias(variable.text))
        self._variables.append(bracket.variable)
        self._stack.append(bracket)

    def _find_element_type(self, base: Piece) -> str:
        if is_map(base.type):
            return "string"
        if not is_list(base.type) and base.type != ANY:
            raise CelRefusal(f"the elements of {describe_type(base.type)} cannot be expressed", base.offset)
        return element_of(base.type)

    def _choose_alias(self, name: str) -> str:
        taken = {variable.alias for variable in self._variables}
        alias, number = f"${name}", 1
        while alias in taken or alias == "$env":
            number += 1
            alias = f"${name}{number}"
        return alias

    # What a bracket becomes

    def _close(self) -> None:
        bracket = self._top()
        self._stack.pop()
        self._operand = self._complete_bracket(bracket)

    def _complete_bracket(self, bracket: _Bracket) -> Piece:
        children, offset = bracket.children, bracket.token.offset
        match bracket.kind:
            case "list":
                texts = [child.text for child in children]
                return self._join_elements(bracket, "list", f"[{', '.join(texts)}]")
            case "map":
                return self._complete_map(bracket)
            case "index":
                return operations.take_index(bracket.base, children[0], offset)
            case "function":
                return operations.call_function(bracket.name, children, offset)
            case "method":
                return operations.call_method(bracket.base, bracket.name, children, offset)
            case "has":
                return operations.test_presence(children[0], offset)
            case "macro":
                return self._complete_macro(bracket)
        [operand] = children  # of a group
        return operand

    def _join_elements(self, bracket: _Bracket, kind: str, text: str) -> Piece:
        element = join_types(child.type for child in bracket.children)
        if not bracket.children or element == NULL:
            element = ANY
        can_fail = any(child.can_fail for child in bracket.children)
        return Piece(text, f"{kind}<{element}>", bracket.token.offset, can_fail=can_fail)

    def _complete_map(self, bracket: _Bracket) -> Piece:
        keys = [key.literal for key in bracket.keys]
        for key in bracket.keys:
            if not isinstance(key.literal, str) or keys.count(key.literal) > 1:
                raise CelRefusal("a key that is no string, or is repeated, cannot be expressed", key.offset)
        entries = [f"{key.text}: {value.text}" for key, value in zip(bracket.keys, bracket.children, strict=True)]
        return self._join_elements(bracket, "map", f"{{{', '.join(entries)}}}")

    def _complete_macro(self, bracket: _Bracket) -> Piece:
        base, variable = bracket.base, self._variables.pop()
        *conditions, body = bracket.children
        if len(conditions) > (bracket.name == "map"):
            raise CelRefusal(f"'.{bracket.name}' has too many arguments", bracket.token.offset)
        name, kind = _MACROS[bracket.name]
        source = base if is_list(base.type) else call("elements", ANY, base, can_fail=base.type == ANY)
        predicates = conditions if name == "map" else [body]
        for predicate in predicates:
            operations.demand_bool(predicate, f".{bracket.name}")
        for condition in conditions:
            source = _over(source, "filter", ANY, variable, body=condition)
        of_type = kind if kind != "list" else f"list<{body.type if name == 'map' else variable.type}>"
        if body.type == NULL:
            raise CelRefusal("a list of null cannot be expressed", body.offset)
        return _over(source, name, of_type, variable, body=body)


def _over(source: Piece, name: str, of_type: str, variable: _Variable, body: Piece) -> Piece:
    """Returns a function with a closure over the elements."""
    declared = f"let {variable.alias} = #; " if variable.is_declared else ""
    can_fail = source.can_fail or body.can_fail or (name != "map" and body.type == ANY)
    return Piece(f"{name}({source.text}, {{{declared}{body.text}}})", of_type, source.offset, can_fail=can_fail)
