// What users of warrant-node do with warrants, checks, queries and sessions.

import assert from "node:assert/strict";

import { sdk } from "./watching.mjs";

const { CheckOp, SelfServiceStrategy, WarrantClient } = sdk;
const literal = (objectType, objectId, relation) => ({ objectType, objectId, ...(relation && { relation }) });

/** A subject or object of a class of the caller's own, which only has to tell its type and id. */
class Desk {
  getObjectType = () => "role";
  getObjectId = () => "own-desk";
}

/** A warrant as a query answers it, as far as it says who has what. */
const claim = ({ objectType, objectId, relation, subject }) => ({ objectType, objectId, relation, subject });

export async function warrants({ Authorization, Role, User, Warrant }) {
  const [ann, staff] = [await User.create({ userId: "w-ann" }), await Role.create({ roleId: "w-staff" })];
  const [joined, group] = [
    { object: staff, relation: "member", subject: ann },
    { object: literal("permission", "w-print"), relation: "member", subject: literal("role", "w-staff", "member") },
  ];
  const asked = { object: group.object, relation: "member", subject: ann };

  const made = await Warrant.create(joined);
  await Warrant.create(group);

  assert.deepEqual(claim(made), { ...literal("role", "w-staff", "member"), subject: literal("user", "w-ann") });
  assert.ok(Date.parse(made.createdAt));
  assert.equal((await Warrant.create(joined)).createdAt, made.createdAt);
  assert.equal(await Authorization.check(asked), true);
  assert.equal(await Warrant.delete(joined), "");
  assert.equal(await Authorization.check(asked), false);
  const name = "role:w-staff#member@user:w-ann";
  await assert.rejects(Warrant.delete(joined), { name: "NotFoundError", message: `Warrant ${name} not found` });
  await assert.rejects(Warrant.create({ ...joined, object: literal("nowhere", "x") }), { code: "invalid_parameter" });
}

export async function warrants_with_context({ Authorization, Warrant }) {
  const granted = {
    object: literal("permission", "x-read"),
    relation: "member",
    subject: literal("user", "x-ann"),
    context: { tenant: "acme", region: "eu" },
  };

  const made = await Warrant.create(granted);

  assert.equal(made.policy, 'region == "eu" && tenant == "acme"');
  assert.equal(await Authorization.check(granted), true);
  assert.equal(await Authorization.check({ ...granted, context: { tenant: "acme" } }), false);
  assert.equal(await Authorization.check({ ...granted, context: undefined }), false);
  await assert.rejects(Warrant.delete({ ...granted, context: undefined }), { code: "not_found" });
  await Warrant.delete({ ...granted, context: { region: "eu", tenant: "acme" } });
  assert.equal(await Authorization.check(granted), false);
}

export async function checks({ Authorization, Warrant }) {
  const held = { object: new Desk(), relation: "member", subject: literal("user", "c-ann") };
  const other = { ...held, subject: literal("user", "c-bob") };
  await Warrant.create(held);

  assert.equal(await Authorization.check({ ...held, consistentRead: true, debug: true }), true);
  assert.equal(await Authorization.check(other), false);
  assert.equal(await Authorization.checkMany({ op: CheckOp.AnyOf, warrants: [other, held] }), true);
  assert.equal(await Authorization.checkMany({ op: CheckOp.AllOf, warrants: [held, other] }), false);
  assert.equal(await Authorization.checkMany({ warrants: [held] }), true);
  await assert.rejects(Authorization.checkMany({ warrants: [held, held] }), { name: "InvalidParameterError" });
  await assert.rejects(Authorization.check({ ...other, object: literal("nowhere", "x") }), { name: "NotFoundError" });
}

export async function permissions_and_features(given) {
  const { Authorization, Feature, Permission, PricingTier, Role, Tenant, User } = given;
  const ann = await User.create({ userId: "pf-ann" });
  const may = { permissionId: "pf-read", subject: ann };
  const has = { featureId: "pf-chat", subject: literal("user", "pf-ann") };

  await Role.create({ roleId: "pf-staff" });
  await Permission.create({ permissionId: "pf-read" });
  await Permission.assignPermissionToRole("pf-staff", "pf-read");
  await Feature.create({ featureId: "pf-chat" });
  await PricingTier.create({ pricingTierId: "pf-gold" });
  await Feature.assignFeatureToPricingTier("pf-gold", "pf-chat");
  await Tenant.create({ tenantId: "pf-acme" });
  await PricingTier.assignPricingTierToTenant("pf-acme", "pf-gold");
  assert.deepEqual([await Authorization.hasPermission(may), await Authorization.hasFeature(has)], [false, false]);
  await ann.assignRole("pf-staff");
  await User.assignUserToTenant("pf-acme", "pf-ann", "manager");
  assert.deepEqual([await Authorization.hasPermission(may), await Authorization.hasFeature(has)], [true, true]);
  assert.deepEqual([await ann.hasPermission("pf-read"), await ann.hasFeature("pf-chat")], [true, true]);
  await Role.delete("pf-staff");
  assert.equal(await Authorization.hasPermission({ ...may, context: { any: "thing" } }), false);
}

export async function checks_at_another_endpoint({ Authorization, Warrant, endpoint, apiKey }) {
  const held = { object: literal("role", "edge"), relation: "member", subject: literal("user", "edge-ann") };
  await Warrant.create(held);

  new WarrantClient({ endpoint: "http://127.0.0.1:1", authorizeEndpoint: endpoint, apiKey });
  assert.equal(await Authorization.check(held), true);
  assert.equal(await Authorization.checkMany({ op: CheckOp.AllOf, warrants: [held, held] }), true);
}

export async function queries({ Permission, Query, Role, User, Warrant }) {
  const ann = await User.create({ userId: "q-ann" });
  const subject = literal("user", "q-ann");
  const [role, permission] = [literal("role", "q-staff", "member"), literal("permission", "q-read", "member")];
  await Role.create({ roleId: "q-staff" });
  await Permission.create({ permissionId: "q-read" });
  await ann.assignRole("q-staff");
  await Permission.assignPermissionToRole("q-staff", "q-read");
  const asked = async (query, options) => (await Warrant.queryWarrants(query, options)).map(claim);

  assert.deepEqual(await asked(Query.selectExplicitWarrants().for({ subject: ann })), [{ ...role, subject }]);
  const found = await asked(Query.selectWarrants().for({ subject: ann }), { limit: 10 });
  found.sort((one, other) => one.objectType.localeCompare(other.objectType));
  assert.deepEqual(found, [{ ...permission, subject }, { ...role, subject }]);
  const where = { object: literal("permission", "q-read"), relation: "member" };
  const only = [{ ...permission, subject }];
  assert.deepEqual(await asked(Query.selectWarrants().for(where).where({ subject: ann })), only);
  assert.deepEqual(await asked(Query.selectWarrants().for({ subject: ann }).where(where)), only);
  const stored = { ...where, subject: literal("role", "q-staff") };
  const explicit = await asked(Query.selectExplicitWarrants().for(stored));
  assert.deepEqual(explicit, [{ ...permission, subject: stored.subject }]);
}

export async function queries_with_context({ Query, Warrant }) {
  const granted = { object: literal("role", "qx-desk"), relation: "member", subject: literal("user", "qx-ann") };
  await Warrant.create({ ...granted, context: { region: "north sea" } });
  const asked = (context) => Warrant.queryWarrants(Query.selectWarrants().for({ ...granted, context }));

  assert.equal((await asked({ region: "north sea", other: "x" })).length, 1);
  assert.deepEqual(await asked({ region: "south" }), []);
  await assert.rejects(Warrant.queryWarrants(new sdk.Query("everything")), { name: "InvalidParameterError" });
}

export async function query_texts({ Query }) {
  const query = Query.selectWarrants().for({ object: new Desk(), context: { a: "1", b: "2" } });

  assert.deepEqual(query.where({ relation: "member" }).toObject(), {
    select: "warrants",
    for: "object=role:own-desk,context=a=1 b=2",
    where: "relation=member",
  });
  assert.deepEqual(Query.selectExplicitWarrants().toObject(), { select: "explicit warrants" });
}

export async function sessions({ Session, User, Warrant, endpoint }) {
  const [permission, ann] = [literal("permission", "s-read"), await User.create({ userId: "s-ann" })];
  await Warrant.create({ object: permission, relation: "member", subject: ann, context: { region: "eu" } });
  const asked = async (token, objectId) => {
    const headers = { Authorization: `Bearer ${token}`, "Warrant-Client-Key": "client-key" };
    const body = JSON.stringify({ warrants: [{ ...permission, objectId, relation: "member" }] });
    const answer = await fetch(`${endpoint}/v2/authorize`, { method: "POST", headers, body });
    return (await answer.json()).code;
  };

  const token = await Session.createAuthorizationSession({ userId: "s-ann", ttl: 60, context: { region: "eu" } });
  const elsewhere = await Session.createAuthorizationSession({ userId: "s-ann", context: { region: "us" } });
  const url = await Session.createSelfServiceSession(
    { userId: "s-ann", tenantId: "s-acme", selfServiceStrategy: SelfServiceStrategy.FGAC },
    "https://app.example/back",
  );

  assert.deepEqual([await asked(token, "s-read"), await asked(token, "s-write")], [200, 403]);
  assert.equal(await asked(elsewhere, "s-read"), 403);
  assert.match(url, /^https:\/\/self-serve\.warrant\.dev\/[\w.-]+\?redirectUrl=https:\/\/app\.example\/back$/);
  await assert.rejects(Session.createAuthorizationSession({}), { name: "MissingRequiredParameterError" });
}

export async function errors({ User, endpoint }) {
  await assert.rejects(User.get("e-nobody"), (error) => {
    assert.equal(error.toString(), "NotFoundError [not_found]: user e-nobody not found");
    return error instanceof sdk.ApiError;
  });
  for (const name of ["limit", "page", "sortOrder"]) {
    await assert.rejects(User.listUsers({ [name]: undefined }), { name: "InvalidParameterError" });
  }
  new WarrantClient({ endpoint, apiKey: "wrong" });
  await assert.rejects(User.get("e-nobody"), { name: "UnauthorizedError", code: "unauthorized" });
  await assert.rejects(User.create(), { name: "UnauthorizedError" });
}
