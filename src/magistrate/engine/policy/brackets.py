"""Closes brackets, and declarations: what a list, a call, a closure, a slice or `let` becomes once its parts are
known."""

from functools import partial
from typing import Any

from magistrate.engine.policy import compiler
from magistrate.engine.policy.compiler import Closure
from magistrate.engine.policy.node import PolicyNode, literal_node
from magistrate.engine.policy.stack import Bracket, Conditional, Make, NextToken, Prefix, Stack
from magistrate.engine.policy.tokenizer import Token, refuse_token

KEYS = frozenset({"name", "constant", "string", "integer", "decimal"})
"""Lists the kinds that can be keys and can begin an expression, too."""


class Brackets(Stack):
    """Completes the parts on the stack that are open."""

    __slots__ = ()

    # Members, keys and arguments

    def take_member(self, token: Token) -> None:
        if not token.is_word:
            raise refuse_token(token)
        self._stand_for(self._make, *self._children, token)

    def take_key(self, token: Token) -> None:
        if token.kind in ("or", "and") and not token.is_word:
            raise refuse_token(token)
        self._top_bracket().key = token
        self._expected = NextToken.COLON

    def begin_key(self, token: Token) -> None:
        self._push("key", token)
        self._expected = NextToken.OPERAND

    def begin_value(self, token: Token) -> None:
        top = self._top_bracket()
        top.key = compiler.key(top.key)
        self._expected = NextToken.OPERAND

    def end_map(self, token: Token) -> None:
        bracket = self._pop()
        self._stand_for(compiler.map_literal, bracket.token, bracket.children)

    def next_argument(self, token: Token) -> None:
        self._expected = NextToken.OPERAND

    def end_arguments(self, token: Token) -> None:
        bracket = self._pop()
        if bracket.kind == "call":
            self._stand_for(compiler.call, bracket.token, bracket.children, self._environment)
        elif bracket.kind == "item method":
            self._stand_for(compiler.item_method, bracket.key, bracket.token, bracket.children, self._environment)
        else:
            make = compiler.method if bracket.kind == "method" else compiler.optional_method
            self._stand_for(make, bracket.token, bracket.children)

    def begin_body(self, top: Bracket, operand: PolicyNode) -> None:
        """Handles the comma after the list of a function that takes a closure."""
        self._pending = partial(compiler.begin_closure, top.token, operand, self._environment)
        top.children.append(operand)
        top.kind = "fold" if top.token.text == "reduce" else "body"
        self._expected = NextToken.SCOPED_OPERAND

    def begin_initial(self, top: Bracket, operand: PolicyNode) -> None:
        """Handles the comma after the closure of `reduce`."""
        top.children.append(operand)
        self._environment.end_closure()
        top.kind = "initial"
        self._expected = NextToken.OPERAND

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
        self._expected = NextToken.COLON

    def next_element(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append(operand)
        self._expected = NextToken.OPERAND

    def end_elements(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append(operand)
        self.end_list(top, top.token)

    def end_list(self, top: Bracket, token: Token) -> None:
        self._pop()
        self._stand_for(compiler.list_literal, top.token, top.children)

    def next_entry(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append((top.key, operand))
        self._expected = NextToken.KEY

    def end_entries(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append((top.key, operand))
        self.end_map(top.token)

    def end_last_argument(self, top: Bracket, operand: PolicyNode) -> None:
        top.children.append(operand)
        self.end_arguments(top.token)

    def end_closure(self, top: Bracket, operand: PolicyNode) -> None:
        self._pop()
        self._top_bracket().children.append(Closure(operand))
        self._expected = NextToken.BEHIND_CLOSURE

    def end_index(self, top: Bracket, operand: PolicyNode) -> None:
        self._pop()
        self._stand_for(compiler.element, top.token, operand)

    def take_start(self, top: Bracket, operand: PolicyNode) -> None:
        top.kind = "section"
        top.children.append(operand)
        self._expected = NextToken.OPERAND

    def leave_start_out(self, top: Bracket, token: Token) -> None:
        top.kind = "section"
        top.children.append(None)

    def end_section(self, top: Bracket, operand: PolicyNode) -> None:
        self._pop()
        self._stand_for(compiler.section, top.token, *top.children, operand)

    def leave_end_out(self, top: Bracket, token: Token) -> None:
        self._pop()
        self._stand_for(compiler.section, top.token, *top.children, None)

    def take_then(self, top: Conditional, operand: PolicyNode) -> None:
        top.take_then(operand)
        self._expected = NextToken.OPERAND

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
        self._expected = NextToken.BEHIND_OPERAND

    def _may_become_key(self, child: Any) -> None:
        top = self._stack[-1]
        if top.kind == "closure" and (isinstance(child, PolicyNode) or child.kind in KEYS):
            top.key = child  # type: ignore[union-attr]  # only brackets are of this kind

    def _may_be_key(self, closure: Any) -> bool:
        """Returns whether nothing but a possible key has been read since the closure began."""
        return bool(self._children) and self._children[0] is closure.key and self._make in _MAKERS_OF_KEYS


def _itself(operand: PolicyNode) -> PolicyNode:
    return operand


_MAKERS_OF_KEYS = frozenset({compiler.variable, compiler.constant, compiler.literal, _itself})
