"""Defines the bodies and handlers of the six resources of v1, made from the table of views
(docs/compatibility.md#v1)."""

from functools import partial
from typing import Any

import msgspec

from magistrate.api.endpoints.lists import render_page
from magistrate.api.endpoints.objects import IdText
from magistrate.api.parse import read_batch
from magistrate.api.render import render_time
from magistrate.api.service import Answer, Call
from magistrate.engine.terms import ObjectRef, object_id
from magistrate.errors import InvalidParameter, NotFound
from magistrate.operations import objects
from magistrate.operations.context import Context
from magistrate.operations.objects import ObjectDraft, render_meta
from magistrate.operations.paging import read_search, read_wanted
from magistrate.operations.resources import Members, Resource, build_assigned_list, members_of
from magistrate.store.contract import ObjectFilter, StoredObject


class ResourceView:
    """Represents a resource as callers see it: the types of its bodies and answers, and its handlers."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.list_kind = resource.list_kind
        self.assigned_kind = build_assigned_list(resource)
        name = resource.type.title().replace("-", "")
        id, members = (resource.id_member, IdText | None, None), [(one, str | None, None) for one in resource.members]
        made = partial(msgspec.defstruct, module=__name__)
        self.body = made(f"{name}Body", [id, *members], frozen=True)
        self.members_body = made(f"{name}MembersBody", members, frozen=True)
        self.ref_body = made(f"{name}RefBody", [id], frozen=True)
        shown = [(resource.id_member, str), *((one, str | None) for one in resource.members), ("createdAt", str)]
        self.answer = made(f"{name}Answer", shown)

    def read_ref(self, call: Call[Any]) -> ObjectRef:
        """Returns the resource in the path. Raises NotFound for an invalid id, as for a resource that does not
        exist."""
        id = call.path[self.resource.id_member]
        try:
            return ObjectRef(self.resource.type, object_id(id, self.resource.id_member))
        except InvalidParameter:
            raise NotFound(self.resource.type, id) from None

    def render_row(self, row: StoredObject) -> msgspec.Struct:
        return self.answer(row.id, *members_of(self.resource, row.meta).values(), render_time(row.created_at))

    async def create(self, call: Call[Any]) -> Answer:
        def draft(body: msgspec.Struct) -> ObjectDraft:
            given: str | None = getattr(body, self.resource.id_member)
            id = None if self.resource.is_numerous and not given else object_id(given, self.resource.id_member)
            return ObjectDraft(self.resource.type, id, self._meta(call.context, body))

        is_batch = isinstance(call.body, list)
        drafts = read_batch(call.body, draft) if is_batch else [draft(call.body)]
        created = await objects.create_objects(call.context, drafts, call.stamp())
        answers = [self.render_row(row) for row in created.value]
        return Answer(answers if is_batch else answers[0], created.revision)

    async def get(self, call: Call[Any]) -> Answer:
        found = await objects.get_object(call.context, self.read_ref(call), call.freshness)
        return Answer(self.render_row(found.value), found.revision)

    async def update(self, call: Call[Any]) -> Answer:
        meta = self._meta(call.context, call.body)
        updated = await objects.update_object(call.context, self.read_ref(call), meta, call.stamp())
        return Answer(self.render_row(updated.value), updated.revision)

    async def delete(self, call: Call[Any]) -> Answer:
        return Answer(None, await objects.delete_objects(call.context, [self.read_ref(call)], call.stamp()))

    async def delete_batch(self, call: Call[Any]) -> Answer:
        def ref(body: msgspec.Struct) -> ObjectRef:
            member = self.resource.id_member
            return ObjectRef(self.resource.type, object_id(getattr(body, member), member))

        return Answer(None, await objects.delete_objects(call.context, read_batch(call.body, ref), call.stamp()))

    async def list_page(self, call: Call[Any]) -> Answer:
        text = read_search(call.parameters)
        wanted = read_wanted(self.list_kind, call.parameters, call.context.store.identity)
        only = ObjectFilter(self.resource.type, text)
        found = await objects.list_objects(call.context, wanted, only, call.freshness, self.list_kind)
        return Answer(await render_page(found.value, self.render_row), found.revision)

    def _meta(self, context: Context, body: msgspec.Struct) -> str | None:
        """Returns the members of a body other than the id, as meta. Raises InvalidParameter; if the texts are too long
        together, it names the longest."""
        given: Members = {member: getattr(body, member) for member in self.resource.members}
        for member, text in given.items():
            if text and "\0" in text:
                raise InvalidParameter(member, "must not contain the character NUL")
        try:
            return render_meta(context, {member: text for member, text in given.items() if text is not None})
        except InvalidParameter as error:
            longest = max(given, key=lambda member: len(given[member] or ""))
            raise InvalidParameter(longest, error.message) from None
