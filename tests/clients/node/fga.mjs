// What users of @workos-inc/node do with its FGA module. Which methods a scenario shows stands in workos-node.yaml, under
// its name.

import assert from "node:assert/strict";

const report = (resourceId) => ({ resourceType: "report", resourceId });
const user = (resourceId) => ({ resourceType: "user", resourceId });
const owner = (id, who, more = {}) => ({ resource: report(id), relation: "owner", subject: user(who), ...more });
const reader = (id, who, more = {}) => ({ ...owner(id, who, more), relation: "reader" });
const idsOf = (page) => page.data.map((found) => found.resourceId);
const missing = { status: 404, name: "NotFoundException" };

export async function resources(fga) {
  const made = await fga.createResource({ resource: report("n-1"), meta: { n: 1 } });
  const generated = await fga.createResource({ resource: { resourceType: "report" } });
  const changed = await fga.updateResource({ resource: made, meta: { n: 2 } });

  assert.deepEqual(made, { ...report("n-1"), meta: { n: 1 } });
  assert.ok(generated.resourceId);
  assert.deepEqual(await fga.getResource(report("n-1")), changed);
  const page = await fga.listResources({ resourceType: "report", search: "n-1", limit: 1 });
  assert.deepEqual(page.data, [{ ...report("n-1"), meta: { n: 2 } }]);
  assert.equal((await fga.listResources()).object, "list");
  await fga.deleteResource(report("n-1"));
  await assert.rejects(fga.getResource(report("n-1")), missing);
}

export async function resourceBatches(fga) {
  const both = [report("n-b1"), report("n-b2")];

  const made = await fga.batchWriteResources({ op: "create", resources: both.map((resource) => ({ resource })) });
  const deleted = await fga.batchWriteResources({ op: "delete", resources: both });

  assert.deepEqual([made, deleted], [both.map((one) => ({ ...one, meta: undefined })), deleted]);
  assert.deepEqual(deleted.map((one) => one.resourceId), ["n-b1", "n-b2"]);
}

export async function warrants(fga) {
  const first = await fga.writeWarrant(owner("n-w", "ann"));
  const second = await fga.batchWriteWarrants([
    { op: "create", ...owner("n-w", "bob", { policy: "hour < 17" }) },
    { op: "delete", ...owner("n-w", "ann") },
  ]);
  const page = await fga.listWarrants({ resourceType: "report", resourceId: "n-w" }, { warrantToken: "latest" });

  assert.ok(first.warrantToken && first.warrantToken !== second.warrantToken);
  assert.deepEqual(page.data.map((found) => [found.subject.resourceId, found.policy]), [["bob", "hour < 17"]]);
  await assert.rejects(fga.writeWarrant({ op: "delete", ...owner("n-w", "ann") }), missing);
  await assert.rejects(fga.writeWarrant({ ...owner("n-w", "ann"), relation: "author" }), { status: 400 });
}

export async function checks(fga) {
  await fga.writeWarrant(owner("n-c", "ann"));
  const { warrantToken } = await fga.writeWarrant(owner("n-c", "bob", { policy: "hour < 17" }));
  const [ann, bob] = [reader("n-c", "ann"), reader("n-c", "bob")];

  const alone = await fga.check({ checks: [ann] }, { warrantToken });
  assert.deepEqual([alone.isAuthorized(), alone.isImplicit, alone.warrantToken], [true, true, warrantToken]);
  assert.ok((await fga.check({ checks: [{ ...bob, context: { hour: 9 } }] })).isAuthorized());
  assert.ok(!(await fga.check({ op: "all_of", checks: [ann, bob] })).isAuthorized());
  const batch = await fga.checkBatch({ checks: [ann, bob] });
  assert.deepEqual(batch.map((one) => one.result), ["authorized", "not_authorized"]);
  const debugged = await fga.check({ checks: [bob], debug: true });
  assert.deepEqual(debugged.warnings.map(({ code, keys }) => [code, keys]), [["missing_context_keys", ["hour"]]]);
  const { decisionTree } = debugged.debugInfo;
  assert.deepEqual([decisionTree.decision, decisionTree.check.subject], ["not_matched", user("bob")]);
  assert.ok(decisionTree.children.length > 0);
}

export async function queries(fga) {
  for (const id of ["n-q1", "n-q2", "n-q3"]) await fga.writeWarrant(owner(id, "n-quinn"));

  const asked = { q: "select report where user:n-quinn is reader", limit: 2, order: "asc" };
  const page = await fga.query(asked, { warrantToken: "latest" });

  assert.deepEqual(idsOf(page), ["n-q1", "n-q2"]);
  assert.deepEqual(idsOf(await fga.query({ ...asked, after: page.listMetadata.after })), ["n-q3"]);
  assert.equal((await (await fga.query({ q: asked.q })).autoPagination()).length, 3);
  assert.deepEqual([page.data[0].isImplicit, page.data[0].warrant.relation], [true, "owner"]);
}
