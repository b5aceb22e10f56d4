import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import express, { type ErrorRequestHandler, type Express, type Request } from "express";
import { Client } from "../src/index.js";
import { require } from "../src/express.js";
import { counted, newStore } from "./service.js";

const userOf = (request: Request): string | undefined => {
  const name = request.get("X-User");
  return name === undefined ? undefined : `user:${name}`;
};

/** Serves an application, and returns what it answers to a user who gets a path: the status and the body. */
async function serve(app: Express, ask: (get: (path: string, user?: string) => Promise<string>) => Promise<void>): Promise<void> {
  const failed: ErrorRequestHandler = (error, _request, response, _next) => {
    response.status(500).send((error as Error).name);
  };
  app.use(failed);
  const server = app.listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await ask(async (path, user) => {
      const answer = await fetch(url + path, user === undefined ? {} : { headers: { "X-User": user } });
      return `${answer.status} ${await answer.text()}`;
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("a request passes, or is answered with 401 or 403", async () => {
  const client = new Client(await newStore("document:plan#viewer@user:ann", "document:a/b?c+d#viewer@user:ann"));
  const app = express();
  app.get("/documents/:id", require("viewer", "document:{id}", { subject: userOf, client }), (request, response) => {
    response.send(`the document ${request.params["id"]}`);
  });

  await serve(app, async (get) => {
    assert.equal(await get("/documents/plan", "ann"), "200 the document plan");
    assert.equal(await get("/documents/a%2Fb%3Fc+d", "ann"), "200 the document a/b?c+d");
    assert.equal(await get("/documents/plan"), '401 {"code":"unauthorized","message":"Log in first."}');
    assert.equal(
      await get("/documents/plan", "bob"),
      '403 {"code":"forbidden","message":"user:bob is not viewer of document:plan"}',
    );
  });
});

test("no id and no name means more than one object or user", async () => {
  const options = await newStore("document:*#viewer@user:ann", "group:eng#member@user:ann", "document:plan#viewer@group:eng#member");
  const { fetch, requests } = counted();
  const client = new Client({ ...options, fetch });
  const app = express();
  app.get("/documents/:id", require("viewer", "document:{id}", { subject: userOf, client }), (_, response) => {
    response.send("passed");
  });

  await serve(app, async (get) => {
    for (const id of ["*", "a*", "%23", "a%20b", "%22plan%22", "%00", "a%5Bb"]) {
      assert.match(await get(`/documents/${id}`, "ann"), /^403 /, id);
    }
    for (const user of ["*", "x*"]) assert.match(await get("/documents/plan", user), /^403 /, user);
    assert.equal(await get("/documents/plan", "ann"), "200 passed");
  });
  assert.ok(requests.length <= 7, "a wildcard is not even asked for");

  const groups = express();
  const asGroup = { subject: () => "group:eng#member", client };
  groups.get("/documents/:id", require("viewer", "document:{id}", asGroup), (_, response) => {
    response.send("passed");
  });
  await serve(groups, async (get) => assert.match(await get("/documents/plan"), /^403 /));
});

test("a check that cannot be made does not let a request pass", async () => {
  const store = await newStore("document:plan#viewer@user:ann");
  const unreachable = new Client({ url: "http://127.0.0.1:1", key: "key", retries: 0 });
  const app = express();
  const pass = (_: Request, response: { send(text: string): void }): void => response.send("passed");
  app.get("/unreachable/:id", require("viewer", "document:{id}", { subject: userOf, client: unreachable }), pass);
  app.get("/unknown/:id", require("viewer", "file:{id}", { subject: userOf, client: new Client(store) }), pass);
  app.get("/nameless/:id", require("viewer", "document:{name}", { subject: userOf, client: new Client(store) }), pass);
  app.get("/failing/:id", require("viewer", "document:{id}", { subject: () => Promise.reject(new Error()), client: new Client(store) }), pass);

  await serve(app, async (get) => {
    assert.equal(await get("/unreachable/plan", "ann"), "500 Unreachable");
    assert.equal(await get("/unknown/plan", "ann"), "500 NotFound");
    assert.equal(await get("/nameless/plan", "ann"), "500 InvalidUse");
    assert.equal(await get("/failing/plan", "ann"), "500 Error");
  });
});

test("functions say what the object, the subject and the context are, and what is answered", async () => {
  const client = new Client(await newStore("document:plan#viewer@user:ann[level > 2]"));
  const app = express();
  const middleware = require("viewer", (request: Request) => `document:${request.query["id"]}`, {
    client,
    subject: async (request: Request) => ({ objectType: "user", objectId: request.get("X-User") ?? "" }),
    context: (request: Request) => ({ level: Number(request.query["level"]) }),
    onDenied: (denied, _request, response) => response.status(404).json({ reason: denied.reason }),
  });
  app.get("/", middleware, (_, response) => {
    response.send("passed");
  });

  await serve(app, async (get) => {
    assert.equal(await get("/?id=plan&level=3", "ann"), "200 passed");
    assert.equal(await get("/?id=plan&level=2", "ann"), '404 {"reason":"user:ann is not viewer of document:plan"}');
  });
});

test("without a client, the environment says where the service is", async () => {
  const { url, key, store } = await newStore("document:plan#viewer@user:ann");
  Object.assign(process.env, { MAGISTRATE_URL: url, MAGISTRATE_API_KEY: key, MAGISTRATE_STORE: store });
  const app = express();
  app.get("/:id", require("viewer", "document:{id}", { subject: userOf }), (_, response) => {
    response.send("passed");
  });

  await serve(app, async (get) => assert.equal(await get("/plan", "ann"), "200 passed"));
});
