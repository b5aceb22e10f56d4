"""Lists the routes of v1 (docs/compatibility.md#v1): those it shares with v2, and others over the same objects and
warrants. Lists are bare arrays."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, get_args, get_origin

from magistrate.api.calls import Answer, Call, Handler, answer_call
from magistrate.api.endpoints import events
from magistrate.api.endpoints.lists import ListAnswer, bare
from magistrate.api.route import FROM_HANDLER, SEARCH, TEXT, V1_PARAMETERS, Parameter, Route, list_parameters
from magistrate.api.used_types import always_list, list_in_v1_query
from magistrate.api.v1 import query
from magistrate.api.v1.resources import Assignment, ResourceView
from magistrate.operations.keys.callers import Scope
from magistrate.operations.models.object_types import seed_for_v1
from magistrate.operations.paging import ListKind
from magistrate.operations.readers.contextual_warrants import CONTEXTUAL_WARRANTS
from magistrate.operations.writes.v1_resources import ASSIGNMENTS, RESOURCES, TENANTS, USERS, Resource, users_of

A = TypeVar("A")

_SHARED = ("/v2/object-types", "/v2/objects", "/v2/warrants", "/v2/sessions")
_NOT_SHARED = ("/v2/warrants/delete",)

_EVENTS: dict[str, Handler[Any]] = {
    "/v2/resource-events": events.list_resource_events_v1,
    "/v2/access-events": events.list_access_events_v1,
}

VIEWS = {resource: ResourceView(resource) for resource in RESOURCES}


def v1_routes(v2: Iterable[Route]) -> Iterator[Route]:
    """Returns all routes of v1, given those of v2. A request to any of them brings a store that has never been written
    to the predefined types."""
    return (replace(route, handler=_bring_types(route.handler)) for route in _list_routes(v2))


def _bring_types(handler: Handler[A]) -> Handler[A]:
    async def answer(call: Call[Any]) -> Answer[A]:
        await seed_for_v1(call.context)
        return await answer_call(handler, call)

    return answer


def _list_routes(v2: Iterable[Route]) -> Iterator[Route]:
    for route in v2:
        if route.path.startswith(_SHARED) and route.path not in _NOT_SHARED:
            yield _adapt_route(route)
        elif (route.method, route.path) == ("GET", "/v2/query"):
            yield _query(route)
        elif route.path in _EVENTS:
            yield _events(route)
    for resource in RESOURCES:
        yield from _resource_routes(resource)
    for holder, assigned in ASSIGNMENTS:
        for resource in assigned:
            yield from _assignment_routes(VIEWS[resource], VIEWS[holder])
    yield from _tenancy_routes(VIEWS[USERS], VIEWS[TENANTS])


def _adapt_route(route: Route) -> Route:
    path = route.path.replace("/v2/", "/v1/")
    if get_origin(route.answer) is not ListAnswer:
        return replace(route, path=path)
    row: Any = get_args(route.answer)[0]
    parameters = _use_v1_parameters(route.parameters, takes_ids=route.path != "/v2/warrants")
    return replace(route, path=path, handler=bare(route.handler), answer=list[row], parameters=parameters)


def _query(route: Route) -> Route:
    parameters = [parameter for parameter in route.parameters if parameter.name != CONTEXTUAL_WARRANTS]
    of_clients = [
        *[Parameter(name, "`lastId` of the page before it", TEXT) for name in query.CURSORS],
        Parameter("select", "without `q`: `warrants` or `explicit warrants`, which answers an array", TEXT),
        *[Parameter(name, "with `select`: conditions, `object=type:id,relation=r`", TEXT) for name in query.CLAUSES],
    ]
    return replace(
        route,
        list_types=list_in_v1_query,
        path="/v1/query",
        handler=query.list_page,
        answer=FROM_HANDLER,
        parameters=(*_use_v1_parameters(parameters, takes_ids=False), *of_clients),
    )


def _events(route: Route) -> Route:
    without_sorts = [parameter for parameter in route.parameters if parameter.name not in ("sortBy", "sortOrder")]
    last_id = Parameter(
        "lastId", "where the page begins: `lastId` of the page before it, or the `id` of an event", TEXT
    )
    return replace(
        route,
        path=route.path.replace("/v2/", "/v1/"),
        handler=_EVENTS[route.path],
        answer=FROM_HANDLER,
        parameters=(*_use_v1_parameters(without_sorts, takes_ids=False), last_id),
    )


def _resource_routes(resource: Resource) -> Iterator[Route]:
    view, name = VIEWS[resource], resource.type
    path, item = f"/v1/{resource.path}", _item(view)
    answer: Any = view.answer
    body: Any = view.body
    if resource.is_numerous:
        summary, answer, body = f"Create a {name}, or 1 to 100 of them", answer | list[answer], body | list[body]
    else:
        summary = f"Create a {name}"
    route = partial(Route, list_types=always_list(name))
    read, write = partial(route, scope=Scope.READ), partial(route, scope=Scope.WRITE, writes=True)
    yield write("POST", path, view.create, summary, answer=answer, body=body)
    summary = f"List {resource.path}"
    yield _list(path, view.list_page, summary, view, kind=view.list_kind, route=read, filters=(SEARCH,))
    if resource.is_numerous:
        refs: Any = view.ref_body
        yield write(
            "DELETE", path, view.delete_batch, f"Delete 1 to 100 {resource.path}", body=list[refs], not_found=True
        )
    yield read("GET", item, view.get, f"Get a {name}", answer=view.answer, not_found=True)
    for method in ("PUT", "POST"):
        summary = f"Replace the members of a {name}"
        yield write(method, item, view.update, summary, answer=view.answer, body=view.members_body, not_found=True)
    yield write("DELETE", item, view.delete, f"Delete a {name}", not_found=True, is_typed=resource.is_numerous)


def _assignment_routes(assigned: ResourceView, holder: ResourceView) -> Iterator[Route]:
    assignment = Assignment(assigned, holder)
    name, whom = assigned.resource.type, holder.resource.type
    path = f"{_item(holder)}/{assigned.resource.path}"
    item = f"{path}/{{{assigned.resource.id_member}}}"
    summary = f"List the {assigned.resource.path} given to a {whom}"
    route = partial(Route, list_types=always_list(name))
    find, write = partial(route, scope=Scope.QUERY), partial(route, scope=Scope.WRITE, writes=True, not_found=True)
    yield _list(path, assignment.list_page, summary, assigned, kind=assigned.assigned_kind, route=find)
    yield write("POST", item, assignment.create, f"Give a {name} to a {whom}", answer=assigned.answer)
    yield write("DELETE", item, assignment.delete, f"Take a {name} from a {whom}", is_typed=False)


def _tenancy_routes(users: ResourceView, tenants: ResourceView) -> Iterator[Route]:
    """Yields the routes that list the users of a tenant and the tenants of a user. There are no routes to assign them:
    warrants do that, because there are several relations to choose from."""
    route = partial(Route, scope=Scope.QUERY)
    tenants_of, find = Assignment(tenants, users).list_page, partial(route, list_types=always_list(TENANTS.type))
    path = f"{_item(users)}/tenants"
    yield _list(path, tenants_of, "List the tenants of a user", tenants, kind=tenants.assigned_kind, route=find)
    # The rows have the members of users, so both types are used.
    assigned = Assignment(users, tenants, lambda tenant, _: users_of(tenant))
    find = partial(route, list_types=always_list(TENANTS.type, USERS.type))
    path = f"{_item(tenants)}/users"
    yield _list(path, assigned.list_page, "List the users of a tenant", users, kind=users.assigned_kind, route=find)


def _item(view: ResourceView) -> str:
    return f"/v1/{view.resource.path}/{{{view.resource.id_member}}}"


def _list(
    path: str,
    handler: Handler[Any],
    summary: str,
    view: ResourceView,
    *,
    kind: ListKind[Any],
    route: Callable[..., Route],
    filters: Sequence[Parameter] = (),
) -> Route:
    """Returns the route of a list; `route` makes one with the rights that callers need."""
    row: Any = view.answer
    parameters = _use_v1_parameters(list_parameters(kind, *filters), takes_ids=True)
    is_nested = path.count("/") > 2
    return route("GET", path, bare(handler), summary, answer=list[row], not_found=is_nested, parameters=parameters)


def _use_v1_parameters(parameters: Iterable[Parameter], takes_ids: bool) -> tuple[Parameter, ...]:
    """Returns the parameters of a list of v1: no cursors, because an array cannot carry them, but ids if
    `takes_ids`."""
    kept = [parameter for parameter in parameters if parameter.name not in ("nextCursor", "prevCursor", "snapshot")]
    return (*kept, *V1_PARAMETERS) if takes_ids else tuple(kept)
