"""Compiles the parts of operands. The parser calls these functions while it reads, innermost first; no tree is ever
built.

Each takes its parts: nodes for expressions, tokens for literal text.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from magistrate.engine.policy import access
from magistrate.engine.policy.access import Step
from magistrate.engine.policy.functions import compile_call
from magistrate.engine.policy.kinds import ANY, ARRAY, MAP, STRING
from magistrate.engine.policy.literals import read_decimal, read_integer, read_string
from magistrate.engine.policy.node import (
    NOT_LITERAL,
    Evaluate,
    PolicyNode,
    Refusal,
    compose_node,
    literal_node,
    require,
)
from magistrate.engine.policy.predicates import TAKE_CLOSURES, over_elements
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.tokenizer import Token
from magistrate.engine.policy.values import time_at
from magistrate.engine.warrants import Warrant

_CONSTANTS = {"true": True, "false": False, "nil": None}
_READERS: Mapping[str, Callable[[str, int], Any]] = {
    "integer": read_integer,
    "hexadecimal": read_integer,
    "decimal": read_decimal,
    "string": read_string,
}
"""Maps the kind of a literal token to the function that reads its value."""


class Closure(NamedTuple):
    """Represents an argument in braces."""

    body: PolicyNode


def variable(name: Token) -> PolicyNode:
    """Compiles a variable. A missing one is nil. `warrant` hides a context variable of that name; a context variable
    hides `now`."""
    text, offset = name.text, name.offset
    if text == "warrant":
        return PolicyNode(lambda run: _members(run.warrant), MAP, offset, weight=4)  # the map is created anew each time
    if text == "now":
        return PolicyNode(_now, ANY, offset)
    return PolicyNode(_find(text), ANY, offset)


def constant(token: Token) -> PolicyNode:
    return literal_node(_CONSTANTS[token.text], token.offset)


def literal(token: Token) -> PolicyNode:
    return literal_node(_READERS[token.kind](token.text, token.offset), token.offset)


def item(sign: Token) -> PolicyNode:
    """Compiles `#`, the current element of a closure."""
    return PolicyNode(_item, ANY, sign.offset, free_item=sign.offset)


def item_member(dot: Token, name: Token) -> PolicyNode:
    """Compiles `.name`, a member of that element."""
    return access.compile_access(item(dot), [member(name)])


def member(name: Token) -> Step:
    return access.member(name.text, name.offset)


def optional_member(name: Token) -> Step:
    return access.member(name.text, name.offset, is_optional=True)


def method(name: Token, arguments: list[PolicyNode | Closure]) -> Step:
    return access.method(name.text, name.offset, len(arguments))


def element(bracket: Token, index: PolicyNode) -> Step:
    return access.element(index, bracket.offset)


def section(bracket: Token, start: PolicyNode | None, end: PolicyNode | None) -> Step:
    return access.section(start, end, bracket.offset)


def call(name: Token, arguments: list[PolicyNode | Closure]) -> PolicyNode:
    if name.text in TAKE_CLOSURES:
        return _over_elements(name.text, arguments, name.offset)
    nodes: list[PolicyNode] = []
    for argument in arguments:
        if isinstance(argument, Closure):
            raise Refusal(f"{name.text} does not take a closure", argument.body.offset)
        nodes.append(argument)
    return compile_call(name.text, nodes, name.offset)


def list_literal(bracket: Token, elements: list[PolicyNode]) -> PolicyNode:
    literals = [element.literal for element in elements]
    if NOT_LITERAL not in literals:
        return literal_node(literals, bracket.offset)
    makers = [element.evaluate for element in elements]
    return _container(compose_node(lambda run: [make(run) for make in makers], ARRAY, bracket.offset, *elements))


def map_literal(brace: Token, entries: list[tuple[PolicyNode, PolicyNode]]) -> PolicyNode:
    makers = [(key.evaluate, value.evaluate) for key, value in entries]

    def evaluate(run: PolicyRun) -> dict[str, Any]:
        return {_key(make_key(run)): make_value(run) for make_key, make_value in makers}

    children = [child for entry in entries for child in entry]
    return _container(compose_node(evaluate, MAP, brace.offset, *children))


def key(key: Token | PolicyNode) -> PolicyNode:
    """Compiles the key of a map. A name or number is the text it is written as; an expression has to be a string."""
    if isinstance(key, PolicyNode):
        require(key.kinds, STRING, "the key of a map", key.offset)
        return key
    return literal_node(read_string(key.text, key.offset) if key.kind == "string" else key.text, key.offset)


def _container(node: PolicyNode) -> PolicyNode:
    node.weight += 2  # lists and maps take more time and memory than other values, and burden the garbage collector
    return node


def _key(value: Any) -> str:
    if type(value) is not str:
        raise Fault("the key of a map must be a string")
    return value


def _over_elements(name: str, arguments: list[Any], offset: int) -> PolicyNode:
    if len(arguments) != 2:
        raise Refusal(f"wrong number of arguments for {name}: expected 2, got {len(arguments)}", offset)
    source, body = arguments
    if isinstance(source, Closure):
        raise Refusal(f"{name} needs a list before its closure", source.body.offset)
    return over_elements(name, source, body.body if isinstance(body, Closure) else body, offset)


def _item(run: PolicyRun) -> Any:
    return run.item


@lru_cache(maxsize=1_024)
def _find(name: str) -> Evaluate:
    """Returns a cached function: policies have few names, and each of them often."""

    def evaluate(run: PolicyRun, name: str = name) -> Any:
        return run.context.get(name)

    return evaluate


def _now(run: PolicyRun) -> Any:
    return run.context["now"] if "now" in run.context else time_at(run.now * 1_000)


def _members(warrant: Warrant) -> dict[str, Any]:
    """Returns the warrant as a map for policies, spelled as in JSON."""
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
