"""Tenants, roles, permissions and users, on the object types that a fresh store holds.

Every tenant has the same permissions: eight in each of three areas, and four for everyone. In an area the admins are
editors and the editors viewers, because their role is a member of the lesser one: roles nest twice. Every user
belongs to one tenant; the first tenant has a tenth of all users. What is left of the size are permissions given to
single users.

For lists, there is support staff besides: a role for each region, of as many tenants as have a thousandth of the size
in permissions, for each area of ten regions, and for the world. That of the world is a member of those of the areas,
and so on down to the roles of each tenant: the admins of all areas, and everyone. And a bulletin is for everyone in so
many tenants that a tenth of the size in users can read it.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import msgspec

from benchmarks.datasets.dataset import (
    Dataset,
    RuleJson,
    SizedQuery,
    Target,
    WarrantRow,
    check_size,
    nearest,
    query_sizes,
    sized_queries,
    user_id,
)
from benchmarks.datasets.popularity import Popularity, zipf_rank
from benchmarks.datasets.regions import RANKS, REGIONS, RESPONSIBLE, WITHIN
from benchmarks.datasets.scatter import Dealing, Division, crowd, mixed, salts
from magistrate.engine.model.object_types import PREDEFINED_TYPES

TYPES: dict[str, dict[str, RuleJson]] = {
    predefined.name: msgspec.to_builtins(predefined.render_relations())
    for predefined in PREDEFINED_TYPES
    if predefined.name in {"permission", "role", "tenant", "user"}
}

WARRANTS_PER_TENANT = 275
USERS_PER_TENANT = 100

AREAS = ("billing", "content", "people")
LEVELS = ("viewer", "editor", "admin")
SHARES = (4, 10, 30)
"""One user of so many has the role of each level itself."""
PERMISSION_LEVELS = (0, 0, 0, 0, 1, 1, 1, 2)
"""The least level that has each permission of an area."""
AREA_PERMISSIONS = len(AREAS) * len(PERMISSION_LEVELS)
PERMISSIONS = AREA_PERMISSIONS + 4
"""In a tenant: those of the areas, area by area, then those for everyone."""


def tenants(size: int, seed: int) -> Dataset:
    check_size(size)
    return Dataset("tenants", TYPES, size, Tenants(size, seed))


class Tenants:
    """Checks are three times of four about permissions. The tenant is that of a popular user, the permission a
    popular one among those of the tenant."""

    def __init__(self, size: int, seed: int) -> None:
        salt = salts(seed)
        self._size = size
        self._tenants = size // WARRANTS_PER_TENANT
        self._users = Division(self._tenants * USERS_PER_TENANT, self._tenants)
        self._role_salt = next(salt)
        self._gift_salt = next(salt)
        ordinary = sum(self._ordinary_warrants(tenant) for tenant in range(self._tenants))
        self._gifts = Dealing(size - ordinary, self._tenants * PERMISSIONS, next(salt))
        self.users = Popularity(self._tenants * USERS_PER_TENANT, next(salt))

    def warrants(self) -> Iterator[WarrantRow]:
        for tenant in range(self._tenants):
            yield from self._tenant_users(tenant)
            yield from self._roles(tenant)
            yield from self._permissions(tenant)

    def target(self, generator: Random) -> Target:
        tenant = self._users.part_of(self.users.draw(generator))
        kind = generator.random()
        if kind < 0.75:
            return self._permission_target(tenant, zipf_rank(PERMISSIONS, generator) - 1)
        number = int(generator.random() * 9)
        return self._role_target(tenant, number) if kind < 0.9 else self._tenant_target(tenant, number % 3)

    def wide_warrants(self) -> Iterator[WarrantRow]:
        for name, greater in WITHIN.items():
            yield ("role", f"support-{name}", "member", "role", f"support-{greater}", "", "")
        for name in RESPONSIBLE:
            yield ("role", f"support-{name}", "member", "user", f"support-{name}", "", "")
        tenants_in_region = self._size // 1_000 // PERMISSIONS
        for tenant in range(REGIONS * tenants_in_region):
            staff = f"support-region-{tenant // tenants_in_region}"
            for role in [_role_id(tenant, area, len(LEVELS) - 1) for area in range(len(AREAS))]:
                yield ("role", role, "member", "role", staff, "", "")
            yield ("role", f"t{tenant}-everyone", "member", "role", staff, "", "")
        yield ("permission", "bulletin", "member", "role", "bulletin-readers", "", "")
        for tenant in range(1, 1 + self._size // 10 // len(self._users.members(1))):
            yield ("role", "bulletin-readers", "member", "role", f"t{tenant}-everyone", "", "")

    def queries(self) -> Sequence[SizedQuery]:
        few, many, very_many, _ = query_sizes(self._size)
        users = [nearest(few, self._permission_counts(self._tenants - 1)), *(f"support-{name}" for name in RANKS)]
        first, last = self._user_counts(0), self._user_counts(self._tenants - 1)
        permissions = [nearest(few, last), nearest(many, first), nearest(very_many, first), "bulletin"]
        return [
            *sized_queries(self._size, (f"select permission where user:{object_id} is member" for object_id in users)),
            *sized_queries(
                self._size, (f"select member of type user for permission:{object_id}" for object_id in permissions)
            ),
        ]

    def _permission_counts(self, tenant: int) -> Mapping[str, int]:
        """By user of the tenant."""
        targets = [self._permission_target(tenant, number) for number in range(PERMISSIONS)]
        members = self._users.members(tenant)
        return {user_id(user): sum(target.allows(user) for target in targets) for user in members}

    def _user_counts(self, tenant: int) -> Mapping[str, int]:
        """By permission of the tenant."""
        targets = [self._permission_target(tenant, number) for number in range(PERMISSIONS)]
        return {target.object_id: target.allowed_count() for target in targets}

    def _ordinary_warrants(self, tenant: int) -> int:
        """All but the permissions given to single users."""
        users = len(self._users.members(tenant))
        return users + 1 + PERMISSIONS + len(AREAS) * (2 + sum(_role_size(level, users) for level in range(3)))

    def _tenant_users(self, tenant: int) -> Iterator[WarrantRow]:
        for place, user in enumerate(self._users.members(tenant)):
            relation = "admin" if place % 50 == 0 else "manager" if place % 25 == 1 else "member"
            yield ("tenant", f"t{tenant}", relation, "user", user_id(user), "", "")

    def _roles(self, tenant: int) -> Iterator[WarrantRow]:
        yield ("role", f"t{tenant}-everyone", "member", "tenant", f"t{tenant}", "member", "")
        for area in range(len(AREAS)):
            for level in range(len(LEVELS)):
                role = _role_id(tenant, area, level)
                if level + 1 < len(LEVELS):
                    yield ("role", role, "member", "role", _role_id(tenant, area, level + 1), "", "")
                for user in self._role_users(tenant, area, level):
                    yield ("role", role, "member", "user", user_id(user), "", "")

    def _permissions(self, tenant: int) -> Iterator[WarrantRow]:
        for number in range(PERMISSIONS):
            permission = _permission_id(tenant, number)
            yield ("permission", permission, "member", "role", _least_role_id(tenant, number), "", "")
            for user in self._gifted_users(tenant, number):
                yield ("permission", permission, "member", "user", user_id(user), "", "")

    def _role_users(self, tenant: int, area: int, level: int) -> range:
        """Those who have the role itself, and not from a greater one."""
        members = self._users.members(tenant)
        bits = mixed(self._role_salt, (tenant * len(AREAS) + area) * len(LEVELS) + level)
        return crowd(members, bits, _role_size(level, len(members)))

    def _gifted_users(self, tenant: int, permission: int) -> range:
        number = tenant * PERMISSIONS + permission
        return crowd(self._users.members(tenant), mixed(self._gift_salt, number), self._gifts.dealt_to(number))

    def _permission_target(self, tenant: int, number: int) -> Target:
        area, place = divmod(number, len(PERMISSION_LEVELS))
        members = self._users.members(tenant)
        by_role = self._role_audience(tenant, area, PERMISSION_LEVELS[place]) if area < len(AREAS) else [members]
        audience = [*by_role, *filter(None, [self._gifted_users(tenant, number)])]
        return Target("permission", _permission_id(tenant, number), "member", audience, members)

    def _role_target(self, tenant: int, number: int) -> Target:
        area, level = divmod(number, len(LEVELS))
        audience = self._role_audience(tenant, area, level)
        return Target("role", _role_id(tenant, area, level), "member", audience, self._users.members(tenant))

    def _role_audience(self, tenant: int, area: int, level: int) -> Sequence[range]:
        return [self._role_users(tenant, area, greater) for greater in range(level, len(LEVELS))]

    def _tenant_target(self, tenant: int, number: int) -> Target:
        members = self._users.members(tenant)
        admins, managers = members[::50], members[1::25]
        audiences = {"member": [members], "manager": [admins, managers], "admin": [admins]}
        relation = ("member", "manager", "admin")[number]
        return Target("tenant", f"t{tenant}", relation, audiences[relation], members)


def _role_size(level: int, users: int) -> int:
    return 1 + users // SHARES[level]


def _role_id(tenant: int, area: int, level: int) -> str:
    return f"t{tenant}-{AREAS[area]}-{LEVELS[level]}"


def _permission_id(tenant: int, number: int) -> str:
    area, place = divmod(number, len(PERMISSION_LEVELS))
    return f"t{tenant}-{(*AREAS, 'general')[area]}-{place}"


def _least_role_id(tenant: int, permission: int) -> str:
    """The role that has the permission, with all greater ones."""
    area, place = divmod(permission, len(PERMISSION_LEVELS))
    return _role_id(tenant, area, PERMISSION_LEVELS[place]) if area < len(AREAS) else f"t{tenant}-everyone"
