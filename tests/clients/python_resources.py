"""What users of warrant-python do with the six kinds of objects it has classes for."""

from collections.abc import Callable
from typing import Any

from warrant import Authz, Feature, Object, Permission, PricingTier, Role, Subject, Tenant, User

from tests.clients.python_scenarios import ids, refused, scenario
from tests.running import Client

Method = Callable[..., Any]


def kept_listed_and_deleted(kind: Any, prefix: str) -> None:
    """Two objects of a class are created, read, changed, paged through, and one is deleted."""
    first, second = f"{prefix}-1.a|b@c:d", f"{prefix}-2"

    made = kind.create(first, {"name": "one", "tags": ["a", {"b": None}]})
    kind.create(second)

    assert (made.id, made.meta) == (first, {"name": "one", "tags": ["a", {"b": None}]})
    made.update({"name": "changed"})
    assert (kind.get(first).id, kind.get(first).meta, kind.get(second).meta) == (first, {"name": "changed"}, {})
    page = kind.list({"q": prefix, "limit": 1})
    rest = kind.list({"q": prefix, "limit": 1, "nextCursor": page.next_cursor})
    back = kind.list({"q": prefix, "limit": 1, "prevCursor": rest.prev_cursor})
    assert [ids(listed) for listed in (page, rest, back)] == [[first], [second], [first]]
    assert ids(kind.list({"q": prefix, "sortOrder": "DESC"})) == [second, first]
    token = kind.delete(second)
    assert ids(kind.list({"q": prefix}, opts={"Warrant-Token": token})) == [first]
    with refused(404, "not_found", type=made.object_type, key=second):
        kind.get(second)


def made_and_deleted_together(kind: Any, id_member: str, prefix: str) -> None:
    """Several objects of a class in one request."""
    made = kind.batch_create([{id_member: f"{prefix}-b", "meta": {"n": 1}}, {id_member: f"{prefix}-a"}])

    assert [(one.id, one.meta) for one in made] == [(f"{prefix}-b", {"n": 1}), (f"{prefix}-a", {})]
    token = kind.batch_delete([{id_member: one.id} for one in made])
    assert ids(kind.list({"q": f"{prefix}-"}, opts={"Warrant-Token": token})) == []


def given_and_taken(owner: Any, given: Any, give: Method, take: Method, listed: Method, *of: str) -> None:
    """`owner` is a member of `given`, and `given` is listed, from one call to the other. Methods of a class take
    the owner's id first: `of`."""
    asked = (given.object_type, given.id, "member", Subject(owner.object_type, owner.id))

    assert (Authz.check(*asked), ids(listed(*of))) == (False, [])
    give(*of, given.id)
    assert (Authz.check(*asked), ids(listed(*of))) == (True, [given.id])
    take(*of, given.id)
    assert (Authz.check(*asked), ids(listed(*of))) == (False, [])


@scenario
def users(service: Client) -> None:
    kept_listed_and_deleted(User, "usr")
    made_and_deleted_together(User, "userId", "usr-batch")
    generated = User.create()

    assert len(generated.id) == 36
    assert generated.id < "zz_user"


@scenario
def tenants(service: Client) -> None:
    kept_listed_and_deleted(Tenant, "tnt")
    made_and_deleted_together(Tenant, "tenantId", "tnt-batch")
    assert len(Tenant.create().id) == 36


@scenario
def users_of_tenants(service: Client) -> None:
    ann, acme = User.create("ut-ann"), Tenant.create("ut-acme")
    asked = ("tenant", "ut-acme", "member", Subject("user", "ut-ann"))

    User.assign_to_tenant("ut-acme", "ut-ann")
    assert (Authz.check(*asked), ids(Tenant.list_for_user("ut-ann"))) == (True, ["ut-acme"])
    assert ids(acme.list_users()) == ids(User.list_for_tenant("ut-acme")) == [ann.id]
    User.remove_from_tenant("ut-acme", "ut-ann")
    assert (Authz.check(*asked), ids(Tenant.list_for_user("ut-ann")), ids(acme.list_users())) == (False, [], [])
    acme.assign_user("ut-ann", "admin")
    assert Authz.check(*asked)
    assert ids(acme.list_users()) == ["ut-ann"] * 3, "a row for admin, manager and member each"
    acme.remove_user("ut-ann", "admin")
    assert not Authz.check(*asked)


@scenario
def roles(service: Client) -> None:
    kept_listed_and_deleted(Role, "rol")
    ann, staff = User.create("ro-ann"), Role.create("ro-staff")

    given_and_taken(ann, staff, Role.assign_to_user, Role.remove_from_user, Role.list_for_user, ann.id)
    given_and_taken(ann, staff, ann.assign_role, ann.remove_role, ann.list_roles)


@scenario
def permissions(service: Client) -> None:
    kept_listed_and_deleted(Permission, "prm")
    ann, staff, read = User.create("pe-ann"), Role.create("pe-staff"), Permission.create("pe-read")

    of_user = (Permission.assign_to_user, Permission.remove_from_user, Permission.list_for_user)
    given_and_taken(ann, read, *of_user, ann.id)
    of_role = (Permission.assign_to_role, Permission.remove_from_role, Permission.list_for_role)
    given_and_taken(staff, read, *of_role, staff.id)
    for owner in (ann, staff):
        given_and_taken(owner, read, owner.assign_permission, owner.remove_permission, owner.list_permissions)


@scenario
def permissions_through_roles(service: Client) -> None:
    ann, staff = User.create("pr-ann"), Role.create("pr-staff")

    staff.assign_permission("pr-read")
    assert not ann.has_permission("pr-read")
    ann.assign_role("pr-staff")
    assert ann.has_permission("pr-read")
    assert ids(ann.list_permissions()) == ["pr-read"]
    token = Role.delete("pr-staff")
    assert not ann.has_permission("pr-read", opts={"Warrant-Token": token})


@scenario
def features(service: Client) -> None:
    kept_listed_and_deleted(Feature, "ftr")
    chat = Feature.create("fe-chat")
    ann, acme, gold = User.create("fe-ann"), Tenant.create("fe-acme"), PricingTier.create("fe-gold")

    of_user = (Feature.assign_to_user, Feature.remove_from_user, Feature.list_for_user)
    given_and_taken(ann, chat, *of_user, ann.id)
    of_tenant = (Feature.assign_to_tenant, Feature.remove_from_tenant, Feature.list_for_tenant)
    given_and_taken(acme, chat, *of_tenant, acme.id)
    of_tier = (Feature.assign_to_pricing_tier, Feature.remove_from_pricing_tier, Feature.list_for_pricing_tier)
    given_and_taken(gold, chat, *of_tier, gold.id)
    for owner in (ann, acme, gold):
        given_and_taken(owner, chat, owner.assign_feature, owner.remove_feature, owner.list_features)


@scenario
def pricing_tiers(service: Client) -> None:
    kept_listed_and_deleted(PricingTier, "tier")
    gold, ann, acme = PricingTier.create("pt-gold"), User.create("pt-ann"), Tenant.create("pt-acme")

    of_user = (PricingTier.assign_to_user, PricingTier.remove_from_user, PricingTier.list_for_user)
    given_and_taken(ann, gold, *of_user, ann.id)
    of_tenant = (PricingTier.assign_to_tenant, PricingTier.remove_from_tenant, PricingTier.list_for_tenant)
    given_and_taken(acme, gold, *of_tenant, acme.id)
    for owner in (ann, acme):
        given_and_taken(owner, gold, owner.assign_pricing_tier, owner.remove_pricing_tier, owner.list_pricing_tiers)


@scenario
def features_through_pricing_tiers(service: Client) -> None:
    ann, acme, gold = User.create("ft-ann"), Tenant.create("ft-acme"), PricingTier.create("ft-gold")

    gold.assign_feature("ft-chat")
    acme.assign_pricing_tier("ft-gold")
    assert (acme.has_feature("ft-chat"), ann.has_feature("ft-chat")) == (True, False)
    acme.assign_user("ft-ann")
    assert ann.has_feature("ft-chat")
    assert ids(ann.list_features()) == ids(acme.list_features()) == ["ft-chat"]
    acme.remove_pricing_tier("ft-gold")
    assert (acme.has_feature("ft-chat"), ann.has_feature("ft-chat")) == (False, False)


@scenario
def answers_read_by_hand(service: Client) -> None:
    for kind in (User, Tenant, Role, Permission, Feature, PricingTier):
        kind.create("by-hand", {"name": "x"})
        of_type = kind("by-hand").object_type
        sent = service.get(f"/v2/objects/{of_type}/by-hand").json()

        for read in (kind.from_json(sent), kind.from_warrant_obj(Object.from_json(sent))):
            assert (type(read), read.object_type, read.id, read.meta) == (kind, of_type, "by-hand", {"name": "x"})
        assert kind.from_json({"name": "no object"}) == {"name": "no object"}
