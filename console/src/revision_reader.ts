/** Reads what a revision did and how its warrants, objects and model were before, which a revert needs. */

import { read, Refused, send } from "./api";
import type { StoredObject } from "./completion";
import { writeWithPolicy } from "./explanation";
import { writeObject, type ObjectName, type Warrant } from "./names";
import {
  planReversal,
  changedObjects,
  changedWarrants,
  type Now,
  type ObjectState,
  type Reversal,
  type RevisionEvent,
  type State,
} from "./revert";
import type { Page } from "./schema";
import { MOST_WARRANTS, pathOf, readNaming, type Seen } from "./stored_object";
import { isAccess, microsecondsOf, revisionOf, type ChangeEvent } from "./timeline";
import * as words from "./words";

const MOST_CHARACTERS = 8_388_608; // of one revision in the stream
/** How many names are looked up one by one. */
const MOST_LOOKUPS = 200;
const AT_ONCE = 8;
const PAGE_SIZE = 1000;
const ACCESS_TYPES = ["access_granted", "access_revoked"];

/** Returns the token of the newest revision before the one of an event; undefined if none is kept. */
export async function findBefore(event: ChangeEvent, signal: AbortSignal): Promise<string | undefined> {
  const until = microsecondsOf(event);
  const lists = [["v2/resource-events", undefined], ...ACCESS_TYPES.map((type) => ["v2/access-events", type])] as const;
  const number = revisionOf(event);
  const found = await Promise.all(
    lists.map(async ([path, type]) => {
      for (const bound of [until, until - 1]) {
        const query = { type, until: bound, limit: 100 };
        const page = await read<Page<ChangeEvent>>(path ?? "", { query, signal });
        const older = page.results.find((one) => revisionOf(one) < number);
        if (older || !page.nextCursor) return older;
      }
      return undefined;
    }),
  );
  const newest = found.filter((one) => one !== undefined).sort((one, other) => revisionOf(other) - revisionOf(one))[0];
  return newest?.token;
}

/** Returns what a revision did, from the stream of changes behind the one before it. */
export async function readRevision(before: string, token: string, signal: AbortSignal): Promise<RevisionEvent> {
  const ended = new AbortController();
  const answer = await send("v2/watch", {
    query: { since: before },
    accept: "application/x-ndjson",
    signal: AbortSignal.any([signal, ended.signal]),
  });
  try {
    return await findRevision(answer, token);
  } finally {
    ended.abort();
  }
}

async function findRevision(answer: Response, token: string): Promise<RevisionEvent> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    text += part.value;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const event = JSON.parse(line) as RevisionEvent & { event: string };
      if (event.event === "revision" && event.token === token) return event;
    }
    if (text.length > MOST_CHARACTERS) throw tooLarge();
  }
  throw new Refused(410, "gone", words.history.notKept);
}

function tooLarge(): Refused {
  return new Refused(400, "too_large", words.history.tooLarge(MOST_WARRANTS));
}

export interface LoadedReversal extends Reversal {
  naming: Map<string, string[]>;
}

/** Returns what reverts a revision, as of the newest revision, whose token comes with it. */
export async function readReversal(before: string, token: string, signal?: AbortSignal): Promise<Seen<LoadedReversal>> {
  const aborted = signal ?? new AbortController().signal;
  const event = await readRevision(before, token, aborted);
  const [warrants, objects] = [changedWarrants(event), changedObjects(event)];
  if (warrants.length + objects.length > MOST_WARRANTS || objects.length > MOST_LOOKUPS) throw tooLarge();
  const newest = (await send("v2/objects", { query: { limit: 1 }, signal: aborted })).headers.get("Warrant-Token") ?? "";
  const was: State = { warrants: await readWarrants(warrants, before, aborted), objects: await readObjects(objects, before, aborted) };
  const is: State = { warrants: await readWarrants(warrants, newest, aborted), objects: await readObjects(objects, newest, aborted) };
  const naming = new Map<string, string[]>();
  await eachOf(event.objects?.created ?? [], async (object) => {
    const { value } = await readNaming(object, aborted);
    naming.set(writeObject(object), value.warrants.map(writeWithPolicy));
  });
  const now: Now = { ...is, naming };
  return { value: { ...planReversal(event, was, now, Date.now()), naming }, token: newest };
}

/** Reads warrants at a point in time, by their objects or by their subjects, whichever are fewer. */
async function readWarrants(warrants: Warrant[], asOf: string, signal: AbortSignal): Promise<Map<string, Warrant>> {
  const byObject = group(warrants, ({ objectType, objectId }) => ({ objectType, objectId }));
  const bySubject = group(warrants, ({ subject }) => ({ subjectType: subject.objectType, subjectId: subject.objectId }));
  const filters = byObject.length <= bySubject.length ? byObject : bySubject;
  if (filters.length > MOST_LOOKUPS) throw tooLarge();
  const wanted = new Set(warrants.map(writeWithPolicy));
  const found = new Map<string, Warrant>();
  await eachOf(filters, async (filter) => {
    let nextCursor: string | undefined;
    do {
      const query = { ...filter, limit: PAGE_SIZE, nextCursor, asOf };
      const page: Page<Warrant> = await read("v2/warrants", { query, signal });
      for (const warrant of page.results) if (wanted.has(writeWithPolicy(warrant))) found.set(writeWithPolicy(warrant), warrant);
      nextCursor = page.nextCursor;
    } while (nextCursor);
  });
  return found;
}

function group(warrants: Warrant[], filterOf: (warrant: Warrant) => Record<string, string>): Record<string, string>[] {
  return [...new Map(warrants.map((one) => [JSON.stringify(filterOf(one)), filterOf(one)])).values()];
}

async function readObjects(objects: ObjectName[], asOf: string, signal: AbortSignal): Promise<Map<string, ObjectState>> {
  const found = new Map<string, ObjectState>();
  await eachOf(objects, async (object) => {
    try {
      const { objectType, objectId, meta } = await read<StoredObject>(pathOf(object), { query: { asOf }, signal });
      found.set(writeObject(object), { objectType, objectId, ...(meta ? { meta } : {}) });
    } catch (fault) {
      if (!(fault instanceof Refused) || fault.status !== 404) throw fault;
    }
  });
  return found;
}

/** Calls a function for each element, a few at a time. */
async function eachOf<T>(elements: T[], run: (element: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < elements.length; start += AT_ONCE) {
    await Promise.all(elements.slice(start, start + AT_ONCE).map(run));
  }
}

/** Says whether an event is about the model. */
export function isModelEvent(event: ChangeEvent): boolean {
  return !isAccess(event) && event.kind !== "object";
}

interface Model {
  objectTypes: { type: string }[];
  policies: { name: string }[];
}

/** Returns the text of the newest model with the definitions of these events as they were before. */
export async function revertModel(events: ChangeEvent[], before: string, signal: AbortSignal): Promise<string> {
  const [was, is] = await Promise.all(
    [before, undefined].map((asOf) => read<Model>("v2/model", { query: { asOf }, accept: "application/json", signal })),
  );
  if (!was || !is) throw new Error("two models were requested");
  const changed = (kind: string) =>
    new Set(events.flatMap((event) => (!isAccess(event) && event.kind === kind ? [event.resourceId] : [])));
  const types = changed("object-type");
  const policies = changed("named-policy");
  const model = {
    objectTypes: [...is.objectTypes.filter((one) => !types.has(one.type)), ...was.objectTypes.filter((one) => types.has(one.type))],
    policies: [...is.policies.filter((one) => !policies.has(one.name)), ...was.policies.filter((one) => policies.has(one.name))],
  };
  return (await send("v2/model/convert", { body: model, accept: "text/plain", signal })).text();
}
