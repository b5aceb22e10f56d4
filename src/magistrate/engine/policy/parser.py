"""Parses the tokens of a policy to its root: an operator-precedence parser with a stack of its own.

Incomplete parts are on the stack, so that no nesting is too deep for it. Operators bind the tighter the higher their
level. A prefix operator may follow `??` and `**`, which bind tighter than it does, and takes there the same operand as
anywhere: `a ?? -b ** c` is `a ?? (-(b ** c))`.

No part is compiled before the token after it has turned out to be one that may follow: of two mistakes, the one
reported is the first in reading order.

The tables at the end say which tokens may stand where. A new operator is a row in LEVELS, and one in the tokenizer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from magistrate.engine.policy import access, compiler
from magistrate.engine.policy.compiler import Closure
from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import PolicyNode, literal_node
from magistrate.engine.policy.operations import Sign
from magistrate.engine.policy.stack import (
    COALESCING,
    COMPARISON,
    LEVELS,
    NEGATION,
    NO_STEPS,
    OPEN,
    POWER,
    PRODUCT,
    SIGNED,
    Begun,
    Bracket,
    Conditional,
    Declaration,
    Make,
    Operators,
    Prefix,
)
from magistrate.engine.policy.tokens import END, WORDS, Token, read_tokens, refuse_token

KEYS = frozenset({"name", "constant", "string", "integer", "decimal"})
"""Lists the kinds that can be keys and can begin an expression, too."""


def parse(text: str, environment: Environment) -> PolicyNode:
    """Returns the root of a policy. Raises Refusal for the first thing that is wrong with it."""
    return Parser(environment).parse(text)


@dataclass(slots=True, eq=False)
class Parser:
    """Parses one policy. `_stack` has the incomplete parts, the innermost last. Of the current operand `_base` and
    `_steps` are complete, and `_make` makes the next part of it from `_children`, once the token after that is known.

    `_expected` maps the kinds of the tokens that may come next to their handlers. `_pending` begins the scope of a
    closure or of `let`, once the token after that is known, too. `_ended` is the level of the part that was completed
    last before the current operator, OPEN if it completed none. `_root` is the whole policy, when it is complete."""

    _environment: Environment
    _expected: "Mapping[str, Handler]" = field(default_factory=lambda: _OPERAND)
    _pending: Callable[[], None] | None = None
    _ended: int = OPEN
    _root: PolicyNode | None = None
    _stack: list[Begun] = field(default_factory=list)
    _make: Make = PolicyNode
    _children: tuple[Any, ...] = ()
    _base: PolicyNode | None = None
    _steps: list[access.Step] = field(default_factory=lambda: NO_STEPS)

    def parse(self, text: str) -> PolicyNode:
        self._push("whole", Token("whole", "", 0))
        for token in read_tokens(text):
            handle = self._expected.get(token.kind)
            if handle is None:
                raise refuse_token(token)
            handle(self, token)
        assert self._root is not None
        return self._root

    # Where an operand may begin

    def begin(self, token: Token) -> None:
        self._make, self._children = _PRIMARY[token.kind], (token,)
        self._expected = _BEHIND_OPERAND
        self._may_become_key(token)

    def begin_variable(self, token: Token) -> None:
        self._make, self._children = compiler.variable, (token, self._environment)
        self._expected = _BEHIND_OPERAND
        self._may_become_key(token)

    def begin_item(self, token: Token) -> None:
        self._make, self._children = compiler.item, (token, self._environment)
        self._expected = _BEHIND_ITEM

    def point(self, token: Token) -> None:
        """Handles `#index`."""
        self._stand_for(compiler.item_pointer, self._children[0], token, self._environment)

    def begin_bracket(self, token: Token) -> None:
        kind = _BRACKETS[token.kind]
        if kind == "map" and self._stack[-1].kind in ("body", "fold"):
            kind = "closure"  # or a map: the next token decides
        self._push(kind, token)
        self._expected = _KEY if kind == "map" else _OPERAND

    def begin_item_member(self, token: Token) -> None:
        self._make, self._children = compiler.item_member, (self._environment, token)
        self._expected = _MEMBER

    def sign(self, token: Token) -> None:
        self._stack.append(Prefix(SIGNED, token))

    def negate(self, token: Token) -> None:
        if self._stack[-1].level in (PRODUCT, SIGNED, POWER):
            raise refuse_token(token)
        self._stack.append(Prefix(NEGATION, token))

    def end_early(self, token: Token) -> None:
        """Handles a closing bracket, or a colon, where an operand could stand."""
        top = self._stack[-1]
        end = _EARLY_ENDS.get((top.kind, token.kind))
        if end is None:
            raise refuse_token(token)
        end(self, top, token)

    def take_word_as_key(self, token: Token) -> None:
        """Handles `{in: 1}`: where a closure could stand, a word that cannot begin an expression."""
        top = self._stack[-1]
        if top.kind != "closure" or not token.is_word:
            raise refuse_token(token)
        self._reread_as_map(token)
        self._expected = _COLON

    def take_operand_as_key(self, token: Token) -> None:
        """Handles `{a: 1}`, which seemed to be a closure."""
        if token.kind != ":":
            raise refuse_token(token)
        self._reread_as_map(self._children[0])
        self.begin_value(token)

    def begin_scope(self, token: Token) -> None:
        """Handles the first token of the scope of a closure or of `let`."""
        assert self._pending is not None
        self._pending()
        self._expected = _OPERAND  # a sign does not change it
        _OPERAND[token.kind](self, token)

    # After a part of an operand

    def access(self, token: Token) -> None:
        self._join_child()
        self._make, self._children = access.member if token.kind == "." else access.optional_member, ()
        self._expected = _MEMBER

    def index(self, token: Token) -> None:
        self._join_child()
        self._push("index", token)
        self._expected = _OPERAND

    def call(self, token: Token) -> None:
        kind = _CALLS.get(self._make)
        if kind is None:
            raise refuse_token(token)
        _, dot, name = self._children if kind == "item method" else (None, None, self._children[0])
        self._push("function" if kind == "call" and compiler.takes_closure(name) else kind, name)
        self._top_bracket().key = dot
        self._expected = _OPERAND

    def pipe(self, token: Token) -> None:
        """Handles `a | f()`, which is `f(a)`."""
        self._children = (self._complete(self._take_operand(), OPEN),)
        self._expected = _PIPED

    def name_pipe(self, token: Token) -> None:
        self._children = (*self._children, token)
        self._expected = _PIPED_CALL

    def begin_piped(self, token: Token) -> None:
        operand, name = self._children
        takes_closure = compiler.takes_closure(name)
        self._push("function" if takes_closure else "call", name)
        if takes_closure:
            self.begin_body(self._top_bracket(), operand)
        else:
            self._top_bracket().children.append(operand)
            self._expected = _FIRST_PIPED

    def operate(self, token: Token) -> None:
        level = LEVELS[token.kind]
        sign = Sign(token.text, token.offset)
        operand = self._complete(self._take_operand(), level)
        top = self._stack[-1]
        # `a ** b ** c` is `a ** (b ** c)`; of all other levels, operators are applied from left to right.
        if top.level == level != POWER and isinstance(top, Operators):
            top.operands.append(operand)
            top.signs.append(sign)
        else:
            if self._ended == COALESCING and self._environment.mixed_at is None:
                self._environment.mixed_at = token.offset
            self._stack.append(Operators(level, [operand], [sign]))
        self._expected = _OPERAND

    def negate_relation(self, token: Token) -> None:
        is_lost = self._stack[-1].level >= COMPARISON
        self.operate(Token("relation", token.text, token.offset))
        top = self._stack[-1]
        assert isinstance(top, Operators)
        top.signs[-1] = Sign("", token.offset, is_negated=True, is_lost=is_lost)
        self._expected = _RELATION

    def name_relation(self, token: Token) -> None:
        top = self._stack[-1]
        assert isinstance(top, Operators)
        sign = top.signs[-1]
        top.signs[-1] = Sign(token.text, sign.offset, is_negated=True, is_lost=sign.is_lost)
        self._expected = _OPERAND

    def choose(self, token: Token) -> None:
        self._stack.append(Conditional(self._complete(self._take_operand(), OPEN), token.offset))
        self._expected = _OPERAND

    def end(self, token: Token) -> None:
        """Handles a closing bracket, a comma, a colon or the end."""
        top = self._stack[-1]
        if top.kind == "closure" and token.kind != "}" and self._may_be_key(top):
            self.take_operand_as_key(token)
            return
        operand = self._complete(self._take_operand(), OPEN)
        while (top := self._stack[-1]).kind in ("otherwise", "scope"):
            self._stack.pop()
            operand = self._complete(top.complete(operand), OPEN)
        end = _ENDS.get((top.kind, token.kind))
        if end is None:
            raise refuse_token(token)
        end(self, top, operand)

    # Declarations

    def begin_declaration(self, token: Token) -> None:
        if self._stack[-1].level != OPEN:
            raise refuse_token(token)
        self._expected = _DECLARED

    def name_declaration(self, token: Token) -> None:
        self._stack.append(Declaration(token, self._environment))
        self._expected = _ASSIGNED

    def assign(self, token: Token) -> None:
        self._expected = _OPERAND

    def end_declaration(self, top: Declaration, operand: PolicyNode) -> None:
        self._pending = partial(top.take_value, operand)
        self._expected = _SCOPED_OPERAND

    # Members, keys and arguments

    def take_member(self, token: Token) -> None:
        if not token.is_word:
            raise refuse_token(token)
        self._stand_for(self._make, *self._children, token)

    def take_key(self, token: Token) -> None:
        if token.kind in ("or", "and") and not token.is_word:
            raise refuse_token(token)
        self._top_bracket().key = token
        self._expected = _COLON

    def begin_key(self, token: Token) -> None:
        self._push("key", token)
        self._expected = _OPERAND

    def begin_value(self, token: Token) -> None:
        top = self._top_bracket()
        top.key = compiler.key(top.key)
        self._expected = _OPERAND

    def end_map(self, token: Token) -> None:
        bracket = self._pop()
        self._stand_for(compiler.map_literal, bracket.token, bracket.children)

    def end_arguments(self, token: Token) -> None:
        bracket = self._pop()
        if bracket.kind == "call":
            self._stand_for(compiler.call, bracket.token, bracket.children, self._environment)
        elif bracket.kind == "item method":
            self._stand_for(compiler.item_method, bracket.key, bracket.token, bracket.children, self._environment)
        else:
            make = access.method if bracket.kind == "method" else access.optional_method
            self._stand_for(make, bracket.token, bracket.children)

    def begin_body(self, top: Bracket, operand: PolicyNode) -> None:
        """Handles the comma after the list of a function that takes a closure."""
        self._pending = partial(compiler.begin_closure, top.token, operand, self._environment)
        top.children.append(operand)
        top.kind = "fold" if top.token.text == "reduce" else "body"
        self._expected = _SCOPED_OPERAND

    def begin_initial(self, top: Bracket, operand: PolicyNode) -> None:
        """Handles the comma after the closure of `reduce`."""
        top.children.append(operand)
        self._environment.end_closure()
        top.kind = "initial"
        self._expected = _OPERAND

    def begin_initial_behind_closure(self, token: Token) -> None:
        top = self._top_bracket()
        if top.kind != "fold":
            raise refuse_token(token)
        self.begin_initial(top, top.children.pop())

    def end_body(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append(operand)
        self.end_function(top.token)

    def end_function(self, token: Token) -> None:
        bracket = self._pop()
        if bracket.kind != "initial":
            self._environment.end_closure()
        self._stand_for(compiler.call_with_closure, bracket.token, bracket.children)

    # Operands that end in brackets

    def end_whole(self, top: Bracket, operand: PolicyNode) -> None:
        self._root = operand

    def end_group(self, top: Bracket, operand: PolicyNode) -> None:
        self._pop()
        self._stand_for(_itself, operand)
        self._may_become_key(operand)

    def end_key(self, top: Bracket, operand: PolicyNode) -> None:
        self._pop()
        self._top_bracket().key = operand
        self._expected = _COLON

    def next_element(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append(operand)
        self._expected = _OPERAND

    def end_elements(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append(operand)
        self.end_list(top, top.token)

    def end_list(self, top: Bracket, token: Token) -> None:
        self._pop()
        self._stand_for(compiler.list_literal, top.token, top.children)

    def next_entry(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append((top.key, operand))
        self._expected = _KEY

    def end_entries(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append((top.key, operand))
        self.end_map(top.token)

    def end_last_argument(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append(operand)
        self.end_arguments(top.token)

    def end_closure(self, top: Bracket, operand: PolicyNode) -> None:
        self._pop()
        self._top_bracket().children.append(Closure(operand))
        self._expected = _BEHIND_CLOSURE

    def end_index(self, top: Bracket, operand: PolicyNode) -> None:
        self._pop()
        self._stand_for(access.element, top.token, operand)

    def take_start(self, top: Bracket, operand: PolicyNode) -> None:
        top.kind = "section"
        top.children.append(operand)
        self._expected = _OPERAND

    def leave_start_out(self, top: Bracket, token: Token) -> None:
        top.kind = "section"
        top.children.append(None)

    def end_section(self, top: Bracket, operand: PolicyNode) -> None:
        self._pop()
        self._stand_for(access.section, top.token, *top.children, operand)

    def leave_end_out(self, top: Bracket, token: Token) -> None:
        self._pop()
        self._stand_for(access.section, top.token, *top.children, None)

    def take_then(self, top: Conditional, operand: PolicyNode) -> None:
        top.take_then(operand)
        self._expected = _OPERAND

    def leave_then_out(self, top: Conditional, token: Token) -> None:
        """Handles `a ?: b`, which is `a ? a : b`; a can only be true there."""
        top.take_then(literal_node(True, top.offset))

    def leave_arguments_out(self, top: Bracket, token: Token) -> None:
        if top.children:  # after a comma
            raise refuse_token(token)
        self.end_arguments(token)

    def end_empty_closure(self, top: Bracket, token: Token) -> None:
        self._reread_as_map(None)
        self.end_map(token)

    def take_not_as_key(self, top: Prefix, token: Token) -> None:
        """Handles `{not: 1}` where a closure could stand."""
        below = self._stack[-2]
        if below.kind != "closure" or top.sign.text != "not":
            raise refuse_token(token)
        self._stack.pop()
        self._reread_as_map(top.sign)
        self.begin_value(token)

    def _stand_for(self, make: Make, *children: Any) -> None:
        self._make, self._children = make, children
        self._expected = _BEHIND_OPERAND

    def _may_become_key(self, child: Any) -> None:
        top = self._stack[-1]
        if top.kind == "closure" and (isinstance(child, PolicyNode) or child.kind in KEYS):
            top.key = child  # type: ignore[union-attr]  # only brackets are of this kind

    def _may_be_key(self, closure: Any) -> bool:
        """Returns whether nothing but a possible key has been read since the closure began."""
        return bool(self._children) and self._children[0] is closure.key and self._make in _MAKERS_OF_KEYS

    # The stack

    def _push(self, kind: str, token: Token) -> None:
        self._stack.append(Bracket(kind, token, self._base, self._steps))
        self._base, self._steps = None, NO_STEPS

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
            self._base, self._steps = None, NO_STEPS
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


def _itself(operand: PolicyNode) -> PolicyNode:
    return operand


_MAKERS_OF_KEYS = frozenset({compiler.variable, compiler.constant, compiler.literal, _itself})

Handler = Callable[[Parser, Token], None]

_PRIMARY: Mapping[str, Make] = {
    "constant": compiler.constant,
    "integer": compiler.literal,
    "hexadecimal": compiler.literal,
    "decimal": compiler.literal,
    "string": compiler.literal,
}

_BRACKETS = {"(": "group", "[": "list", "{": "map"}
_CALLS: Mapping[Make, str] = {
    compiler.variable: "call",
    access.member: "method",
    access.optional_member: "optional method",
    compiler.item_member: "item method",
}
"""Maps what precedes an opening bracket to the kind of part that the bracket begins."""

_OPERAND: Mapping[str, Handler] = {
    **dict.fromkeys(_PRIMARY, Parser.begin),
    "name": Parser.begin_variable,
    "#": Parser.begin_item,
    "let": Parser.begin_declaration,
    **dict.fromkeys(_BRACKETS, Parser.begin_bracket),
    ".": Parser.begin_item_member,
    "sign": Parser.sign,
    **dict.fromkeys(("not", "!"), Parser.negate),
    **dict.fromkeys(("or", "and", "relation"), Parser.take_word_as_key),
    **dict.fromkeys((")", "]", "}", ":"), Parser.end_early),
}
_SCOPED_OPERAND: Mapping[str, Handler] = {
    **_OPERAND,
    **dict.fromkeys((*_PRIMARY, *_BRACKETS, "name", "#", "let", ".", "sign", "not", "!"), Parser.begin_scope),
}
_BEHIND_OPERAND: Mapping[str, Handler] = {
    **dict.fromkeys((".", "?."), Parser.access),
    "[": Parser.index,
    "(": Parser.call,
    **dict.fromkeys(LEVELS, Parser.operate),
    "not": Parser.negate_relation,
    "?": Parser.choose,
    "|": Parser.pipe,
    **dict.fromkeys((")", "]", "}", ",", ":", ";", END), Parser.end),
}
_BEHIND_ITEM: Mapping[str, Handler] = {**_BEHIND_OPERAND, "name": Parser.point}
_RELATION: Mapping[str, Handler] = dict.fromkeys(("relation", "comparison"), Parser.name_relation)
_PIPED: Mapping[str, Handler] = {"name": Parser.name_pipe}
_PIPED_CALL: Mapping[str, Handler] = {"(": Parser.begin_piped}
_FIRST_PIPED: Mapping[str, Handler] = {**_OPERAND, ")": Parser.end_arguments}
_DECLARED: Mapping[str, Handler] = {"name": Parser.name_declaration}
_ASSIGNED: Mapping[str, Handler] = {"=": Parser.assign}
_MEMBER: Mapping[str, Handler] = dict.fromkeys(WORDS, Parser.take_member)
_KEY: Mapping[str, Handler] = {
    **dict.fromkeys(WORDS | KEYS, Parser.take_key),
    "(": Parser.begin_key,
    "}": Parser.end_map,
}
_COLON: Mapping[str, Handler] = {":": Parser.begin_value}
_BEHIND_CLOSURE: Mapping[str, Handler] = {
    ",": Parser.begin_initial_behind_closure,
    ")": Parser.end_function,
}

_ENDS: Mapping[tuple[str, str], Callable[[Parser, Any, PolicyNode], None]] = {
    ("whole", END): Parser.end_whole,
    ("group", ")"): Parser.end_group,
    ("key", ")"): Parser.end_key,
    ("list", ","): Parser.next_element,
    ("list", "]"): Parser.end_elements,
    ("map", ","): Parser.next_entry,
    ("map", "}"): Parser.end_entries,
    ("call", ","): Parser.next_element,
    ("call", ")"): Parser.end_last_argument,
    **dict.fromkeys((("method", ","), ("optional method", ","), ("item method", ",")), Parser.next_element),
    **dict.fromkeys((("method", ")"), ("optional method", ")"), ("item method", ")")), Parser.end_last_argument),
    ("function", ","): Parser.begin_body,
    ("body", ")"): Parser.end_body,
    ("fold", ","): Parser.begin_initial,
    ("fold", ")"): Parser.end_body,
    ("initial", ")"): Parser.end_body,
    ("let", ";"): Parser.end_declaration,
    ("closure", "}"): Parser.end_closure,
    ("index", ":"): Parser.take_start,
    ("index", "]"): Parser.end_index,
    ("section", "]"): Parser.end_section,
    ("choice", ":"): Parser.take_then,
}
"""Maps the incomplete part, and the token that comes after an operand in it, to the handler."""

_EARLY_ENDS: Mapping[tuple[str, str], Callable[[Parser, Any, Token], None]] = {
    ("list", "]"): Parser.end_list,
    ("call", ")"): Parser.leave_arguments_out,
    **dict.fromkeys((("method", ")"), ("optional method", ")"), ("item method", ")")), Parser.leave_arguments_out),
    ("closure", "}"): Parser.end_empty_closure,
    ("index", ":"): Parser.leave_start_out,
    ("section", "]"): Parser.leave_end_out,
    ("choice", ":"): Parser.leave_then_out,
    ("prefix", ":"): Parser.take_not_as_key,
}
"""Maps the incomplete part, and the token that comes where an operand could stand, to the handler."""
