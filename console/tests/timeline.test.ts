import { describe, expect, test } from "vitest";
import { isAccess, Timeline, type ChangeEvent, type ReadEvents } from "../src/timeline";

type Kind = "object" | "granted" | "revoked";

/** Represents the log of a service: one list of kinds for each revision, the oldest first. */
class Log {
  readonly events: ChangeEvent[] = [];
  /** The changes that the service looked at to answer all requests. */
  looked = 0;

  /** So many revisions in a row have the same time, as if they were written at once. */
  constructor(revisions: Kind[][], private readonly atOnce = 1) {
    revisions.forEach((kinds, revision) => {
      const time = this.timeOf(revision);
      const fraction = time > 0 ? `.${String(time).padStart(6, "0").replace(/0+$/, "")}` : "";
      const at = `2026-01-01T00:00:00${fraction}Z`;
      kinds.forEach((kind, position) => this.events.unshift(makeEvent(kind, makeId(revision, position), `r${revision}`, at)));
    });
  }

  private timeOf(revision: number): number {
    return revision - (revision % this.atOnce);
  }

  read: ReadEvents = (path, request) => {
    const start = Number(request.nextCursor ?? 0);
    const results: ChangeEvent[] = [];
    let place = start;
    for (; place < this.events.length; place += 1) {
      const event = this.events[place] as ChangeEvent;
      const time = this.timeOf(Number(event.token.slice(1))) + Date.UTC(2026, 0, 1) * 1000;
      if (request.until !== undefined && time > request.until) continue; // found by time
      if (request.since !== undefined && time < request.since) break;
      this.looked += 1;
      const isWanted = path.includes("access") ? event.type === request.type : !isAccess(event);
      if (!isWanted) continue;
      if (results.length === request.limit) return Promise.resolve({ results, nextCursor: String(place) });
      results.push(event);
    }
    return Promise.resolve({ results });
  };
}

/** Returns an id that begins with the number of the revision, as those of the service do. */
function makeId(revision: number, position: number): string {
  const bytes = [0, 0, 0, 0, 0, 0, revision >> 8, revision & 255, 0];
  return `${btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_")}${position}`;
}

function makeEvent(kind: Kind, id: string, token: string, createdAt: string): ChangeEvent {
  const common = { id, token, createdAt };
  if (kind === "object") return { ...common, type: "created", kind: "object", resourceType: "document", resourceId: id };
  const names = { objectType: "document", objectId: id, relation: "viewer", subjectType: "user", subjectId: "ann" };
  return { ...common, ...names, type: kind === "granted" ? "access_granted" : "access_revoked" };
}

async function readAll(log: Log, most = 25) {
  const timeline = new Timeline(log.read);
  for (let turns = 0; turns < 1000; turns += 1) {
    const { revisions, hasMore } = await timeline.readMore(most, new AbortController().signal);
    if (!hasMore) return revisions;
  }
  throw new Error("it never ends");
}

/** Returns whole numbers from 0 on that look random, the same ones each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => (state = (state * 1103515245 + 12345) % 2147483648) % below;
}

describe("the timeline", () => {
  test.each([...Array(20).keys()])("has every event once, in its revision, the newest first (%i)", async (seed) => {
    const next = numbers(seed + 1);
    const often = next(5);
    const kinds: Kind[] = ["object", "granted", "revoked"];
    const log = new Log(
      [...Array(next(120)).keys()].map(() => [
        ...Array<Kind>(1 + next(next(8) ? 4 : 300)).fill(next(10) < 2 * often ? "granted" : (kinds[next(3)] as Kind)),
        ...(next(3) ? [] : [kinds[next(3)] as Kind]),
      ]),
      1 + next(5),
    );

    const revisions = await readAll(log, 1 + next(40));

    const expected = [...new Set(log.events.map((event) => event.token))];
    expect(revisions.map((one) => one.token)).toEqual(expected);
    expect(revisions.map((one) => one.before)).toEqual([...expected.slice(1), undefined].slice(0, expected.length));
    expect(revisions.flatMap((one) => one.events.map((event) => event.id)).sort()).toEqual(
      log.events.map((event) => event.id).sort(),
    );
    for (const one of revisions) expect(new Set(one.events.map((event) => event.token))).toEqual(new Set([one.token]));
  });

  test("the first page looks at few changes, however rare one kind of event is", async () => {
    const revisions: Kind[][] = [["object"], ["granted"], ["revoked"], ...Array<Kind[]>(20_000).fill(["granted"])];
    const log = new Log(revisions);

    const { revisions: shown } = await new Timeline(log.read).readMore(25, new AbortController().signal);

    expect(shown).toHaveLength(25);
    expect(log.looked).toBeLessThan(400);
  });
});
