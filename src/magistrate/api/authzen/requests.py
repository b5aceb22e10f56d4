"""Reads the entities of AuthZEN requests: subject, action and resource with their properties, and the context
(docs/authzen.md#mapping)."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any

import msgspec

from magistrate.api.endpoints.check import NO_CONTEXT
from magistrate.api.endpoints.policies import context_bytes
from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.actions import action_name
from magistrate.engine.names import WILDCARD, RelationName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import (
    ObjectRef,
    are_object_ids,
    object_id,
    type_name,
)
from magistrate.errors import InvalidParameter, MissingParameter
from magistrate.operations.authzen.properties import ACTION, ENTITIES, RESOURCE, SUBJECT, ObservedContext

EXPLAIN = "explain"
"""Names the member of the context that requests reasons. No policy sees it: an explained decision is the same."""
MAX_CONTEXTS = 128
"""Limits the contexts of the evaluations of one request, as a multiple of the maximum context size."""

Text = Annotated[str, msgspec.Meta(extra_json_schema={"minLength": 1})]


# A request may have thousands of these. Without cycles, they are of no interest to the garbage collector.
class EntityBody(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Represents a subject or a resource."""

    type: Text | None = None
    id: Text | None = None
    properties: dict[str, Any] | None = None


class ActionBody(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Represents an action: a relation of the type of the resource, or a name that its type maps to one."""

    name: Text | None = None
    properties: dict[str, Any] | None = None


class SingleEvaluationBody(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Represents an evaluation, perhaps one of several that a request has."""

    subject: EntityBody | None = None
    action: ActionBody | None = None
    resource: EntityBody | None = None
    context: dict[str, Any] | None = None

    @property
    def is_explained(self) -> bool:
        return self.context is not None and self.context.get(EXPLAIN) is True


class EvaluationBody(SingleEvaluationBody, frozen=True, omit_defaults=True, dict=True, gc=True):
    """Represents an evaluation: may the subject take the action on the resource? With `context.explain`, the answer
    has reasons; the other members of the context are variables of policies."""

    @cached_property
    def plain_checks(self) -> Sequence[Check] | None:
        """Holds the check that the members of the body mean, or None if `read_plain_checks` does not read them."""
        return read_plain_checks([self])


NO_DEFAULTS = SingleEvaluationBody()


class UnknownName(Exception):
    """Reports a name that no stored type, relation or object can have, so that the answer is no."""


class ContextReader:
    """Makes the policy variables of evaluations. Evaluations with the same properties and context share an
    ObservedContext, and all of them share `reads`. Raises InvalidParameter if they are too large."""

    def __init__(self, limit: int) -> None:
        self.reads: set[str] = set()
        self._limit = limit
        self._left = MAX_CONTEXTS * limit
        self._known: dict[tuple[int, ...], tuple[SingleEvaluationBody, ObservedContext]] = {}
        self._empty = ObservedContext({}, self.reads)

    def read(self, body: SingleEvaluationBody) -> ObservedContext:
        """Returns the variables of an evaluation."""
        contexts = (
            body.context,
            body.subject and body.subject.properties,
            body.resource and body.resource.properties,
            body.action and body.action.properties,
        )
        if not any(contexts):
            return self._empty
        key = tuple(map(id, contexts))
        if key not in self._known:
            # The body is kept, so that no other object gets these ids.
            self._known[key] = body, self._build(*(context or {} for context in contexts))
        return self._known[key][1]

    def _build(
        self,
        context: Mapping[str, Any],
        subject: Mapping[str, Any],
        resource: Mapping[str, Any],
        action: Mapping[str, Any],
    ) -> ObservedContext:
        variables = {name: value for name, value in context.items() if name not in ENTITIES and name != EXPLAIN}
        for name, properties in ((SUBJECT, subject), (RESOURCE, resource), (ACTION, action)):
            if properties:
                variables[name] = properties
        self._left -= context_bytes(variables, self._limit)
        if self._left < 0:
            most = MAX_CONTEXTS * self._limit
            raise InvalidParameter("context", f"must be at most {most} bytes of JSON for all evaluations together")
        return ObservedContext(variables, self.reads)


def read_evaluation(body: SingleEvaluationBody, contexts: ContextReader) -> Check:
    """Returns the check that an evaluation means.

    Raises MissingParameter or InvalidParameter for a fault, and UnknownName for a name that cannot exist."""
    subject = require_entity(body.subject, SUBJECT)
    action = require_action(body.action)
    resource = require_entity(body.resource, RESOURCE)
    context = contexts.read(body)
    try:
        whom, obj = read_entity(subject, SUBJECT), read_entity(resource, RESOURCE)
        return Check(obj, read_action(action), Subject(whom.type, whom.id), context)
    except InvalidParameter as error:  # nothing is missing, so the name cannot exist
        raise UnknownName(f"{error.parameter} {error.message}") from None


def read_plain_checks(
    bodies: Sequence[SingleEvaluationBody], default: SingleEvaluationBody = NO_DEFAULTS
) -> Sequence[Check] | None:
    """Returns the checks that these evaluations mean, whose members replace those of `default`. Returns None unless all
    of them have valid names, no properties and no context; `read_evaluation` then says what is wrong, if anything is.

    The checks do not note what policies read, so they can only be answered with decisions for which no policy
    counted. Ids are validated together, as those of checks are."""
    if default.context:
        return None
    checks: list[Check] = []
    ids: list[str | None] = []
    try:
        for body in bodies:
            subject = body.subject or default.subject
            action = body.action or default.action
            resource = body.resource or default.resource
            if subject is None or action is None or resource is None:
                return None
            if body.context or subject.properties or action.properties or resource.properties:
                return None
            resource_id, subject_id = pair = resource.id, subject.id
            ids += pair
            obj = ObjectRef(type_name(resource.type, RESOURCE), resource_id)  # type: ignore[arg-type]  # validated below
            whom = Subject(type_name(subject.type, SUBJECT), subject_id)  # type: ignore[arg-type]  # likewise
            checks.append(Check(obj, action_name(action.name, ACTION), whom, NO_CONTEXT))
    except InvalidParameter:
        return None
    return checks if are_object_ids({*ids}) else None


def require_entity(entity: EntityBody | None, member: str) -> EntityBody:
    """Returns the entity. Raises MissingParameter unless it has a type and an id, and InvalidParameter if the id stands
    for any."""
    typed = require_type(entity, member)
    if not typed.id:
        raise MissingParameter(f"{member}.id")
    if typed.id == WILDCARD:
        raise InvalidParameter(f"{member}.id", "must be the id of one object, not *")
    return typed


def require_type(entity: EntityBody | None, member: str) -> EntityBody:
    """Returns the entity. Raises MissingParameter unless it has a type."""
    if entity is None:
        raise MissingParameter(member)
    if not entity.type:
        raise MissingParameter(f"{member}.type")
    return entity


def require_action(action: ActionBody | None) -> ActionBody:
    """Returns the action. Raises MissingParameter unless it has a name."""
    if action is None:
        raise MissingParameter(ACTION)
    if not action.name:
        raise MissingParameter(f"{ACTION}.name")
    return action


def read_entity(entity: EntityBody, member: str) -> ObjectRef:
    """Returns the object that an entity with a type and an id names. Raises InvalidParameter."""
    return ObjectRef(type_name(entity.type, f"{member}.type"), object_id(entity.id, f"{member}.id"))


def read_action(action: ActionBody) -> RelationName:
    """Returns the name of an action: of a relation, or one that stands for a relation in the model. Raises
    InvalidParameter."""
    return action_name(action.name, f"{ACTION}.name")
