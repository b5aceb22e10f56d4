"""Compiles access to parts of values: members, elements, slices, and calls of methods.

`a.b[0].c` is a base and steps from it, taken in a loop. `a?.b` is nil if a is, and then so are the members and methods
that follow, up to the next bracket.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from collections.abc import Callable
from functools import lru_cache, partial
from types import NoneType
from typing import Any

import msgspec

from magistrate.engine.policy.equality import hashable
from magistrate.engine.policy.node import Evaluate, PolicyNode, Refusal, compose_node
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.structs import FIELDS, KINDS, METHODS, call_method
from magistrate.engine.policy.tokens import Token
from magistrate.engine.policy.types import (
    ANY,
    FUNCTION,
    NIL,
    NOT_BOOL,
    StaticType,
    is_any,
    is_assignable,
    is_integer,
    is_map,
    is_slice,
    is_string,
)
from magistrate.engine.policy.values import LISTS, NUMBERS, TEXT_MAPS, Byte, GroupMap, json_value, to_integer

Take = Callable[[PolicyRun, Any], Any]
Resolve = Callable[[StaticType], StaticType | None]
"""Returns the type of a part of a value, for the type of the value; None if there is no such part."""


class Step(msgspec.Struct, frozen=True):
    """Represents the step from a value to a part of it. `children` are expressions within it, such as an index. `key`
    is the name of a member that is known. A step in brackets `ends_chain`: see `a?.b`."""

    name: str
    take: Take
    resolve: Resolve
    offset: int
    is_optional: bool = False
    children: tuple[PolicyNode, ...] = ()
    key: str | None = None
    ends_chain: bool = False


def compile_access(base: PolicyNode, steps: list[Step]) -> PolicyNode:
    static = base.type
    for step in steps:
        result = step.resolve(static)
        if result is None:
            raise Refusal(f"{step.name} does not take {static.name}", step.offset)
        static = result
    children = [child for step in steps for child in step.children]
    node = compose_node(_walk(base.evaluate, steps), static, steps[0].offset, base, *children)
    node.weight += len(steps) - 1  # a step counts as a part, too
    return node


def _walk(start: Evaluate, steps: list[Step]) -> Evaluate:
    """Returns a function that takes the steps one after the other; most operands have only one."""
    take = steps[0].take
    if len(steps) == 1 and not steps[0].is_optional:

        def evaluate_one(run: PolicyRun, take: Take = take, start: Evaluate = start) -> Any:
            return take(run, start(run))

        return evaluate_one
    takes = [(step.take, step.is_optional, step.ends_chain) for step in steps]

    def evaluate(run: PolicyRun, start: Evaluate = start, takes: list[tuple[Take, bool, bool]] = takes) -> Any:
        value, is_skipping = start(run), False
        for take, is_optional, ends_chain in takes:
            is_skipping = (is_skipping and not ends_chain) or (is_optional and value is None)
            if not is_skipping:
                value = take(run, value)
        return value

    return evaluate


def member(name: Token, is_optional: bool = False) -> Step:
    """Returns the step of `.name`; a missing member of a map is nil."""
    take, resolve = _take_member(name.text), _resolve_member(name.text)
    return Step(f'".{name.text}"', take, resolve, name.offset, is_optional=is_optional, key=name.text)


optional_member = partial(member, is_optional=True)


@lru_cache(maxsize=1_024)
def _take_member(name: str) -> Take:
    """Returns a cached function: policies have few names, and each of them often."""

    def take(run: PolicyRun, value: Any, name: str = name) -> Any:
        if type(value) is dict:
            inner = value.get(name)
            return float(inner) if type(inner) is int else inner
        return element_of(run, value, name)

    return take


@lru_cache(maxsize=1_024)
def _resolve_member(name: str) -> Resolve:
    def resolve(static: StaticType, name: str = name) -> StaticType | None:
        if is_any(static):
            return ANY
        if is_map(static):
            return static.element
        kind = KINDS.get(static, NoneType)
        if name in FIELDS.get(kind, {}):
            return FIELDS[kind][name].type
        return FUNCTION if name in METHODS.get(kind, {}) else None

    return resolve


def element(bracket: Token, index: PolicyNode) -> Step:
    """Returns the step of `[index]`: an element, counted from 0, or from -1 at the end; a member."""
    if type(index.literal) is str:
        step = member(Token("string", index.literal, bracket.offset))
        return msgspec.structs.replace(step, name='"[]"', children=(index,), ends_chain=True)
    at, static = index.evaluate, index.type

    def take(run: PolicyRun, value: Any, at: Evaluate = at) -> Any:
        return element_of(run, value, at(run))

    resolve = partial(resolve_element, index=static)
    return Step('"[]"', take, resolve, bracket.offset, children=(index,), ends_chain=True)


def resolve_element(base: StaticType, index: StaticType) -> StaticType | None:
    """Returns the type of `base[index]`; None if it cannot work."""
    if is_any(base):
        return ANY
    if is_map(base):
        assert base.key is not None
        return base.element if index is NIL or is_any(index) or is_assignable(index, base.key) else None
    return base.element if is_slice(base) and (is_integer(index) or is_any(index)) else None


def element_of(run: PolicyRun, value: Any, index: Any) -> Any:
    """Returns the element at the index. Raises Fault if the list or text is too short; a missing member is nil."""
    kind = type(value)
    if kind in TEXT_MAPS and (type(index) is str or index is None):
        run.charge_text(len(index or ""))
        inner = value.get(index or "")
        return json_value(inner) if kind is dict else inner
    if isinstance(value, GroupMap):
        return value.get((type(index), hashable(index)))
    if kind in FIELDS and type(index) is str and index in FIELDS[kind]:
        return FIELDS[kind][index].take(value.warrant)
    if kind in LISTS:
        inner = _at(value, to_integer(index))
        return json_value(inner) if kind is list else inner
    if kind is str:
        run.charge_text(len(value))
        return Byte(_at(value.encode(errors="surrogatepass"), to_integer(index)))
    raise Fault("[] needs a list and a number, or a map and a string")


def _at(elements: Any, at: int) -> Any:
    if -len(elements) <= at < len(elements):
        return elements[at]
    raise Fault("the index is out of range")


def demand_element(run: PolicyRun, value: Any, *keys: Any) -> Any:
    """Returns the element or member that the keys reach, one after the other. Raises Fault if there is none, and for
    an index below 0."""
    for key in keys:
        kind = type(value)
        is_index = type(key) in NUMBERS and int(key) == key
        if kind in TEXT_MAPS and type(key) is str:
            run.charge_text(len(key))
            if key not in value:
                raise Fault("the map has no such member")
            inner = value[key]
        elif kind in LISTS and is_index and 0 <= key < len(value):
            inner = value[int(key)]
        else:
            raise Fault("there is no such element")
        value = json_value(inner) if kind is dict or kind is list else inner
    return value


def section(bracket: Token, start: PolicyNode | None, end: PolicyNode | None) -> Step:
    """Returns the step of `[start:end]` on a list or text, end excluded; bounds outside are clipped."""
    bounds = tuple(bound for bound in (start, end) if bound is not None)

    def resolve(static: StaticType) -> StaticType | None:
        for bound in bounds:
            if not is_integer(bound.type) and not is_any(bound.type):
                raise Refusal(f'"[:]" does not take {bound.type.name}', bracket.offset)
        if is_any(static):
            return NOT_BOOL
        return static if is_slice(static) or is_string(static) else None

    def take(run: PolicyRun, value: Any) -> Any:
        if type(value) not in LISTS and type(value) is not str:
            raise Fault("only lists and strings have slices")
        taken = _evaluate_bounds(run, start, end)
        return _slice_text(run, value, taken) if type(value) is str else _slice_list(run, value, taken)

    return Step('"[:]"', take, resolve, bracket.offset, children=bounds, ends_chain=True)


def _slice_list(run: PolicyRun, elements: Any, taken: slice) -> Any:
    if type(elements) is range:
        return elements[taken]
    run.charge(len(range(*taken.indices(len(elements)))) // 8)
    return type(elements)(elements[taken])


def _slice_text(run: PolicyRun, text: str, taken: slice) -> str:
    """Returns the part of a text between two bytes. Raises Fault if it does not begin and end with a character."""
    run.charge_text(len(text))
    if text.isascii():
        return text[taken]
    try:
        return text.encode(errors="surrogatepass")[taken].decode(errors="surrogatepass")
    except UnicodeDecodeError as error:
        raise Fault("the slice cuts a character") from error


def _evaluate_bounds(run: PolicyRun, start: PolicyNode | None, end: PolicyNode | None) -> slice:
    last = None if end is None else to_integer(end.evaluate(run))
    return slice(None if start is None else to_integer(start.evaluate(run)), last)


def method(name: Token, arguments: list[PolicyNode], is_optional: bool = False) -> Step:
    """Returns the step of a method such as `.Hour()`. A method of a value of any type is looked up when it is called:
    if there is none, the call is an error."""
    evaluates = [argument.evaluate for argument in arguments]
    resolve = partial(_resolve_method, name, arguments)

    def take(run: PolicyRun, value: Any) -> Any:
        return call_method(run, name.text, value, [argument(run) for argument in evaluates])

    return Step(f'"{name.text}"', take, resolve, name.offset, is_optional=is_optional, children=tuple(arguments))


optional_method = partial(method, is_optional=True)


def _resolve_method(name: Token, arguments: list[PolicyNode], static: StaticType) -> StaticType | None:
    if is_any(static) or is_map(static):
        return ANY
    signature = METHODS.get(KINDS.get(static, NoneType), {}).get(name.text)
    if signature is None:
        return None
    if len(arguments) != len(signature.parameters):
        raise Refusal(f"{name.text} takes {len(signature.parameters)} arguments, got {len(arguments)}", name.offset)
    for argument, parameter in zip(arguments, signature.parameters, strict=True):
        _require_parameter(argument, parameter, name.text)
    return signature.result


def _require_parameter(argument: PolicyNode, parameter: StaticType, name: str) -> None:
    """Raises Refusal if the argument can never be of the type. Nil passes here, and is an error when it is used."""
    static = argument.type
    if static is NIL or is_any(static) or is_assignable(static, parameter):
        return
    if is_integer(static) and is_integer(parameter) and static.kind != parameter.kind:
        return
    raise Refusal(f"{name} does not take {static.name}", argument.offset)
