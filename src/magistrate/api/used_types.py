"""Lists the object types that a request uses, for callers that are limited to some (docs/security.md#object-types).

Each route of the table has one of these functions. They return the names as they are in the request, before it is
validated, and None if the request uses all object types, or types that it does not name. A type of subjects is not
used by a request: a warrant on a document may name any user or group."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from magistrate.api.calls import Call
from magistrate.api.http.request_values import list_values
from magistrate.api.v1.query import CLAUSES, read_clause
from magistrate.engine.lists.language import ObjectsQuery, read_query
from magistrate.operations.history.events import KIND, OBJECTS
from magistrate.operations.readers.contextual_warrants import CONTEXTUAL_WARRANTS

ListTypes = Callable[[Call[Any]], Collection[str | None]]

ALL_TYPES = (None,)


def list_none(call: Call[Any]) -> Collection[str | None]:
    """Returns nothing, because the request has nothing to do with objects."""
    return ()


def list_all(call: Call[Any]) -> Collection[str | None]:
    return ALL_TYPES


def list_forwarded(call: Call[Any]) -> Collection[str | None]:
    """Returns the type of the object that is checked for a gateway, if one is."""
    forwarded = call.forwarded
    return () if forwarded is None or forwarded.object is None else (forwarded.object.type,)


def always_list(*names: str) -> ListTypes:
    """Returns a function for a route whose requests are all about these types."""
    return lambda call: names


def list_in_path(name: str) -> ListTypes:
    """Returns a function for a route with the type in its path."""
    return lambda call: (call.path[name],)


def list_in_parameter(name: str) -> ListTypes:
    """Returns a function for a list that this parameter filters by type; without it, the list has all types."""
    return lambda call: (call.parameters.get(name) or None,)


def list_in_repeated(name: str) -> ListTypes:
    """Returns a function for a list that this parameter, which may be repeated, filters by type."""
    return lambda call: list_values(call.query, name) or ALL_TYPES


def list_in_resource_events(call: Call[Any]) -> Sequence[str | None]:
    """Returns the type of the objects of a list of resource events; definitions belong to all types. Without a kind,
    callers that are limited to some types get objects only."""
    kind = call.parameters.get(KIND) or OBJECTS
    return (call.parameters.get("resourceType") or None,) if kind == OBJECTS else ALL_TYPES


def list_in_body(member: str) -> ListTypes:
    """Returns a function for a route whose body, or each element of it, names the type. One that names none is
    refused when it is validated."""
    return lambda call: _list_members(call.body if isinstance(call.body, list) else [call.body], member)


def list_in_elements(array: str, member: str) -> ListTypes:
    """Returns a function for a route whose body has this array, each element of which names the type."""
    return lambda call: _list_members(getattr(call.body, array) or (), member)


def list_in_model(call: Call[Any]) -> Collection[str | None]:
    """Returns the object types that are written; with `replace`, all others are deleted."""
    return ALL_TYPES if "replace" in call.parameters else _list_members(call.body, "type")


def list_in_check(call: Call[Any]) -> Collection[str | None]:
    """Returns the types of the objects, which the body of a check knows."""
    used: frozenset[str | None] = call.body.types_of_objects
    return used


def list_in_write(call: Call[Any]) -> Collection[str | None]:
    used = [
        ref
        for precondition in call.body.preconditions or ()
        for ref in (precondition.exists, precondition.absent)
        if ref is not None
    ]
    for changes in (call.body.delete, call.body.create):
        if changes is not None:
            used += [*(changes.warrants or ()), *(changes.objects or ())]
    return _list_members(used, "object_type")


def list_in_filter(call: Call[Any]) -> Collection[str | None]:
    return ALL_TYPES if call.body.filter is None else (call.body.filter.object_type or None,)


def list_in_query(call: Call[Any]) -> Collection[str | None]:
    """Returns the types of the objects that a query selects, or of the object whose subjects it selects. Raises
    InvalidParameter for a query that cannot be read."""
    return ALL_TYPES if call.parameters.get(CONTEXTUAL_WARRANTS) else _list_in_text(call.parameters.get("q", ""))


def list_in_query_body(call: Call[Any]) -> Collection[str | None]:
    return ALL_TYPES if call.body.contextual_warrants else _list_in_text(call.body.q or "")


def list_in_v1_query(call: Call[Any]) -> Collection[str | None]:
    if "q" in call.parameters or "select" not in call.parameters:
        return _list_in_text(call.parameters.get("q", ""))
    clauses = [read_clause(clause, call.parameters.get(clause, "")) for clause in CLAUSES]
    return [clause["object_type"] for clause in clauses if "object_type" in clause] or ALL_TYPES


def _list_in_text(text: str) -> Collection[str | None]:
    parsed = read_query(text)
    return parsed.types or ALL_TYPES if isinstance(parsed, ObjectsQuery) else (parsed.object.type,)


def _list_members(elements: Iterable[Any], member: str) -> Sequence[str]:
    return [name for element in elements if (name := getattr(element, member))]
