// What pages do with warrant-js: checks for the user whom the token of a session names.

import assert from "node:assert/strict";

import { sdk } from "./watching.mjs";

const role = (objectId) => ({ object: { objectType: "role", objectId }, relation: "member" });
const granted = (objectType, objectId, userId, policy) => {
  const subject = { objectType: "user", objectId: userId };
  return { objectType, objectId, relation: "member", subject, ...(policy && { policy }) };
};

/** What the server of the page does: warrants are written, and a session begins. Answers its client. */
async function session({ WarrantClient, endpoint, apiKey }, warrants, members) {
  const post = async (path, body) => {
    const headers = { Authorization: `ApiKey ${apiKey}` };
    const answer = await fetch(endpoint + path, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(answer.status, 200, await answer.clone().text());
    return answer.json();
  };
  await post("/v2/warrants", warrants);
  const { token } = await post("/v2/sessions", { type: "sess", ...members });
  return new WarrantClient({ clientKey: "client-key", sessionToken: token, endpoint });
}

export async function checks(given) {
  const warrants = [granted("role", "js-desk", "js-ann"), granted("role", "js-bar", "js-bob")];
  const client = await session(given, warrants, { userId: "js-ann", ttl: 60 });
  const desk = { getObjectType: () => "role", getObjectId: () => "js-desk" };
  const both = [role("js-desk"), role("js-bar")];

  assert.equal(await client.check(role("js-desk")), true);
  assert.equal(await client.check({ object: desk, relation: "member", consistentRead: true, debug: true }), true);
  assert.equal(await client.check(role("js-bar")), false);
  assert.equal(await client.checkMany({ op: sdk.CheckOp.AnyOf, warrants: both }), true);
  assert.equal(await client.checkMany({ op: sdk.CheckOp.AllOf, warrants: both }), false);
}

export async function permissions_and_features(given) {
  const warrants = [granted("permission", "js-read", "js-cleo"), granted("feature", "js-chat", "js-cleo")];
  const client = await session(given, warrants, { userId: "js-cleo" });

  assert.equal(await client.hasPermission({ permissionId: "js-read" }), true);
  assert.equal(await client.hasPermission({ permissionId: "js-write" }), false);
  assert.equal(await client.hasFeature({ featureId: "js-chat" }), true);
  assert.equal(await client.hasFeature({ featureId: "js-call" }), false);
}

export async function context_of_the_session(given) {
  const warrants = [granted("role", "js-night", "js-dora", 'shift == "night" && place == "bar"')];
  const client = await session(given, warrants, { userId: "js-dora", context: { shift: "night" } });

  assert.equal(await client.check({ ...role("js-night"), context: { place: "bar" } }), true);
  assert.equal(await client.check(role("js-night")), false);
  assert.equal(await client.check({ ...role("js-night"), context: { place: "bar", shift: "day" } }), true);
}

export async function objects(given) {
  const { Feature, Permission, PricingTier, Role, Tenant, User } = given;
  const named = [Feature, Permission, PricingTier, Role, Tenant].map((kind) => new kind("js-any"));
  const warrants = named.map((object) => granted(object.getObjectType(), object.getObjectId(), "js-eve"));
  warrants.push({ ...granted("user", "js-any", "js-eve"), relation: "parent" });
  const client = await session(given, warrants, { userId: "js-eve" });

  for (const object of named) assert.equal(await client.check({ object, relation: "member" }), true);
  const child = new User("js-any");
  assert.equal(await client.check({ object: child, relation: "parent" }), true);
  assert.deepEqual([child.getObjectType(), child.getObjectId()], ["user", "js-any"]);
}

export async function errors({ WarrantClient, endpoint }) {
  const client = new WarrantClient({ clientKey: "client-key", sessionToken: "none", endpoint });

  await assert.rejects(client.check(role("x")), { code: "unauthorized", message: "Invalid token" });
}
