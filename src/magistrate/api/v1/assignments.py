"""Handles the assignments of v1: a resource is assigned to another one by a warrant (docs/compatibility.md#v1)."""

from dataclasses import replace
from typing import Any

from magistrate.api.endpoints.lists import ListAnswer
from magistrate.api.service import Answer, Call
from magistrate.api.v1.resources import ResourceView
from magistrate.engine.query import Query
from magistrate.engine.terms import Subject
from magistrate.errors import NotFound
from magistrate.operations import objects, query, warrants
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.paging import read_wanted
from magistrate.operations.query import QueryRequest
from magistrate.operations.resources import MEMBER, query_assigned, users_of
from magistrate.store.contract import NewWarrant, StoredObject


class Assignment:
    """Represents the assignment of one resource to another, such as permissions to roles."""

    def __init__(self, given: ResourceView, holder: ResourceView) -> None:
        self._given = given
        self._holder = holder

    async def create(self, call: Call[Any]) -> Answer:
        created = await warrants.create_warrants(call.context, [self._warrant(call)], call.stamp(), lambda place: "")
        given = self._given.read_ref(call)
        try:
            row = (await objects.get_object(call.context, given, NO_DEMAND)).value
        except NotFound:  # It was deleted in the meantime, which does not change what was done.
            row = StoredObject(given.type, given.id, None, created.value[0].created_at)
        return Answer(self._given.render_row(row), created.revision)

    async def delete(self, call: Call[Any]) -> Answer:
        return Answer(None, await warrants.delete_warrants(call.context, [self._warrant(call)], call.stamp()))

    async def list_page(self, call: Call[Any]) -> Answer:
        return await _run_query(call, query_assigned(self._holder.read_ref(call), self._given.resource), self._given)

    def _warrant(self, call: Call[Any]) -> NewWarrant:
        holder = self._holder.read_ref(call)
        return NewWarrant(self._given.read_ref(call), MEMBER, Subject(holder.type, holder.id))


class TenantUsers:
    """Handles the users of a tenant, who are assigned by warrants that name their role."""

    def __init__(self, users: ResourceView, tenants: ResourceView) -> None:
        self._users = users
        self._tenants = tenants

    async def list_page(self, call: Call[Any]) -> Answer:
        return await _run_query(call, users_of(self._tenants.read_ref(call)), self._users)


async def _run_query(call: Call[Any], parsed: Query, view: ResourceView) -> Answer:
    list_kind = view.assigned_kind
    wanted = read_wanted(list_kind, call.parameters, call.context.store.identity)
    found = await query.list_page(call.context, QueryRequest(parsed, {}), wanted, call.freshness, list_kind)
    if any(row.stored is None for row in found.value.rows):
        # A warrant with `*` as its subject is a row that names no user, where one is expected.
        wider = replace(wanted, slice=replace(wanted.slice, limit=wanted.slice.limit + 1))
        found = await query.list_page(call.context, QueryRequest(parsed, {}), wider, call.freshness, list_kind)
    shown = [view.render_row(row.stored) for row in found.value.rows if row.stored is not None]
    return Answer(ListAnswer(shown), found.revision)
