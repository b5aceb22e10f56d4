// What users of @openfga/sdk do, by scenario. Each gets a function that makes a client, and the module.

import assert from "node:assert/strict";

const direct = (...types) => ({ directly_related_user_types: types });
const user = { type: "user" };
const member = { type: "team", relation: "member" };
const MODEL = {
  schema_version: "1.1",
  type_definitions: [
    { type: "user" },
    { type: "team", relations: { member: { this: {} } }, metadata: { relations: { member: direct(user) } } },
    {
      type: "file",
      relations: {
        owner: { this: {} },
        viewer: { union: { child: [{ this: {} }, { computedUserset: { relation: "owner" } }] } },
      },
      metadata: { relations: { owner: direct(user), viewer: direct(user, { type: "user", wildcard: {} }, member) } },
    },
  ],
};
const tuple = (text) => {
  const [object, relation, named] = text.split(" ");
  return { object, relation, user: named };
};
const TUPLES = [
  "file:a viewer user:ann",
  "file:a owner user:bob",
  "file:b viewer team:core#member",
  "team:core member user:ann",
].map(tuple);

async function begin(build) {
  const { id: storeId } = await build({}).createStore({ name: "SDK store" });
  const { authorization_model_id: authorizationModelId } = await build({ storeId }).writeAuthorizationModel(MODEL);
  const client = build({ storeId, authorizationModelId });
  await client.write({ writes: TUPLES });
  return { client, storeId, authorizationModelId };
}

export async function stores(build, { FgaApiNotFoundError }) {
  const { client, storeId, authorizationModelId } = await begin(build);
  assert.equal(client.getStoreId({}, client.configuration), storeId);
  assert.equal(client.getAuthorizationModelId({}), authorizationModelId);
  assert.equal((await client.getStore()).name, "SDK store");
  const first = await client.listStores({ pageSize: 1 });
  assert.equal(first.stores.length, 1);
  const named = await client.listStores({ name: "SDK store" });
  assert.ok(named.stores.some(({ id }) => id === storeId));
  await client.checkValidApiConnection();
  await client.deleteStore();
  await assert.rejects(client.getStore(), FgaApiNotFoundError);
}

export async function models(build, { FgaApiValidationError }) {
  const { client, authorizationModelId } = await begin(build);
  const { authorization_model_id: newest } = await client.writeAuthorizationModel(MODEL);
  const listed = await client.readAuthorizationModels({ pageSize: 1 });
  assert.equal(listed.authorization_models[0].id, newest);
  const rest = await client.readAuthorizationModels({ continuationToken: listed.continuation_token });
  assert.equal(rest.authorization_models[0].id, authorizationModelId);
  assert.equal((await client.readLatestAuthorizationModel()).authorization_model.id, newest);
  const { authorization_model: kept } = await client.readAuthorizationModel();
  assert.deepEqual(kept.type_definitions.map(({ type }) => type), ["user", "team", "file"]);
  const unknown = { authorizationModelId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
  await assert.rejects(client.readAuthorizationModel(unknown), (error) => {
    assert.ok(error instanceof FgaApiValidationError);
    assert.equal(error.apiErrorCode, "authorization_model_not_found");
    return true;
  });
}

export async function tuples(build) {
  const { client } = await begin(build);
  const page = await client.read({ object: "file:a" }, { pageSize: 1 });
  const rest = await client.read({ object: "file:a" }, { continuationToken: page.continuation_token });
  assert.deepEqual([...page.tuples, ...rest.tuples].map(({ key }) => key.user), ["user:ann", "user:bob"]);
  assert.equal((await client.read()).tuples.length, 4);
  const added = [tuple("file:c viewer user:*")];
  await client.writeTuples(added);
  await client.writeTuples(added, { conflict: { onDuplicateWrites: "ignore" } });
  const parts = await client.write(
    { writes: [...added, tuple("file:d viewer user:ann")] },
    { transaction: { disable: true } },
  );
  assert.deepEqual(parts.writes.map(({ status }) => status).sort(), ["failure", "success"]);
  await client.deleteTuples(added);
  await client.deleteTuples(added, { conflict: { onMissingDeletes: "ignore" } });
  const changes = await client.readChanges({ type: "file" }, { pageSize: 100 });
  assert.deepEqual(changes.changes.map(({ operation }) => operation.split("_").pop()), [
    "WRITE", "WRITE", "WRITE", "WRITE", "WRITE", "DELETE",
  ]);
  const after = await client.readChanges({ type: "file" }, { continuationToken: changes.continuation_token });
  assert.deepEqual(after, { ...after, changes: [], continuation_token: changes.continuation_token });
}

export async function checks(build) {
  const { client } = await begin(build);
  assert.equal((await client.check(tuple("file:a viewer user:bob"))).allowed, true);
  const contextualTuples = [tuple("file:a viewer user:cleo")];
  assert.equal((await client.check({ ...tuple("file:a viewer user:cleo"), contextualTuples })).allowed, true);
  assert.equal((await client.check(tuple("file:a viewer user:cleo"))).allowed, false);
  const all = [tuple("file:a viewer user:ann"), tuple("file:a viewer user:cleo")];
  const single = await client.clientBatchCheck(all);
  assert.deepEqual(new Set(single.result.map(({ allowed }) => allowed)), new Set([true, false]));
  const batch = await client.batchCheck({ checks: all.map((key, n) => ({ ...key, correlationId: `id-${n}` })) });
  const byId = Object.fromEntries(batch.result.map((one) => [one.correlationId, one.allowed]));
  assert.deepEqual(byId, { "id-0": true, "id-1": false });
  const raw = await client.singleBatchCheck({ checks: [{ tuple_key: all[0], correlation_id: "one" }] });
  assert.equal(raw.result.one.allowed, true);
  const listed = await client.listRelations({ user: "user:bob", object: "file:a", relations: ["owner", "viewer"] });
  assert.deepEqual(listed.relations.sort(), ["owner", "viewer"]);
}

export async function lists(build) {
  const { client } = await begin(build);
  const request = { user: "user:ann", relation: "viewer", type: "file" };
  assert.deepEqual((await client.listObjects(request)).objects, ["file:a", "file:b"]);
  const streamed = [];
  for await (const { object } of client.streamedListObjects(request)) streamed.push(object);
  assert.deepEqual(streamed, ["file:a", "file:b"]);
  const users = await client.listUsers({
    object: { type: "file", id: "a" },
    relation: "viewer",
    user_filters: [{ type: "user" }],
    contextualTuples: [tuple("file:a viewer user:*")],
  });
  assert.deepEqual(users.users.map((one) => one.object?.id ?? "*").sort(), ["*", "ann", "bob"]);
  const { tree } = await client.expand({ object: "file:a", relation: "viewer" });
  assert.deepEqual(tree.root.union.nodes[0].leaf.users.users, ["user:ann"]);
}

export async function assertions(build) {
  const { client, authorizationModelId } = await begin(build);
  await client.writeAssertions([{ ...tuple("file:a viewer user:ann"), expectation: true }]);
  const kept = await client.readAssertions();
  assert.equal(kept.authorization_model_id, authorizationModelId);
  assert.deepEqual(kept.assertions.map(({ expectation }) => expectation), [true]);
}

export async function otherRequests(build) {
  const { client, storeId } = await begin(build);
  const answer = await client.executeApiRequest({
    operationName: "Check",
    method: "POST",
    path: "/stores/{store_id}/check",
    pathParams: { store_id: storeId },
    body: { tuple_key: tuple("file:a viewer user:ann") },
  });
  assert.equal(answer.allowed, true);
  const stream = await client.executeStreamedApiRequest({
    operationName: "StreamedListObjects",
    method: "POST",
    path: "/stores/{store_id}/streamed-list-objects",
    pathParams: { store_id: storeId },
    body: { user: "user:ann", relation: "viewer", type: "file" },
  });
  assert.ok(stream);
}
