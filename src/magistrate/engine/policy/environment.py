"""Holds what the parts of a policy see around them while it is compiled: variables, and the elements of closures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from magistrate.engine.policy.node import NOT_LITERAL, Evaluate, PolicyNode, Refusal
from magistrate.engine.policy.run import NotingRun, PolicyRun
from magistrate.engine.policy.types import ANY, WARRANT, StaticType, is_any, is_slice


class Declared(NamedTuple):
    """Represents a variable of `let`; its value is kept at `place` while the policy is evaluated."""

    name: str
    value: PolicyNode
    place: int


class ItemScope(NamedTuple):
    """Represents the closure of a function: the type of `#`, and the names that may follow it."""

    item: StaticType
    pointers: Mapping[str, StaticType]


@dataclass(slots=True, eq=False)
class Environment:
    """Holds the variables in scope.

    `types` has the static types of the context's members. It is None while a policy is written: then every variable may
    have any type. `names` collects the variables that the policy has, in the order of their appearance.
    `mixed_at` is the offset of the first operator that follows a `??` without brackets around it; None if none does.
    `notes_absent`: an evaluation notes the variables that the context lacks (see NotingRun). `typed` collects what
    reads variables as types, and `lacking` the variables without which the policy is unknown (see value_types.py)."""

    types: Mapping[str, StaticType] | None = None
    notes_absent: bool = False
    names: dict[str, None] = field(default_factory=dict)
    mixed_at: int | None = None
    typed: dict[tuple[str, str], Evaluate] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    _declared: list[Declared] = field(default_factory=list)
    _items: list[ItemScope] = field(default_factory=list)
    _places: int = 0

    def type_of(self, name: str) -> StaticType:
        """Returns the type of a member of the context, ANY if it is missing."""
        if self.types is None:
            return ANY
        return WARRANT if name == "warrant" else self.types.get(name, ANY)

    def has_member(self, name: str) -> bool:
        return self.types is not None and (name in self.types or name == "warrant")

    def clear_decided(self, operand: PolicyNode) -> PolicyNode:
        """Returns an operand that, once it has come to a bool, removes the variables that were absent in it from the
        notes: they did not keep it from being decided."""
        if operand.literal is not NOT_LITERAL:
            return operand
        inner = operand.evaluate

        def evaluate(run: PolicyRun) -> Any:
            assert isinstance(run, NotingRun)
            count = len(run.absent)
            value = inner(run)
            if type(value) is bool:
                del run.absent[count:]
            return value

        operand.evaluate = evaluate
        return operand

    def find_declared(self, name: str) -> Declared | None:
        return next((declared for declared in reversed(self._declared) if declared.name == name), None)

    def declare(self, name: str, value: PolicyNode) -> Declared:
        self._places += 1
        declared = Declared(name, value, self._places)
        self._declared.append(declared)
        return declared

    def end_declaration(self) -> None:
        self._declared.pop()

    def begin_closure(self, name: str, source: PolicyNode, pointers: Mapping[str, StaticType]) -> None:
        """Begins the closure of a function over a list. Raises Refusal if it is no list."""
        if is_slice(source.type):
            assert source.type.element is not None
            self._items.append(ItemScope(source.type.element, pointers))
        elif is_any(source.type):
            self._items.append(ItemScope(ANY, pointers))
        else:
            raise Refusal(f"{name} does not take {source.type.name}", source.offset)

    def end_closure(self) -> None:
        self._items.pop()

    def innermost_closure(self, offset: int) -> ItemScope:
        if not self._items:
            raise Refusal("# and .field stand for an element and need a closure around them", offset)
        return self._items[-1]
