// What users of warrant-node do with users, tenants, roles, permissions, features and pricing tiers. Which methods a
// scenario shows stands in warrant-node.yaml, under its name.

import assert from "node:assert/strict";

const plain = (found) => (Array.isArray(found) ? found.map(plain) : { ...found });
const idsOf = (listed) => listed.map((found) => found.getObjectId());

/** The error of the SDK for what does not exist. */
const missing = (type, id) => ({ name: "NotFoundError", code: "not_found", message: `${type} ${id} not found` });

/** Two objects of a kind are read, listed page by page, and the second is deleted. */
async function listedAndDeleted(kind, list, type, [first, second], q) {
  assert.deepEqual([first.getObjectType(), second.getObjectType()], [type, type]);
  assert.deepEqual(plain(await kind.get(first.getObjectId())), plain(first));
  assert.deepEqual(plain(await list({ q })), plain([first, second]));
  assert.deepEqual(idsOf(await list({ q, limit: 1 })), idsOf([first]));
  assert.deepEqual(idsOf(await list({ q, limit: 1, afterId: first.getObjectId() })), idsOf([second]));
  assert.ok((await list()).length >= 2);
  assert.equal(await kind.delete(second.getObjectId()), "");
  assert.deepEqual(idsOf(await list({ q })), idsOf([first]));
  await assert.rejects(kind.get(second.getObjectId()), missing(type, second.getObjectId()));
  await assert.rejects(kind.delete(second.getObjectId()), missing(type, second.getObjectId()));
}

/** `given` is listed and held between the two calls; the first answers what was given. */
async function givenAndTaken(given, give, take, list, held) {
  const id = given.getObjectId();
  assert.deepEqual([await held(), idsOf(await list())], [false, []]);
  assert.deepEqual(plain(await give(id)), plain(given));
  assert.deepEqual([await held(), idsOf(await list())], [true, [id]]);
  assert.deepEqual(plain(await list({ limit: 10 })), [plain(given)]);
  assert.equal(await take(id), "");
  assert.deepEqual([await held(), idsOf(await list())], [false, []]);
}

/** A check whether `subject` is a member of `object`. */
const isMember = (Authorization, object, subject) => () =>
  Authorization.check({ object, relation: "member", subject });

export async function users({ User }) {
  const first = await User.create({ userId: "usr-1.a|b@c:d", email: "ann@example.org" });
  const second = await User.create({ userId: "usr-2" });

  assert.deepEqual(plain(first), { userId: "usr-1.a|b@c:d", email: "ann@example.org" });
  assert.deepEqual(plain(second), { userId: "usr-2", email: null });
  assert.equal((await User.update("usr-2", { email: "" })).email, "");
  assert.equal((await User.update("usr-2", {})).email, null);
  await listedAndDeleted(User, User.listUsers, "user", [first, second], "usr-");
  assert.match((await User.create()).userId, /^[0-9a-f-]{36}$/);
  await assert.rejects(User.update("usr-2", { email: "x" }), missing("user", "usr-2"));
  await assert.rejects(User.create({ userId: "no blanks" }), { name: "InvalidParameterError" });
}

export async function user_batches({ User }) {
  const made = await User.batchCreate([{ userId: "ub-2", email: "b@example.org" }, { userId: "ub-1" }, {}]);

  assert.deepEqual(plain(made.slice(0, 2)), [
    { userId: "ub-2", email: "b@example.org" },
    { userId: "ub-1", email: null },
  ]);
  assert.equal((await User.get(made[2].userId)).email, null);
  await assert.rejects(User.batchCreate([{ userId: "ub-3" }, { userId: "*" }]), { code: "invalid_parameter" });
  assert.deepEqual(idsOf(await User.listUsers({ q: "ub-" })), ["ub-1", "ub-2"]);
}

export async function tenants({ Tenant }) {
  const first = await Tenant.create({ tenantId: "tnt-1", name: "Acme" });
  const second = await Tenant.create({ tenantId: "tnt-2" });

  assert.deepEqual(plain(first), { tenantId: "tnt-1", name: "Acme" });
  assert.deepEqual(plain(second), { tenantId: "tnt-2", name: null });
  assert.equal((await Tenant.update("tnt-1", { name: "Acme Ltd" })).name, "Acme Ltd");
  assert.equal((await Tenant.update("tnt-1", { name: "Acme" })).name, "Acme");
  await listedAndDeleted(Tenant, Tenant.listTenants, "tenant", [first, second], "tnt-");
  assert.match((await Tenant.create()).tenantId, /^[0-9a-f-]{36}$/);
}

export async function tenant_batches({ Tenant }) {
  const made = await Tenant.batchCreate([{ tenantId: "tb-2", name: "B" }, { tenantId: "tb-1" }]);

  assert.deepEqual(plain(made), [
    { tenantId: "tb-2", name: "B" },
    { tenantId: "tb-1", name: null },
  ]);
  assert.deepEqual(plain(await Tenant.listTenants({ q: "tb-" })), plain([made[1], made[0]]));
}

export async function users_of_tenants({ Authorization, Tenant, User }) {
  const [acme] = await Tenant.batchCreate([{ tenantId: "ut-acme", name: "Acme" }]);
  const [ann] = await User.batchCreate([{ userId: "ut-ann", email: "ann@example.org" }]);
  const held = isMember(Authorization, acme, ann);

  const assigned = await User.assignUserToTenant("ut-acme", "ut-ann", "member");
  assert.deepEqual(
    [assigned.objectType, assigned.objectId, assigned.relation, assigned.subject],
    ["tenant", "ut-acme", "member", { objectType: "user", objectId: "ut-ann" }],
  );
  assert.equal(await held(), true);
  for (const listed of [await User.listUsersForTenant("ut-acme"), await acme.listUsers()]) {
    assert.deepEqual(plain(listed), [plain(ann)]);
  }
  for (const listed of [await Tenant.listTenantsForUser("ut-ann"), await ann.listTenants({ limit: 5 })]) {
    assert.deepEqual(plain(listed), [plain(acme)]);
  }
  assert.equal(await User.removeUserFromTenant("ut-acme", "ut-ann", "member"), "");
  assert.deepEqual([await held(), await acme.listUsers(), await ann.listTenants()], [false, [], []]);
  assert.equal((await acme.assignUser("ut-ann", "admin")).relation, "admin");
  assert.equal(await held(), true);
  await acme.removeUser("ut-ann", "admin");
  assert.equal(await held(), false);
}

export async function roles({ Authorization, Role, User }) {
  const first = await Role.create({ roleId: "rol-1", name: "Staff", description: "All who work here" });
  const second = await Role.create({ roleId: "rol-2" });
  const ann = await User.create({ userId: "ro-ann" });
  const held = isMember(Authorization, first, ann);

  assert.deepEqual(plain(first), { roleId: "rol-1", name: "Staff", description: "All who work here" });
  assert.deepEqual(plain(second), { roleId: "rol-2", name: null, description: null });
  assert.deepEqual(plain(await Role.update("rol-2", { name: "x" })), { roleId: "rol-2", name: "x", description: null });
  await Role.update("rol-2", {});
  await listedAndDeleted(Role, Role.listRoles, "role", [first, second], "rol-");
  await givenAndTaken(
    first,
    (id) => Role.assignRoleToUser("ro-ann", id),
    (id) => Role.removeRoleFromUser("ro-ann", id),
    (options) => Role.listRolesForUser("ro-ann", options),
    held,
  );
  await givenAndTaken(first, ann.assignRole, ann.removeRole, ann.listRoles, held);
}

export async function permissions({ Authorization, Permission, Role, User }) {
  const first = await Permission.create({ permissionId: "prm-1", name: "Read", description: "May read" });
  const second = await Permission.create({ permissionId: "prm-2" });
  const [ann, staff] = [await User.create({ userId: "pe-ann" }), await Role.create({ roleId: "pe-staff" })];

  assert.deepEqual(plain(first), { permissionId: "prm-1", name: "Read", description: "May read" });
  assert.equal((await Permission.update("prm-2", { description: "" })).description, "");
  await Permission.update("prm-2", {});
  await listedAndDeleted(Permission, Permission.listPermissions, "permission", [first, second], "prm-");
  await givenAndTaken(
    first,
    (id) => Permission.assignPermissionToUser("pe-ann", id),
    (id) => Permission.removePermissionFromUser("pe-ann", id),
    (options) => Permission.listPermissionsForUser("pe-ann", options),
    isMember(Authorization, first, ann),
  );
  await givenAndTaken(
    first,
    (id) => Permission.assignPermissionToRole("pe-staff", id),
    (id) => Permission.removePermissionFromRole("pe-staff", id),
    (options) => Permission.listPermissionsForRole("pe-staff", options),
    isMember(Authorization, first, staff),
  );
  for (const owner of [ann, staff]) {
    const held = () => owner.hasPermission("prm-1");
    await givenAndTaken(first, owner.assignPermission, owner.removePermission, owner.listPermissions, held);
  }
}

export async function features({ Authorization, Feature, PricingTier, Tenant, User }) {
  const [first, second] = [await Feature.create({ featureId: "ftr-1" }), await Feature.create({ featureId: "ftr-2" })];
  const [ann, acme] = [await User.create({ userId: "fe-ann" }), await Tenant.create({ tenantId: "fe-acme" })];
  const gold = await PricingTier.create({ pricingTierId: "fe-gold" });

  await listedAndDeleted(Feature, Feature.listFeatures, "feature", [first, second], "ftr-");
  await givenAndTaken(
    first,
    (id) => Feature.assignFeatureToPricingTier("fe-gold", id),
    (id) => Feature.removeFeatureFromPricingTier("fe-gold", id),
    (options) => Feature.listFeaturesForPricingTier("fe-gold", options),
    isMember(Authorization, first, gold),
  );
  await givenAndTaken(
    first,
    (id) => Feature.assignFeatureToTenant("fe-acme", id),
    (id) => Feature.removeFeatureFromTenant("fe-acme", id),
    (options) => Feature.listFeaturesForTenant("fe-acme", options),
    isMember(Authorization, first, acme),
  );
  await givenAndTaken(
    first,
    (id) => Feature.assignFeatureToUser("fe-ann", id),
    (id) => Feature.removeFeatureFromUser("fe-ann", id),
    (options) => Feature.listFeaturesForUser("fe-ann", options),
    isMember(Authorization, first, ann),
  );
  for (const owner of [ann, acme, gold]) {
    const held = () => owner.hasFeature("ftr-1");
    await givenAndTaken(first, owner.assignFeature, owner.removeFeature, owner.listFeatures, held);
  }
}

export async function pricing_tiers({ Authorization, PricingTier, Tenant, User }) {
  const first = await PricingTier.create({ pricingTierId: "tier-1" });
  const second = await PricingTier.create({ pricingTierId: "tier-2" });
  const [ann, acme] = [await User.create({ userId: "pt-ann" }), await Tenant.create({ tenantId: "pt-acme" })];

  await listedAndDeleted(PricingTier, PricingTier.listPricingTiers, "pricing-tier", [first, second], "tier-");
  await givenAndTaken(
    first,
    (id) => PricingTier.assignPricingTierToTenant("pt-acme", id),
    (id) => PricingTier.removePricingTierFromTenant("pt-acme", id),
    (options) => PricingTier.listPricingTiersForTenant("pt-acme", options),
    isMember(Authorization, first, acme),
  );
  await givenAndTaken(
    first,
    (id) => PricingTier.assignPricingTierToUser("pt-ann", id),
    (id) => PricingTier.removePricingTierFromUser("pt-ann", id),
    (options) => PricingTier.listPricingTiersForUser("pt-ann", options),
    isMember(Authorization, first, ann),
  );
  for (const owner of [ann, acme]) {
    const held = isMember(Authorization, first, owner);
    await givenAndTaken(first, owner.assignPricingTier, owner.removePricingTier, owner.listPricingTiers, held);
  }
}
