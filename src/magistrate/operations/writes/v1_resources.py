"""Maps the resources of v1 to objects: users, tenants, roles, permissions, features and pricing tiers are views of
objects of six types (docs/compatibility.md#v1). RESOURCES describes them; ASSIGNMENTS says which can be assigned to
which."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from magistrate.engine.lists.language import ObjectsQuery, SubjectsQuery
from magistrate.engine.lists.results import QueryRow
from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.terms import ObjectRef, object_id
from magistrate.operations.paging import LegacyCursor, ListKind, Sort, Values
from magistrate.store.contract.stored_rows import StoredObject

MEMBER = RelationName("member")
"""Names the relation that an assignment gives."""

Members = Mapping[str, str | None]
"""Maps the members of a resource besides its id to their values, None for those that are not set."""


@dataclass(frozen=True, slots=True)
class Resource:
    """Describes one view. `path` is its place in URLs, `id_member` the name of the object's id; `members` are in the
    object's meta, each a string or not set, and the first of them can be sorted by. `is_numerous`: ids are generated
    where none is given, and there are array bodies."""

    path: str
    type: TypeName
    id_member: str
    members: tuple[str, ...]
    is_numerous: bool = False

    @property
    def list_kind(self) -> ListKind[StoredObject]:
        [member, *_] = self.members
        return ListKind(
            self.path,
            {
                self.id_member: Sort("objectId", lambda row: (row.id, row.type)),
                "createdAt": Sort("createdAt", lambda row: (row.created_at, row.id, row.type)),
                member: Sort(member, lambda row: (_sort_key(_text(row.meta, member)), row.id, row.type)),
            },
            legacy_values=self._read_legacy_values,
            has_cursors=False,
        )

    def _read_legacy_values(self, sort: str, cursor: LegacyCursor) -> Values:
        cursor_id = object_id(cursor.id, cursor.id_parameter)
        if sort == self.id_member:
            return (cursor_id, self.type)
        if sort == "createdAt":
            return (cursor.time(), cursor_id, self.type)
        text = cursor.text()
        if sort == "email" and text and not re.fullmatch(r"[^@\s]+@[^@\s]+", text):
            raise cursor.invalid_value("must be a valid email")
        return (_sort_key(text), cursor_id, self.type)


USERS = Resource("users", TypeName("user"), "userId", ("email",), is_numerous=True)
TENANTS = Resource("tenants", TypeName("tenant"), "tenantId", ("name",), is_numerous=True)
ROLES = Resource("roles", TypeName("role"), "roleId", ("name", "description"))
PERMISSIONS = Resource("permissions", TypeName("permission"), "permissionId", ("name", "description"))
FEATURES = Resource("features", TypeName("feature"), "featureId", ("name", "description"))
PRICING_TIERS = Resource("pricing-tiers", TypeName("pricing-tier"), "pricingTierId", ("name", "description"))

RESOURCES = (USERS, TENANTS, ROLES, PERMISSIONS, FEATURES, PRICING_TIERS)

ASSIGNMENTS: Sequence[tuple[Resource, Sequence[Resource]]] = (
    (USERS, (ROLES, PERMISSIONS, FEATURES, PRICING_TIERS)),
    (ROLES, (PERMISSIONS,)),
    (PRICING_TIERS, (FEATURES,)),
    (TENANTS, (FEATURES, PRICING_TIERS)),
)
"""Maps holders to what can be assigned to them: the holder is then a member of it (docs/compatibility.md#v1)."""


def build_assigned_list(resource: Resource) -> ListKind[QueryRow]:
    """Returns the list kind for query results of one type and under one relation."""

    def legacy_values(sort: str, cursor: LegacyCursor) -> Values:
        return (resource.type, object_id(cursor.id, cursor.id_parameter), MEMBER)

    return ListKind(
        f"assigned-{resource.path}",
        {resource.id_member: Sort("id", lambda row: (row.type, row.id, row.relation))},
        is_snapshot=True,
        legacy_values=legacy_values,
    )


def members_of(resource: Resource, meta: str | None) -> Members:
    """Returns the members from the meta of an object. A value that is not a string counts as not set; so does
    everything in a meta with a NUL character, which stores cannot parse."""
    return {member: _text(meta, member) for member in resource.members}


def _text(meta: str | None, member: str) -> str | None:
    # Escaped backslashes are removed first, so that the escape of NUL is not mistaken for text that looks like it.
    if not meta or "\\u0000" in meta.replace(r"\\", ""):
        return None
    value = msgspec.json.decode(meta).get(member)
    return value if isinstance(value, str) else None


def _sort_key(text: str | None) -> str:
    """Returns the sort key that Store.list_objects expects: what is not set comes before every text."""
    return "0" if text is None else f"1{text}"


def query_assigned(holder: ObjectRef, resource: Resource) -> ObjectsQuery:
    """Returns the query for what warrants give to the holder itself, not what follows from them. A tenant is assigned
    under several relations, each of which implies `member`."""
    return ObjectsQuery(holder, (MEMBER,), (resource.type,), is_explicit=resource is not TENANTS)


def users_of(tenant: ObjectRef) -> SubjectsQuery:
    """Returns the query for the users of a tenant, whichever relation they have there."""
    return SubjectsQuery(tenant, (MEMBER,), (USERS.type,), is_explicit=False)
