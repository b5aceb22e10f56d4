"""Compiles access to parts of values: members, elements, slices, and the methods of times.

`a.b[0].c` is a base and steps from it, taken in a loop. `a?.b` is nil if a is, and then so is all that follows.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from magistrate.engine.policy.kinds import (
    ANY,
    DURATION,
    FLOAT,
    INT,
    LIST,
    MAP,
    NIL,
    NOTHING,
    NUMBER,
    STRING,
    TIME,
    Kinds,
)
from magistrate.engine.policy.node import Evaluate, PolicyNode, Refusal, compose_node, require
from magistrate.engine.policy.run import Fault, PolicyRun
from magistrate.engine.policy.values import Duration, as_whole, calendar

_CALENDAR_STEPS = 8

Take = Callable[[PolicyRun, Any], Any]


class Step(msgspec.Struct, frozen=True):
    """Represents the step from a value of the kinds it `accepts` to another. `children` are expressions within it, such
    as an index."""

    name: str
    take: Take
    accepts: Kinds
    result: Kinds
    offset: int
    is_optional: bool = False
    children: tuple[PolicyNode, ...] = ()


def compile_access(base: PolicyNode, steps: list[Step]) -> PolicyNode:
    kinds, can_end = base.kinds, False
    for step in steps:
        can_end = can_end or step.is_optional
        require(kinds, step.accepts | NIL if step.is_optional else step.accepts, step.name, step.offset)
        kinds = step.result
    evaluate = _walk(base.evaluate, steps)
    children = [child for step in steps for child in step.children]
    node = compose_node(evaluate, kinds | NIL if can_end else kinds, steps[0].offset, base, *children)
    node.weight += len(steps) - 1  # a step counts as a part, too
    return node


def _walk(start: Evaluate, steps: list[Step]) -> Evaluate:
    """Returns a function that takes the steps one after the other; most operands have only one."""
    take = steps[0].take
    if len(steps) == 1 and not steps[0].is_optional:

        def evaluate_one(run: PolicyRun, take: Take = take, start: Evaluate = start) -> Any:
            return take(run, start(run))

        return evaluate_one
    takes = [(step.is_optional, step.take) for step in steps]

    def evaluate(run: PolicyRun, start: Evaluate = start, takes: list[tuple[bool, Take]] = takes) -> Any:
        value = start(run)
        for is_optional, take in takes:
            if is_optional and value is None:
                return None
            value = take(run, value)
        return value

    return evaluate


def member(name: str, offset: int, is_optional: bool = False) -> Step:
    """Returns the step of `.name`; a missing member is nil."""
    return Step(f'".{name}"', _take_member(name), MAP, ANY, offset, is_optional)


@lru_cache(maxsize=1_024)
def _take_member(name: str) -> Take:
    """Returns a cached function: policies have few names, and each of them often."""

    def take(run: PolicyRun, value: Any, name: str = name) -> Any:
        if type(value) is not dict:
            raise Fault("only a map has members")
        return value.get(name)

    return take


def element(index: PolicyNode, offset: int) -> Step:
    """Returns the step of `[index]`: an element, counted from 0, or from -1 at the end; a character; a member."""
    accepts = NOTHING
    if index.kinds & NUMBER:
        accepts |= LIST | STRING
    if index.kinds & STRING:
        accepts |= MAP
    if not accepts:
        require(index.kinds, NUMBER | STRING, '"[]"', offset)
    at = index.evaluate

    def take(run: PolicyRun, value: Any, at: Evaluate = at) -> Any:
        return element_of(run, value, at(run))

    return Step('"[]"', take, accepts, ANY, offset, children=(index,))


def element_of(run: PolicyRun, value: Any, index: Any) -> Any:
    """Returns the element at the index. Raises Fault if the list or text is too short; a missing member is nil."""
    if type(value) is dict and type(index) is str:
        run.charge_text(len(index))
        return value.get(index)
    if (type(value) in LIST or type(value) is str) and type(index) in NUMBER:
        at = as_whole(index)
        if -len(value) <= at < len(value):
            return value[at]
        raise Fault("the index is out of range")
    raise Fault("[] needs a list and a number, or a map and a string")


def section(start: PolicyNode | None, end: PolicyNode | None, offset: int) -> Step:
    """Returns the step of `[start:end]` on a list or text, end excluded; bounds outside are clipped."""
    bounds = tuple(bound for bound in (start, end) if bound is not None)
    for bound in bounds:
        require(bound.kinds, NUMBER, '"[:]"', offset)

    def take(run: PolicyRun, value: Any) -> Any:
        if type(value) not in LIST and type(value) is not str:
            raise Fault("only lists and strings have slices")
        taken = slice(_evaluate_bound(run, start), _evaluate_bound(run, end))
        if type(value) is not range:
            run.charge(len(range(*taken.indices(len(value)))) // 8)
        return value[taken]

    return Step('"[:]"', take, LIST | STRING, LIST | STRING, offset, children=bounds)


def _evaluate_bound(run: PolicyRun, bound: PolicyNode | None) -> int | None:
    if bound is None:
        return None
    value = bound.evaluate(run)
    if type(value) not in NUMBER:
        raise Fault("a slice needs numbers")
    return as_whole(value)


METHODS: dict[str, tuple[Kinds, Kinds, Callable[[Any], Any]]] = {
    "Year": (TIME, INT, lambda time: calendar(time).year),
    "Month": (TIME, INT, lambda time: calendar(time).month),
    "Day": (TIME, INT, lambda time: calendar(time).day),
    "Hour": (TIME, INT, lambda time: calendar(time).hour),
    "Minute": (TIME, INT, lambda time: calendar(time).minute),
    "Second": (TIME, INT, lambda time: calendar(time).second),
    "Weekday": (TIME, INT, lambda time: calendar(time).isoweekday() % 7),
    "YearDay": (TIME, INT, lambda time: calendar(time).timetuple().tm_yday),
    "Unix": (TIME, INT, lambda time: time.nanoseconds // 1_000_000_000),
    "Hours": (DURATION, FLOAT, lambda duration: _in_units(duration, 3_600_000_000_000)),
    "Minutes": (DURATION, FLOAT, lambda duration: _in_units(duration, 60_000_000_000)),
    "Seconds": (DURATION, FLOAT, lambda duration: _in_units(duration, 1_000_000_000)),
    "Milliseconds": (DURATION, INT, lambda duration: int(duration.nanoseconds / 1_000_000)),
}
"""Maps each method to the kind it applies to, the kind of its result, and its implementation. Times are in UTC; Sunday
is weekday 0."""


def _in_units(duration: Duration, unit: int) -> float:
    return duration.nanoseconds / unit


def method(name: str, offset: int, arguments: int) -> Step:
    """Returns the step of a method such as `.Hour()`. No method takes arguments."""
    if name not in METHODS:
        raise Refusal(f"unknown method {name}", offset)
    if arguments:
        raise Refusal(f"{name} takes no arguments, got {arguments}", offset)
    accepts, result, apply = METHODS[name]

    def take(run: PolicyRun, value: Any) -> Any:
        if type(value) not in accepts:
            raise Fault(f"{name} is a method of times")
        run.charge(_CALENDAR_STEPS)
        return apply(value)

    return Step(f'"{name}"', take, accepts, result, offset)
