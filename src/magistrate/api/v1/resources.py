"""Defines the bodies and handlers of the six resources of v1, made from the table of views
(docs/compatibility.md#v1)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.endpoints.objects import IdText
from magistrate.api.http.json_values import render_time
from magistrate.api.http.request_values import read_batch
from magistrate.engine.lists.language import Query
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef, object_id
from magistrate.errors import InvalidParameter, NotFound
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.lists import query
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.paging import read_page_request, read_search
from magistrate.operations.writes import objects, warrants
from magistrate.operations.writes.objects import ObjectDraft, render_meta
from magistrate.operations.writes.v1_resources import (
    MEMBER,
    Members,
    Resource,
    build_assigned_list,
    members_of,
    query_assigned,
)
from magistrate.store.contract.lists import ObjectFilter
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.stored_rows import StoredObject


class ResourceView:
    """Represents a resource as callers see it: the types of its bodies and answers, and its handlers."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.list_kind = resource.list_kind
        self.assigned_kind = build_assigned_list(resource)
        name = resource.type.title().replace("-", "")
        id_field, members = (
            (resource.id_member, IdText | None, None),
            [(member, str | None, None) for member in resource.members],
        )
        made = partial(msgspec.defstruct, module=__name__)
        self.body = made(f"{name}Body", [id_field, *members], frozen=True)
        self.members_body = made(f"{name}MembersBody", members, frozen=True)
        self.ref_body = made(f"{name}RefBody", [id_field], frozen=True)
        shown = [(resource.id_member, str), *((member, str | None) for member in resource.members), ("createdAt", str)]
        self.answer = made(f"{name}Answer", shown)

    def read_ref(self, call: Call[Any]) -> ObjectRef:
        """Returns the resource in the path. Raises NotFound for an invalid id, as for a resource that does not
        exist."""
        own_id = call.path[self.resource.id_member]
        try:
            return ObjectRef(self.resource.type, object_id(own_id, self.resource.id_member))
        except InvalidParameter:
            raise NotFound(self.resource.type, own_id) from None

    def render_row(self, row: StoredObject) -> msgspec.Struct:
        return self.answer(row.id, *members_of(self.resource, row.meta).values(), render_time(row.created_at))

    async def create(self, call: Call[Any]) -> Answer[Any]:
        def draft(body: msgspec.Struct) -> ObjectDraft:
            requested_id: str | None = getattr(body, self.resource.id_member)
            own_id = (
                None
                if self.resource.is_numerous and not requested_id
                else object_id(requested_id, self.resource.id_member)
            )
            return ObjectDraft(self.resource.type, own_id, self._meta(call.context, body))

        is_batch = isinstance(call.body, list)
        drafts = read_batch(call.body, draft) if is_batch else [draft(call.body)]
        created = await objects.create_objects(call.context, drafts, call.stamp())
        answers = [self.render_row(row) for row in created.value]
        return Answer(answers if is_batch else answers[0], created.revision)

    async def get(self, call: Call[Any]) -> Answer[Any]:
        stored = await objects.get_object(call.context, self.read_ref(call), call.freshness)
        return Answer(self.render_row(stored.value), stored.revision)

    async def update(self, call: Call[Any]) -> Answer[Any]:
        meta = self._meta(call.context, call.body)
        updated = await objects.update_object(call.context, self.read_ref(call), meta, call.stamp())
        return Answer(self.render_row(updated.value), updated.revision)

    async def delete(self, call: Call[Any]) -> Answer[Any]:
        return Answer(None, await objects.delete_objects(call.context, [self.read_ref(call)], call.stamp()))

    async def delete_batch(self, call: Call[Any]) -> Answer[Any]:
        def ref(body: msgspec.Struct) -> ObjectRef:
            member = self.resource.id_member
            return ObjectRef(self.resource.type, object_id(getattr(body, member), member))

        return Answer(None, await objects.delete_objects(call.context, read_batch(call.body, ref), call.stamp()))

    async def list_page(self, call: Call[Any]) -> Answer[Any]:
        text = read_search(call.parameters)
        bounds = read_page_request(self.list_kind, call.parameters, call.context.store.identity)
        only = ObjectFilter(self.resource.type, text)
        page = await objects.list_objects(call.context, bounds, only, call.freshness, kind=self.list_kind)
        return Answer(await render_page(page.value, self.render_row), page.revision)

    def _meta(self, context: Context, body: msgspec.Struct) -> str | None:
        """Returns the members of a body other than the id, as meta. Raises InvalidParameter; if the texts are too long
        together, it names the longest."""
        members: Members = {member: getattr(body, member) for member in self.resource.members}
        for member, text in members.items():
            if text and "\0" in text:
                raise InvalidParameter(member, "must not contain the character NUL")
        try:
            return render_meta(context, {member: text for member, text in members.items() if text is not None})
        except InvalidParameter as error:
            longest = max(members, key=lambda member: len(members[member] or ""))
            raise InvalidParameter(longest, error.message) from None


class Assignment:
    """Represents the assignment of one resource to another, such as permissions to roles. `build_query` returns the
    query for what a holder has."""

    def __init__(
        self,
        assigned: ResourceView,
        holder: ResourceView,
        build_query: Callable[[ObjectRef, Resource], Query] = query_assigned,
    ) -> None:
        self._assigned = assigned
        self._holder = holder
        self._build_query = build_query

    async def create(self, call: Call[Any]) -> Answer[Any]:
        created = await warrants.create_warrants(call.context, [self._warrant(call)], call.stamp(), lambda place: "")
        ref = self._assigned.read_ref(call)
        try:
            row = (await objects.get_object(call.context, ref, NO_DEMAND)).value
        except NotFound:  # It was deleted in the meantime, which does not change what was done.
            row = StoredObject(ref.type, ref.id, None, created.value[0].created_at)
        return Answer(self._assigned.render_row(row), created.revision)

    async def delete(self, call: Call[Any]) -> Answer[Any]:
        return Answer(None, await warrants.delete_warrants(call.context, [self._warrant(call)], call.stamp()))

    async def list_page(self, call: Call[Any]) -> Answer[Any]:
        view, kind = self._assigned, self._assigned.assigned_kind
        request = QueryRequest(self._build_query(self._holder.read_ref(call), view.resource), {})
        bounds = read_page_request(kind, call.parameters, call.context.store.identity)
        page = await query.list_page(call.context, request, bounds, call.freshness, kind=kind)
        if any(row.stored is None for row in page.value.rows):
            # A warrant with `*` as its subject is a row that names no user, where one is expected.
            wider = replace(bounds, slice=replace(bounds.slice, limit=bounds.slice.limit + 1))
            page = await query.list_page(call.context, request, wider, call.freshness, kind=kind)
        shown = [view.render_row(row.stored) for row in page.value.rows if row.stored is not None]
        return Answer(ListAnswer(shown), page.revision)

    def _warrant(self, call: Call[Any]) -> NewWarrant:
        holder = self._holder.read_ref(call)
        return NewWarrant(self._assigned.read_ref(call), MEMBER, Subject(holder.type, holder.id))
