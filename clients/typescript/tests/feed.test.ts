import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { Client, Gone, RevisionLost, Unauthenticated, type WatchEvent } from "../src/index.js";
import { newStore } from "./service.js";
import { withStub } from "./stub.js";

const ROW = { objectType: "document", objectId: "plan", createdAt: "2026-01-01T00:00:00Z" };

test("a feed begins with a snapshot and goes on with what is written", async () => {
  const client = new Client(await newStore("document:plan#viewer@user:ann"));
  const events: string[] = [];

  for await (const event of client.watch({ snapshot: true })) {
    events.push(event.event);
    if (event.event === "checkpoint") await client.write({ create: ["document:plan#viewer@user:bob"] });
    if (event.event !== "revision") continue;
    assert.equal(event.warrants?.created?.[0]?.subject.objectId, "bob");
    break;
  }

  assert.deepEqual([...new Set(events)], ["snapshot", "checkpoint", "revision"]);
});

test("a signal ends a feed", async () => {
  const client = new Client(await newStore());
  const controller = new AbortController();
  const feed = client.access({ of: ["document#viewer@user"], signal: controller.signal })[Symbol.asyncIterator]();

  assert.equal((await feed.next()).value?.event, "checkpoint");
  const next = feed.next();
  controller.abort(new Error("enough"));
  await assert.rejects(next, { message: "enough" });
});

/** Serves a feed, one answer for each connection, and returns the events and the places that were asked for. */
async function follow(answers: object[][], options = {}): Promise<{ events: WatchEvent[]; places: string[]; error?: unknown }> {
  const places: string[] = [];
  const answer = (response: ServerResponse, events: object[]): void => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson", "Service-Token": "t" });
    for (const event of events) response.write(`${JSON.stringify(event)}\n`);
    response.write('{"event":"revision","tok'); // a cut
    setTimeout(() => response.destroy(), 20);
  };
  const events: WatchEvent[] = [];
  const error = await withStub(
    (request, response) => {
      places.push(new URL(request.url!, "http://stub").search);
      answer(response, answers[places.length - 1] ?? []);
    },
    async (url) => {
      const client = new Client({ url, key: "key", retries: 1 });
      try {
        for await (const event of client.watch(options)) events.push(event);
        return undefined;
      } catch (raised) {
        return raised;
      }
    },
  );
  return { events, places, error };
}

test("a snapshot that is cut is said to begin anew", async () => {
  const { events, places } = await follow(
    [
      [{ event: "snapshot", objects: [ROW] }],
      [{ event: "snapshot", objects: [ROW] }, { event: "checkpoint", token: "t1" }],
      [{ event: "checkpoint", token: "t1" }, { event: "revision", token: "t2" }],
    ],
    { snapshot: true },
  );

  assert.deepEqual(
    events.map((event) => event.event),
    ["snapshot", "restart", "snapshot", "checkpoint", "revision"],
  );
  assert.deepEqual(places.slice(0, 4), ["?snapshot=true", "?snapshot=true", "?since=t1", "?since=t2"]);
});

test("a feed goes on behind the id of an event", async () => {
  const { places } = await follow([[{ event: "checkpoint", token: "t1", id: "t1.5" }]], { since: "t0" });

  assert.deepEqual(places.slice(0, 2), ["?since=t0", "?since=t1.5"]);
});

test("a feed goes on after an end that passes, and not after one that stays", async () => {
  const passed = await follow([
    [{ event: "checkpoint", token: "t1" }, { event: "end", token: "t1", reason: "shutting_down" }],
    [{ event: "checkpoint", token: "t1" }, { event: "revision", token: "t2" }],
  ]);
  assert.deepEqual(passed.events.map((event) => event.event), ["checkpoint", "revision"]);

  for (const [reason, kind] of [["key_ended", Unauthenticated], ["store_restored", RevisionLost], ["not_retained", Gone]] as const) {
    const ended = await follow([[{ event: "checkpoint", token: "t1" }, { event: "end", token: "t1", reason }]]);
    assert.ok(ended.error instanceof kind, reason);
    assert.equal(ended.places.length, 1);
  }
});
