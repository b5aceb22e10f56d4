"""Compiles `as(value, "type")`, which is the value if it is one of the type, and an error otherwise.

The type of a variable is checked whatever the policy evaluates, as all types are: a variable of another type makes the
whole policy unknown, and so does one that is missing unless the type ends in `?`. Therefore variables are read as their
types before the evaluation begins, each once.
"""

from __future__ import annotations  # evaluated annotations are kept with every function: see Evaluate

from collections.abc import Callable
from typing import Any

from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import Evaluate, PolicyNode, Refusal, compose_node
from magistrate.engine.policy.run import Fault, NotingRun, PolicyRun
from magistrate.engine.policy.types import ANY, StaticType
from magistrate.engine.policy.value_types import ValueType, find_reader, find_value_type, fits

READ_AS = "as"


def read_as(arguments: list[PolicyNode], offset: int, environment: Environment) -> PolicyNode:
    """Compiles a call. Raises Refusal for a type that is not written out, and a value that is never one of the
    type."""
    if len(arguments) != 2:
        raise Refusal(f"wrong number of arguments for {READ_AS}: expected 2, got {len(arguments)}", offset)
    source, written = arguments
    value_type = find_value_type(written.literal) if type(written.literal) is str else None
    if value_type is None:
        raise Refusal(f'{READ_AS} needs a type such as "list<string>"', written.offset)
    if source.read_name is not None and environment.types is not None:
        return _read_variable(source, source.read_name, written.literal, value_type, environment)
    _check_type(source.type, value_type, source)
    evaluate, read = source.evaluate, find_reader(value_type.chain)
    if source.read_name is not None:
        evaluate = _demand_variable(source.read_name, evaluate)
    return compose_node(lambda run: read(run, evaluate(run)), value_type.static, offset, *arguments)


def _check_type(static: StaticType, value_type: ValueType, source: PolicyNode) -> None:
    if not fits(value_type.chain, static):
        raise Refusal(f'{READ_AS} "{value_type.chain[0]}" does not take {static.name}', source.offset)


def _demand_variable(name: str, evaluate: Evaluate) -> Evaluate:
    """Returns what evaluates a variable, which may also note that it is absent, and is an error then."""

    def evaluate_present(run: PolicyRun) -> Any:
        value = evaluate(run)
        if name not in run.context:
            raise Fault(f"{name} is missing")
        return value

    return evaluate_present


def _read_variable(
    source: PolicyNode, name: str, written: str, value_type: ValueType, environment: Environment
) -> PolicyNode:
    """Compiles the reading of a variable when the types of the context are known."""
    if environment.has_member(name):
        if source.type is not ANY:
            _check_type(source.type, value_type, source)
        key = (name, written)
        environment.typed[key] = _read_once(key, source.evaluate, find_reader(value_type.chain))
        return PolicyNode(environment.typed[key], value_type.static, source.offset, weight=2)
    if not value_type.is_optional:
        if not environment.notes_absent:
            raise Refusal(f"{name} is missing", source.offset)
        environment.lacking.append(name)
    return PolicyNode(_demand_variable(name, source.evaluate), value_type.static, source.offset, weight=2)


def _read_once(key: tuple[str, str], evaluate: Evaluate, read: Callable[[PolicyRun, Any], Any]) -> Evaluate:
    def evaluate_once(run: PolicyRun, key: tuple[str, str] = key) -> Any:
        if run.typed is None:
            run.typed = {}
        elif key in run.typed:
            return run.typed[key]
        run.typed[key] = found = read(run, evaluate(run))
        return found

    return evaluate_once


def read_first(environment: Environment, evaluate: Evaluate) -> Evaluate:
    """Returns what reads the variables of a policy before it evaluates it. It notes all that are lacking, unless one
    that is there has another type."""
    readers, lacking = [*environment.typed.values()], environment.lacking
    if not readers and not lacking:
        return evaluate

    def evaluate_typed(run: PolicyRun) -> Any:
        for read in readers:
            read(run)
        if lacking:
            assert isinstance(run, NotingRun)
            run.absent += lacking
            raise Fault(f"{lacking[0]} is missing")
        return evaluate(run)

    return evaluate_typed
