"""What each rule of the grammar becomes. Lark calls these while it parses, innermost first; no tree is ever built.

Every method takes the parts of its rule: nodes for expressions, tokens for what is written.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lark import Token, Transformer

from magistrate.engine.policy import access, logic
from magistrate.engine.policy.functions import called
from magistrate.engine.policy.kinds import ANY, ARRAY, MAP, STRING
from magistrate.engine.policy.literals import read_decimal, read_integer, read_string
from magistrate.engine.policy.node import NOT_LITERAL, Node, Refusal, composed, literal_node, require
from magistrate.engine.policy.operations import Sign, chain, signed
from magistrate.engine.policy.predicates import TAKE_CLOSURES, over_elements
from magistrate.engine.policy.run import Fault, Run
from magistrate.engine.policy.values import time_at
from magistrate.engine.warrants import Warrant

_CONSTANTS = {"true": True, "false": False, "nil": None}
_READERS: Mapping[str, Callable[[str, int], Any]] = {
    "INTEGER": read_integer,
    "HEXADECIMAL": read_integer,
    "DECIMAL": read_decimal,
    "STRING": read_string,
}
"""By the kind of token."""


class Closure(NamedTuple):
    """An argument in braces."""

    body: Node


Entry = tuple[Node, Node]


class Compiler(Transformer[Token, Any]):
    """One method a rule, or alias, of grammar.lark. Stateless."""

    def choice(self, parts: list[Any]) -> Node:
        condition, sign, then, otherwise = parts
        return logic.choice(condition, then, otherwise, _offset(sign))

    def short_choice(self, parts: list[Any]) -> Node:
        """`a ?: b` is `a ? a : b`, and a can only be true there."""
        condition, sign, otherwise = parts
        return logic.choice(condition, literal_node(True, _offset(sign)), otherwise, _offset(sign))

    def either(self, parts: list[Any]) -> Node:
        return logic.connected(parts[::2], True, _quoted(parts[1]), _offset(parts[1]))

    def both(self, parts: list[Any]) -> Node:
        return logic.connected(parts[::2], False, _quoted(parts[1]), _offset(parts[1]))

    def comparison(self, parts: list[Any]) -> Node:
        return chain(parts[::2], parts[1::2])

    def relation(self, parts: list[Token]) -> Sign:
        return Sign(parts[-1].value, _offset(parts[0]), is_negated=len(parts) == 2)

    def interval(self, parts: list[Any]) -> Node:
        return chain(parts[::2], [Sign(token.value, _offset(token)) for token in parts[1::2]])

    sum = product = power = interval

    def negated(self, parts: list[Any]) -> Node:
        sign, operand = parts
        return logic.negated(operand, _quoted(sign), _offset(sign))

    def signed(self, parts: list[Any]) -> Node:
        sign, operand = parts
        return signed(sign.value, operand, _offset(sign))

    def coalesced(self, parts: list[Node]) -> Node:
        return logic.first_present(parts)

    def accessed(self, parts: list[Any]) -> Node:
        base, *steps = parts
        return access.accessed(base, steps)

    def member(self, parts: list[Token]) -> access.Step:
        return access.member(parts[0].value, _offset(parts[0]))

    def optional_member(self, parts: list[Token]) -> access.Step:
        return access.member(parts[1].value, _offset(parts[1]), is_optional=True)

    def method(self, parts: list[Any]) -> access.Step:
        _, name, *arguments = parts
        return access.method(name.value, _offset(name), len(arguments))

    def element(self, parts: list[Any]) -> access.Step:
        bracket, index = parts
        return access.element(index, _offset(bracket))

    def section(self, parts: list[Any]) -> access.Step:
        bracket, start, end = parts
        return access.section(start, end, _offset(bracket))

    def variable(self, parts: list[Token]) -> Node:
        """Missing ones are nil. `warrant` hides what the context calls so; `now` is hidden by it."""
        name, offset = parts[0].value, _offset(parts[0])
        if name == "warrant":
            return Node(lambda run: _members(run.warrant), MAP, offset, weight=4)  # it is made anew each time
        if name == "now":
            return Node(_now, ANY, offset)
        return Node(lambda run: run.context.get(name), ANY, offset)

    def constant(self, parts: list[Token]) -> Node:
        return literal_node(_CONSTANTS[parts[0].value], _offset(parts[0]))

    def literal(self, parts: list[Token]) -> Node:
        token = parts[0]
        return literal_node(_READERS[token.type](token.value, _offset(token)), _offset(token))

    def item(self, parts: list[Token]) -> Node:
        offset = _offset(parts[0])
        return Node(lambda run: run.item, ANY, offset, free_item=offset)

    def item_member(self, parts: list[Token]) -> Node:
        return access.accessed(self.item(parts), [self.member(parts[1:])])

    def call(self, parts: list[Any]) -> Node:
        name, *arguments = parts
        if name.value in TAKE_CLOSURES:
            return _over_elements(name.value, arguments, _offset(name))
        for argument in arguments:
            if isinstance(argument, Closure):
                raise Refusal(f"{name.value} does not take a closure", argument.body.offset)
        return called(name.value, arguments, _offset(name))

    def closure(self, parts: list[Node]) -> Closure:
        return Closure(parts[0])

    def list_literal(self, parts: list[Any]) -> Node:
        bracket, *elements = parts
        literals = [element.literal for element in elements]
        if NOT_LITERAL not in literals:
            return literal_node(literals, _offset(bracket))
        makers = [element.evaluate for element in elements]
        return _container(composed(lambda run: [make(run) for make in makers], ARRAY, _offset(bracket), *elements))

    def map_literal(self, parts: list[Any]) -> Node:
        brace, *entries = parts
        makers = [(key.evaluate, value.evaluate) for key, value in entries]

        def evaluate(run: Run) -> dict[str, Any]:
            return {_key(make_key(run)): make_value(run) for make_key, make_value in makers}

        parts = [part for entry in entries for part in entry]
        return _container(composed(evaluate, MAP, _offset(brace), *parts))

    def entry(self, parts: Any) -> Entry:
        key, value = parts
        return key, value

    def key(self, parts: list[Any]) -> Node:
        """A name or number is the text it is written as; an expression has to be a string."""
        key = parts[0]
        if isinstance(key, Node):
            require(key.kinds, STRING, "the key of a map", key.offset)
            return key
        text = read_string(key.value, _offset(key)) if key.type == "STRING" else key.value
        return literal_node(text, _offset(key))


def _offset(token: Token) -> int:
    return token.start_pos or 0


def _quoted(token: Token) -> str:
    return f'"{token.value}"'


def _container(node: Node) -> Node:
    node.weight += (
        2  # lists and maps take more time and memory than other values, and the garbage collector's attention
    )
    return node


def _key(value: Any) -> str:
    if type(value) is not str:
        raise Fault("the key of a map must be a string")
    return value


def _over_elements(name: str, arguments: list[Any], offset: int) -> Node:
    if len(arguments) != 2:
        raise Refusal(f"wrong number of arguments for {name}: expected 2, got {len(arguments)}", offset)
    source, body = arguments
    if isinstance(source, Closure):
        raise Refusal(f"{name} needs a list before its closure", source.body.offset)
    return over_elements(name, source, body.body if isinstance(body, Closure) else body, offset)


def _now(run: Run) -> Any:
    return run.context["now"] if "now" in run.context else time_at(run.now * 1_000)


def _members(warrant: Warrant) -> dict[str, Any]:
    """The warrant as policies see it, spelled as in JSON."""
    subject = {"objectType": warrant.subject_type, "objectId": warrant.subject_id}
    if warrant.subject_relation:
        subject["relation"] = warrant.subject_relation
    return {
        "objectType": warrant.object_type,
        "objectId": warrant.object_id,
        "relation": warrant.relation,
        "subject": subject,
        "createdAt": time_at(warrant.created_at * 1_000),
    }
