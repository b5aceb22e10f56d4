"""Defines the actions of an object type: names of AuthZEN actions that stand for relations (docs/authzen.md#actions).

A relation is called like an identifier, an action may be called `tools/call` or `https://example.com/read`. An action
is never called like a relation of its type, so a name means one of both.
"""

from collections.abc import Container, Mapping
from functools import lru_cache

from magistrate.engine.id_characters import describe_id_fault, is_id
from magistrate.engine.names import RelationName, suggest_name
from magistrate.engine.terms import relation_name
from magistrate.errors import InvalidParameter

ACTIONS = "actions"
"""Names the member of an object type that has them."""

MAX_ACTION_LENGTH = 256
"""Limits the characters in the name of an action."""

Actions = Mapping[str, RelationName]
"""Maps the names of actions to the relations that they stand for."""


def is_action_name(text: str) -> bool:
    """Returns whether an action can have this name: it has the characters of ids."""
    return len(text) <= MAX_ACTION_LENGTH and is_id(text)


@lru_cache(maxsize=1_024)
def action_name(text: str | None, parameter: str) -> RelationName:
    """Returns the name of an action or relation; `Model.actions` has those that are actions. Raises MissingParameter,
    and InvalidParameter for a name that neither can have."""
    if text and is_action_name(text):
        return RelationName(text)
    return relation_name(text, parameter)


def describe_action_fault(text: str, relations: Container[str]) -> str:
    """Returns what is wrong with the name of an action of a type with these relations; empty if nothing is."""
    if not text:
        return "the name of an action must not be empty"
    if len(text) > MAX_ACTION_LENGTH:
        return f"the name of an action has at most {MAX_ACTION_LENGTH} characters"
    if not is_id(text):
        return f"the name of an action {describe_id_fault(text)}"
    if text in relations:
        return f"'{text}' is a relation of the type, so it cannot be the name of an action"
    return ""


def read_actions(targets: Mapping[str, str] | None, relations: Mapping[RelationName, object]) -> Actions:
    """Returns the actions of an object type with these relations. Raises InvalidParameter for the first fault."""
    actions: dict[str, RelationName] = {}
    for name, relation in (targets or {}).items():
        if fault := describe_action_fault(name, relations):
            raise InvalidParameter(ACTIONS, fault)
        if relation not in relations:
            hint = suggest_name(relation[:64], relations)
            raise InvalidParameter(ACTIONS, f"'{relation[:64]}' is not a relation of the object type{hint}")
        actions[name] = RelationName(relation)
    return actions
