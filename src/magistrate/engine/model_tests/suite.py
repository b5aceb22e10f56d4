"""Defines what the readers of test files make, whatever the format of the file: a model, warrants, and assertions."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from magistrate.engine.check import Check
from magistrate.engine.model import ObjectType
from magistrate.engine.named_policy import NamedPolicy
from magistrate.engine.names import WarrantNames
from magistrate.engine.query.language import Query
from magistrate.engine.terms import ObjectRef, RelationName, Subject
from magistrate.engine.warrants import Warrant


@dataclass(frozen=True, slots=True)
class Reason:
    """Represents a check that a denial comes to, and whether it holds."""

    names: WarrantNames
    holds: bool

    def render(self) -> str:
        return self.names.render() if self.holds else f"not {self.names.render()}"

    def to_check(self, context: Mapping[str, Any]) -> Check:
        names = self.names
        group = RelationName(names.subject_relation) if names.subject_relation else None
        subject = Subject(names.subject_type, names.subject_id, group)
        return Check(ObjectRef(names.object_type, names.object_id), names.relation, subject, context)


@dataclass(frozen=True, slots=True)
class CheckAssertion:
    """Asserts that a check is allowed, or that it is not.

    `name` is how messages name the assertion. The warrants in `added` count for this assertion alone. A denial must
    also rest on each reason in `because`."""

    name: str
    check: Check
    is_allowed: bool
    added: Sequence[Warrant] = ()
    because: Sequence[Reason] = ()


@dataclass(frozen=True, slots=True)
class QueryAssertion:
    """Asserts the rows of a query, as `document:plan`, or all of them as `document:plan#viewer`, in any order. Without
    `is_complete`, there may be others."""

    name: str
    query: Query
    expected: Collection[str]
    context: Mapping[str, Any] = field(default_factory=dict)
    added: Sequence[Warrant] = ()
    is_complete: bool = True


Assertion = CheckAssertion | QueryAssertion


@dataclass(frozen=True, slots=True)
class ModelSuite:
    """Holds what one test file says. Policies and time limits are evaluated at `now`, in microseconds since 1970 UTC.
    Each warrant has been validated like one that is written, allowed types included. `restore_names` puts the names of
    the file into a message, if they differ from those of the model."""

    types: Sequence[ObjectType]
    policies: Sequence[NamedPolicy]
    warrants: Sequence[Warrant]
    assertions: Sequence[Assertion]
    now: int
    restore_names: Callable[[str], str] = str
