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
from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.functions import FUNCTIONS, OWN_FUNCTIONS, compile_call, failing_node
from magistrate.engine.policy.node import (
    NOT_LITERAL,
    Constant,
    Evaluate,
    PolicyNode,
    Refusal,
    compose_node,
    compose_of_all,
    literal_node,
)
from magistrate.engine.policy.operations import compile_absorbing
from magistrate.engine.policy.predicates import CLOSURE_FUNCTIONS, over_elements
from magistrate.engine.policy.run import Fault, NotingRun, PolicyRun
from magistrate.engine.policy.structs import WarrantView
from magistrate.engine.policy.tokens import Token, read_decimal, read_integer, read_string
from magistrate.engine.policy.types import ANY, ARRAY, FLOAT, MAP, NIL, TIME, StaticType, is_any
from magistrate.engine.policy.value_types import READ_AS, read_as
from magistrate.engine.policy.values import MadeList, MadeMap, json_value, time_at, values_in

_CONSTANTS = {"true": True, "false": False, "nil": None}
_READERS: Mapping[str, Callable[[str, int], Any]] = {
    "integer": read_integer,
    "hexadecimal": read_integer,
    "decimal": read_decimal,
    "string": read_string,
}
"""Maps the kind of a literal token to the function that reads its value."""

_POINTED: Mapping[str, Evaluate] = {"index": lambda run: run.iteration[0], "acc": lambda run: run.iteration[1]}
ENVIRONMENT = "$env"

ABSORBING: Mapping[str, bool] = {"anyOf": True, "allOf": False}
"""Maps functions of bools for which some errors do not matter to the value that decides."""


class Closure(NamedTuple):
    """Represents an argument in braces."""

    body: PolicyNode


def variable(name: Token, environment: Environment) -> PolicyNode:
    """Compiles a variable. A missing one is nil. `warrant` hides a context variable of that name; a context variable
    hides `now`."""
    text, offset = name.text, name.offset
    declared = environment.find_declared(text)
    if declared is not None:
        return _read_declared(declared.value, declared.place, offset)
    if text == ENVIRONMENT:
        return PolicyNode(_load_all, MAP, offset, is_environment=True)
    environment.names[text] = None
    return member_of_context(text, offset, environment)


def member_of_context(name: str, offset: int, environment: Environment) -> PolicyNode:
    static = environment.type_of(name)
    if name == "warrant":
        return PolicyNode(_view_warrant, static, offset, weight=4)  # the view is created anew each time
    if name == "now" and not environment.has_member(name):
        return PolicyNode(_now, ANY if environment.types is None else TIME, offset, read_name=name)
    member = name if environment.has_member(name) else None
    if environment.notes_absent and member is None:
        return PolicyNode(_note_absent(name), static, offset, read_name=name)
    evaluate = _find(name, static, environment.types is None)
    return PolicyNode(evaluate, static, offset, variable=member, read_name=name)


def constant(token: Token) -> PolicyNode:
    return literal_node(_CONSTANTS[token.text], token.offset, is_written=True)


def literal(token: Token) -> PolicyNode:
    return literal_node(_READERS[token.kind](token.text, token.offset), token.offset, is_written=True)


def item(sign: Token, environment: Environment) -> PolicyNode:
    """Compiles `#`, the current element of a closure."""
    return PolicyNode(_item, environment.innermost_closure(sign.offset).item, sign.offset)


def item_pointer(sign: Token, name: Token, environment: Environment) -> PolicyNode:
    """Compiles `#index` and `#acc`, which only some closures have."""
    pointers = environment.innermost_closure(sign.offset).pointers
    if name.text not in pointers:
        raise Refusal(f"unknown pointer #{name.text}", sign.offset)
    return PolicyNode(_POINTED[name.text], pointers[name.text], sign.offset)


def item_member(environment: Environment, dot: Token, name: Token) -> PolicyNode:
    """Compiles `.name`, a member of that element."""
    return access.compile_access(item(dot, environment), [access.member(name)])


def item_method(dot: Token, name: Token, arguments: list[PolicyNode], environment: Environment) -> PolicyNode:
    """Compiles `.Name()`, a method of that element."""
    return access.compile_access(item(dot, environment), [access.method(name, arguments)])


def compile_steps(base: PolicyNode, steps: list[Step], environment: Environment) -> PolicyNode:
    """Compiles an operand of a base and steps from it. `$env.name` is the variable of that name."""
    name = steps[0].key
    if not base.is_environment or name is None:
        return access.compile_access(base, steps)
    environment.names[name] = None
    node = member_of_context(name, steps[0].offset, environment)
    return access.compile_access(node, steps[1:]) if len(steps) > 1 else node


def call(name: Token, arguments: list[PolicyNode], environment: Environment) -> PolicyNode:
    """Compiles the call of a function. One that does not exist is an error when it is called, as in Go."""
    if name.text == "get" and len(arguments) == 2:
        return _get(arguments, name.offset, environment)
    if name.text == READ_AS:
        return read_as(arguments, name.offset, environment)
    if name.text in ABSORBING:
        return compile_absorbing(arguments, ABSORBING[name.text], name.text, name.offset)
    if name.text in FUNCTIONS:
        return compile_call(name.text, arguments, name.offset)
    environment.names[name.text] = None
    declared = environment.find_declared(name.text)
    static = declared.value.type if declared else environment.type_of(name.text)
    if not is_any(static):
        raise Refusal(f"{static.name} is not callable", name.offset)
    return failing_node(f"unknown function {name.text}", ANY, name.offset, *arguments)


def _get(arguments: list[PolicyNode], offset: int, environment: Environment) -> PolicyNode:
    source, index = arguments
    if source.is_environment and type(index.literal) is str:
        environment.names[index.literal] = None
        node = member_of_context(index.literal, offset, environment)
        if not environment.has_member(index.literal):
            node.type = NIL
        return node
    if source.is_environment:
        return failing_node("get needs the name of a variable", ANY, offset, *arguments)
    static = None if index.type is NIL and not is_any(source.type) else access.resolve_element(source.type, index.type)
    if static is None:
        raise Refusal(f"get does not take {source.type.name} and {index.type.name}", offset)
    node = compile_call("get", arguments, offset)
    node.type = static
    return node


def begin_closure(name: Token, source: PolicyNode, environment: Environment) -> None:
    environment.begin_closure(name.text, source, CLOSURE_FUNCTIONS[name.text].pointers)


def call_with_closure(name: Token, arguments: list[PolicyNode | Closure]) -> PolicyNode:
    """Compiles `all(list, {…})`, and `reduce(list, {…}, initial)`."""
    return over_elements(name.text, *(child.body if isinstance(child, Closure) else child for child in arguments))


def takes_closure(name: Token) -> bool:
    return name.text in CLOSURE_FUNCTIONS


def declare(name: Token, value: PolicyNode, environment: Environment) -> int:
    """Begins the scope of `let name = value;`. Raises Refusal if there is a variable or function of that name."""
    text = name.text
    environment.names[text] = None
    is_function = text in FUNCTIONS and text not in OWN_FUNCTIONS
    takes_closure = text in CLOSURE_FUNCTIONS and not CLOSURE_FUNCTIONS[text].is_own
    is_known = is_function or takes_closure or environment.find_declared(text) is not None
    if is_known or environment.has_member(text):
        raise Refusal(f"cannot redeclare {text}", name.offset)
    return environment.declare(text, value).place


def declaration(name: Token, value: PolicyNode, place: int, body: PolicyNode) -> PolicyNode:
    """Compiles `let name = value; body`."""
    make_value, evaluate_body = value.evaluate, body.evaluate

    def evaluate(run: PolicyRun) -> Any:
        made = make_value(run)
        if run.declared is None:
            run.declared = {}
        run.declared[place] = made
        return evaluate_body(run)

    return compose_node(evaluate, body.type, name.offset, value, body)


def list_literal(bracket: Token, elements: list[PolicyNode]) -> PolicyNode:
    literals = [element.literal for element in elements]
    types = [element.type for element in elements]
    alike = len({static.kind for static in types}) == 1 and NIL not in types
    members = literals if elements and all(element.is_written for element in elements) else None
    if NOT_LITERAL not in literals:
        made = MadeList(literals)
        node = PolicyNode(Constant(made), ARRAY, bracket.offset, made)
    else:
        makers = [element.evaluate for element in elements]
        node = _container(
            compose_of_all(lambda run: MadeList([make(run) for make in makers]), ARRAY, bracket.offset, *elements)
        )
    node.element, node.members = types[-1] if alike else None, members
    return node


def map_literal(brace: Token, entries: list[tuple[PolicyNode, PolicyNode]]) -> PolicyNode:
    makers = [(key.evaluate, value.evaluate) for key, value in entries]

    def evaluate(run: PolicyRun) -> MadeMap:
        return MadeMap({_key(make_key(run)): make_value(run) for make_key, make_value in makers})

    children = [child for entry in entries for child in entry]
    return _container(compose_of_all(evaluate, MAP, brace.offset, *children))


def key(key: Token | PolicyNode) -> PolicyNode:
    """Compiles the key of a map. A name or number is the text it is written as; an expression has to be a string."""
    if isinstance(key, PolicyNode):
        return key
    return literal_node(read_string(key.text, key.offset) if key.kind == "string" else key.text, key.offset)


def _container(node: PolicyNode) -> PolicyNode:
    node.weight += 2  # lists and maps take more time and memory than other values, and burden the garbage collector
    return node


def _key(value: Any) -> str:
    if type(value) is not str:
        raise Fault("the key of a map must be a string")
    return value


def _item(run: PolicyRun) -> Any:
    return run.item


def _read_declared(value: PolicyNode, place: int, offset: int) -> PolicyNode:
    def evaluate(run: PolicyRun) -> Any:
        return (run.declared or {})[place]

    return PolicyNode(evaluate, value.type, offset, element=value.element)


@lru_cache(maxsize=2_048)
def _find(name: str, static: StaticType, is_unknown: bool) -> Evaluate:
    """Returns a cached function: policies have few names, and each of them often. When the types of the context are
    known, there is nothing left to look at."""
    if is_unknown:
        return lambda run: json_value(run.context.get(name))
    if static is ANY:
        return Constant(None)
    if static is FLOAT:
        return lambda run: float(run.context[name])
    return lambda run: run.context[name]


def _note_absent(name: str) -> Evaluate:
    def evaluate(run: PolicyRun, name: str = name) -> None:
        assert isinstance(run, NotingRun)
        run.absent.append(name)

    return evaluate


def _load_all(run: PolicyRun) -> MadeMap:
    """Returns all variables as a map."""
    run.charge(len(run.context))
    return MadeMap(zip(run.context, values_in(run.context), strict=True), warrant=WarrantView(run.warrant))


def _now(run: PolicyRun) -> Any:
    return run.context["now"] if "now" in run.context else time_at(run.now * 1_000)


def _view_warrant(run: PolicyRun) -> WarrantView:
    return WarrantView(run.warrant)
