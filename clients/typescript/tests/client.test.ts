import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import * as magistrate from "../src/index.js";
import { Client, InvalidUse, MagistrateError, Timeout, TooManyRequests, Unauthenticated, Unreachable } from "../src/index.js";
import { isLater } from "../src/tokens.js";
import { counted, newSession, newStore } from "./service.js";
import { reply, withStub } from "./stub.js";

const SECRET = "a-key-that-nobody-may-see";
const ALLOWED = { code: 200, result: "Authorized", isImplicit: false };
const SESSION_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl";

test("the environment has what is not said", async () => {
  const { url, key, store } = await newStore("document:plan#viewer@user:ann");
  Object.assign(process.env, { MAGISTRATE_URL: url, MAGISTRATE_API_KEY: key, MAGISTRATE_STORE: store });

  assert.equal(await new Client().check("user:ann", "viewer", "document:plan"), true);
  await assert.rejects(new Client({ key: "another" }).check("user:ann", "viewer", "document:plan"), Unauthenticated);
  delete process.env["MAGISTRATE_URL"];
  assert.throws(() => new Client(), InvalidUse);
  process.env["MAGISTRATE_URL"] = url;
  delete process.env["MAGISTRATE_STORE"];
});

test("a key that cannot be sent is not shown", () => {
  for (const options of [
    { url: "http://127.0.0.1:1", key: `${SECRET}\n` },
    { url: `http://user:${SECRET}@127.0.0.1:1` },
    { url: `http://127.0.0.1:1/?key=${SECRET}` },
    { url: `${SECRET}://127.0.0.1:1` },
    { url: `http://${SECRET} .example` },
  ]) {
    assert.throws(
      () => new Client(options),
      (error: Error) => error instanceof InvalidUse && !shown(error).includes(SECRET),
      JSON.stringify(options),
    );
  }
});

test("no error and no client shows the key", async () => {
  const { url } = await newStore();
  const refused = new Client({ url, key: SECRET });
  const unreachable = new Client({ url: "http://127.0.0.1:1", key: SECRET, retries: 0 });
  const late = new Client({ url, key: SECRET, timeoutMs: 0 });

  for (const client of [refused, unreachable, late]) {
    const error = await client.check("user:ann", "viewer", "document:plan").catch((raised: unknown) => raised);
    assert.ok(error instanceof Error);
    assert.ok(!shown(error).includes(SECRET), shown(error));
    assert.ok(!shown(client).includes(SECRET));
  }
});

function shown(value: unknown): string {
  const { message, stack } = value as Error;
  return inspect(value, { depth: 20, showHidden: true }) + JSON.stringify(value) + message + stack + String(value);
}

test("a signal ends a call at once, and the pause before another attempt", async () => {
  let requests = 0;
  await withStub(
    (_, response) => {
      requests += 1;
      reply(response, 429, { code: "too_many_requests", message: "" }, { "Retry-After": "5" });
    },
    async (url) => {
      const client = new Client({ url, key: SECRET });
      const controller = new AbortController();
      const call = client.check("user:ann", "viewer", "document:plan", { signal: controller.signal });
      while (requests === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      controller.abort(new Error("not needed any more"));

      await assert.rejects(call, { message: "not needed any more" });
      await assert.rejects(client.check("user:ann", "viewer", "document:plan", { signal: controller.signal }), {
        message: "not needed any more",
      });
      assert.equal(requests, 1);
      const error = await new Client({ url, key: SECRET, timeoutMs: 1_000 })
        .check("user:ann", "viewer", "document:plan")
        .catch((raised: unknown) => raised);
      assert.ok(error instanceof TooManyRequests);
      assert.equal(error.retryAfterMs, 5_000);
    },
  );
});

test("a session token is sent as one, and asked for again when it has expired", async () => {
  const asked: boolean[] = [];
  const sent: (string | undefined)[] = [];
  await withStub(
    (request, response) => {
      sent.push(request.headers.authorization);
      if (sent.length === 1) reply(response, 401, { code: "token_expired", message: "Token is expired." });
      else reply(response, 200, ALLOWED);
    },
    async (url) => {
      const key = ({ expired }: { expired: boolean }): string => {
        asked.push(expired);
        return SESSION_TOKEN;
      };
      assert.equal(await new Client({ url, key }).check(null, "viewer", "document:plan"), true);
      assert.equal(await new Client({ url, key: "key.of.ours" }).check(null, "viewer", "document:plan"), true);
    },
  );

  assert.deepEqual(asked, [false, true]);
  assert.deepEqual(sent, [`Bearer ${SESSION_TOKEN}`, `Bearer ${SESSION_TOKEN}`, "ApiKey key.of.ours"]);
});

test("a key that does not come is waited for no longer than the call may take", async () => {
  const client = new Client({ url: "http://127.0.0.1:1", key: () => new Promise(() => undefined), timeoutMs: 50 });

  await assert.rejects(client.check(null, "viewer", "document:plan"), Timeout);
});

test("a call without a limit does not end at once", async () => {
  const client = new Client({ ...(await newStore("document:plan#viewer@user:ann")), timeoutMs: Infinity });

  assert.equal(await client.check("user:ann", "viewer", "document:plan"), true);
});

test("every error has the name of its class", () => {
  const errors = Object.entries(magistrate).filter(([, type]) => type.prototype instanceof MagistrateError);

  assert.ok(errors.length > 20);
  for (const [name, type] of errors) assert.equal(type.prototype.name, name);
});

test("a session checks the access of its user", async () => {
  const store = await newStore("document:plan#viewer@user:ann");
  const client = new Client({ url: store.url, key: await newSession(store, "ann") });

  assert.equal(await client.check(null, "viewer", "document:plan"), true);
  assert.deepEqual(await client.checkMany([[null, "owner", "document:plan"], [null, "viewer", "document:plan"]]), [false, true]);
  await assert.rejects(client.warrants().toArray(), Unauthenticated);
});

test("an answer that is none is not taken for one", async () => {
  for (const body of [{}, [], null, { code: "200" }, { code: 200.5 }, [ALLOWED, ALLOWED]]) {
    await withStub(
      (_, response) => reply(response, 200, body),
      async (url) => {
        const client = new Client({ url, key: SECRET, retries: 0 });
        await assert.rejects(client.check("user:ann", "viewer", "document:plan"), Unreachable, JSON.stringify(body));
        await assert.rejects(client.checkMany([["user:ann", "viewer", "document:plan"]]), Unreachable);
      },
    );
  }
});

test("rows are read as they are needed, and again by another loop", async () => {
  const options = await newStore("document:a#viewer@user:ann", "document:b#viewer@user:ann", "document:c#viewer@user:ann");
  const { fetch, requests } = counted();
  const objects = new Client({ ...options, fetch }).objects("user:ann", "viewer", "document", { pageSize: 1 });

  for await (const object of objects) {
    assert.equal(object, "document:a");
    break;
  }
  assert.equal(requests.length, 1);
  assert.deepEqual(await objects.toArray(), ["document:a", "document:b", "document:c"]);
  assert.equal(requests.length, 4);
});

test("names and ids cannot change what a query asks", async () => {
  const client = new Client(await newStore());

  assert.throws(() => client.objects("user:ann", "viewer and user:ann is owner", "document"), InvalidUse);
  assert.throws(() => client.objects({ objectType: "user", objectId: 'a" is viewer' }, "viewer", "document"), InvalidUse);
  assert.throws(() => client.objects("group:eng#member", "viewer", "document"), InvalidUse);
  assert.throws(() => client.subjects("document:plan", "viewer", "user for x"), InvalidUse);
  await assert.rejects(client.check("user:ann", "viewer", "plan"), InvalidUse);
});

test("warrants are written and listed in all of their forms", async () => {
  const client = new Client(await newStore("document:plan#viewer@user:ann[level > 2]"));
  const [stored] = await client.warrants().toArray();
  assert.ok(stored);
  await client.write({
    delete: [stored],
    create: [
      { object: "document:plan", relation: "viewer", subject: "group:eng#member", expiresAt: new Date("2999-01-01") },
      { object: { objectType: "document", objectId: "x" }, relation: "owner", subject: { objectType: "user", objectId: "b" } },
      { warrant: "group:eng#member@user:kim", startsAt: "2020-01-01T00:00:00Z" },
      { object: "document:note", meta: { title: "Notes" } },
    ],
    preconditions: [{ exists: stored }, { absent: { objectType: "document", objectId: "x" } }],
  });

  assert.equal(await client.check("user:kim", "viewer", "document:plan"), true);
  assert.deepEqual(
    (await client.warrants({ objectType: "document" }).toArray()).map(({ createdAt, ...warrant }) => warrant),
    [
      {
        objectType: "document",
        objectId: "plan",
        relation: "viewer",
        subject: { objectType: "group", objectId: "eng", relation: "member" },
        expiresAt: "2999-01-01T00:00:00Z",
      },
      { objectType: "document", objectId: "x", relation: "owner", subject: { objectType: "user", objectId: "b" } },
    ],
  );
});

test("an answer of before does not make the token older", async () => {
  const client = new Client(await newStore());
  const tokens: string[] = [];
  for (const id of ["a", "b", "c"]) {
    await client.write({ create: [`document:${id}`] });
    tokens.push(client.token!);
  }
  const [first, second, third] = tokens as [string, string, string];

  assert.deepEqual([isLater(second, first), isLater(first, third), isLater(third, third)], [true, false, false]);
  assert.equal(isLater("another form", third), true);
  await Promise.all([client.difference({ from: first, to: second }).toArray(), client.model({ asOf: first })]);
  assert.equal(client.token, third);
});
