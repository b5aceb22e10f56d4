import { expect, test } from "vitest";
import { addEntries, announceEntries, MOST_ENTRIES, readEntry, type LiveEntry } from "../src/live";

const ANN = { objectType: "user", objectId: "ann" };
const PLAN = { objectType: "document", objectId: "plan" };
const WARRANT = { ...PLAN, relation: "viewer", subject: ANN };
const HEAD = { token: "t2", time: "2026-01-05T09:00:00Z" };

function readRevision(members: object, before?: string): LiveEntry | undefined {
  return readEntry({ name: "revision", id: "t2", data: { ...HEAD, ...members } }, before);
}

function readAccess(members: object, id = "t2"): LiveEntry | undefined {
  return readEntry({ name: "access", id, data: { ...HEAD, ...members } });
}

test("a revision has its warrants first, then definitions, then objects", () => {
  const entry = readRevision(
    {
      actor: "billing",
      objects: { created: [PLAN] },
      warrants: { created: [WARRANT], expired: [WARRANT] },
      objectTypes: { updated: [{ type: "document", relations: {} }] },
      policies: { deleted: [{ name: "office" }] },
    },
    "t1",
  );

  expect(entry).toMatchObject({ kind: "revision", before: "t1", actor: "billing", count: 5 });
  expect(entry?.kind === "revision" && entry.changes).toEqual([
    { verb: "created", what: { warrant: WARRANT } },
    { verb: "expired", what: { warrant: WARRANT } },
    { verb: "updated", what: { kind: "object type", name: "document" } },
    { verb: "deleted", what: { kind: "policy", name: "office" } },
    { verb: "created", what: { object: PLAN } },
  ]);
});

test("however many changes a revision has, few are kept, and all are counted", () => {
  const entry = readRevision({ warrants: { created: Array<object>(100_000).fill(WARRANT) }, objects: { created: [PLAN] } });

  expect(entry).toMatchObject({ count: 100_001 });
  expect(entry?.kind === "revision" && entry.changes.length).toBe(50);
});

test("access that changed by itself is as of a time, other access as of a token", () => {
  const lost = [WARRANT];

  expect(readAccess({ lost })).toMatchObject({ at: "t2", count: 1, rows: [{ isGained: false }] });
  expect(readAccess({ lost }, "t2.1767603600000000")).toMatchObject({ at: HEAD.time });
});

test("a change that concerns too much access is a gap", () => {
  expect(readAccess({ resync: "t2" })).toMatchObject({ kind: "gap" });
});

test("a checkpoint is no entry", () => {
  expect(readEntry({ name: "checkpoint", id: "t2", data: HEAD })).toBeUndefined();
});

test("the newest entries are kept, the last one first", () => {
  const entries = Array.from({ length: MOST_ENTRIES + 5 }, (_, number): LiveEntry => {
    return { kind: "gap", id: String(number), time: HEAD.time, words: "" };
  });

  const kept = addEntries(entries.slice(0, 2).toReversed(), entries.slice(2));

  expect([kept.length, kept[0]?.id, kept.at(-1)?.id]).toEqual([MOST_ENTRIES, String(MOST_ENTRIES + 4), "5"]);
});

test("what is announced is one sentence, however many entries there are", () => {
  const written = readRevision({ actor: "ann", warrants: { deleted: [WARRANT, WARRANT] } }) as LiveEntry;
  const gained = readAccess({ gained: [WARRANT] }) as LiveEntry;

  expect(announceEntries([])).toBe("");
  expect(announceEntries([written])).toBe("deleted document:plan#viewer@user:ann and 1 more, by ann");
  expect(announceEntries([written, gained])).toBe("2 new entries, the last: user:ann gained viewer on document:plan");
});
