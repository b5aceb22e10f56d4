/** Reads an object with all warrants that name it, and writes it as a whole: nothing that others write meanwhile is lost. */

import { Refused, send, write } from "./api";
import type { StoredObject } from "./completion";
import { writeWithPolicy } from "./explanation";
import { keyOf, writeObject, type ObjectName, type Warrant } from "./names";
import type { Page } from "./schema";
import * as words from "./words";

const PAGE_SIZE = 1000;
/** How many warrants a proposal, or a write, can have. */
export const MOST_WARRANTS = 1000;
const MOST_ATTEMPTS = 5;

/** Holds what was read at one revision. */
export interface Seen<T> {
  value: T;
  token: string;
}

/** Holds the warrants that name an object, of which there may be more if it is cut. */
export interface Naming {
  warrants: Warrant[];
  isCut: boolean;
}

export function pathOf({ objectType, objectId }: ObjectName): string {
  return `v2/objects/${encodeURIComponent(objectType)}/${encodeURIComponent(objectId)}`;
}

async function readSeen<T>(path: string, query: Record<string, string | number | undefined>, signal?: AbortSignal): Promise<Seen<T>> {
  const answer = await send(path, { query, signal });
  return { value: (await answer.json()) as T, token: answer.headers.get("Warrant-Token") ?? "" };
}

export function readStored(object: ObjectName, signal?: AbortSignal): Promise<Seen<StoredObject>> {
  return readSeen(pathOf(object), {}, signal);
}

/** Returns the warrants that end with an object: those on it, and those to it or to its usersets. */
export async function readNaming(object: ObjectName, signal?: AbortSignal): Promise<Seen<Naming>> {
  const found = new Map<string, Warrant>();
  const { objectType, objectId } = object;
  let token: string | undefined;
  for (const filter of [{ objectType, objectId }, { subjectType: objectType, subjectId: objectId }]) {
    let nextCursor: string | undefined;
    do {
      const query = { ...filter, limit: PAGE_SIZE, nextCursor, asOf: token };
      const page: Seen<Page<Warrant>> = await readSeen("v2/warrants", query, signal);
      token ??= page.token;
      for (const warrant of page.value.results) {
        // A filter by an id finds warrants with a wildcard, too.
        if (names(warrant, object)) found.set(writeWithPolicy(warrant), warrant);
      }
      nextCursor = page.value.nextCursor;
    } while (nextCursor && found.size <= MOST_WARRANTS);
  }
  const warrants = [...found.values()];
  return { value: { warrants: warrants.slice(0, MOST_WARRANTS), isCut: warrants.length > MOST_WARRANTS }, token: token ?? "" };
}

function names({ objectType, objectId, subject }: Warrant, object: ObjectName): boolean {
  return (
    (objectType === object.objectType && objectId === object.objectId) ||
    (subject.objectType === object.objectType && subject.objectId === object.objectId)
  );
}

/** Writes what was made of something that was read, if it is still the same. Other writes may come between: then it is
 * read again. Raises Refused if it is not the same any more, with a message that says so. */
export async function writeIfSame<T>(seen: Seen<T>, readAgain: () => Promise<Seen<T>>, body: object, changed: string): Promise<void> {
  let { token } = seen;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await write("v2/writes", { body: { preconditions: [{ revision: token }], ...body } });
      return;
    } catch (fault) {
      if (!(fault instanceof Refused) || fault.code !== "precondition_failed" || attempt === MOST_ATTEMPTS) throw fault;
    }
    const again = await readAgain();
    if (JSON.stringify(again.value) !== JSON.stringify(seen.value)) throw new Refused(409, "changed", changed);
    token = again.token;
  }
}

/** Returns the write that gives an object another id: its meta and all warrants that name it stay, with their times. */
export function renameObject(stored: StoredObject, warrants: Warrant[], objectId: string) {
  const { objectType, meta } = stored;
  const old = { objectType, objectId: stored.objectId };
  const rename = <T extends ObjectName>(one: T): T =>
    one.objectType === objectType && one.objectId === old.objectId ? { ...one, objectId } : one;
  const moved = warrants.map((warrant) => {
    const { startsAt, expiresAt } = warrant;
    const key = rename(keyOf(warrant));
    return { ...key, subject: rename(key.subject), ...(startsAt ? { startsAt } : {}), ...(expiresAt ? { expiresAt } : {}) };
  });
  return {
    delete: { warrants: warrants.map(keyOf), objects: [old] },
    create: { objects: [{ objectType, objectId, ...(meta ? { meta } : {}) }], warrants: moved },
  };
}

/** Returns the meta that people wrote as JSON. Raises Refused if it is not an object. */
export function readMeta(text: string): Record<string, unknown> {
  if (!text.trim()) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (fault) {
    throw new Refused(400, "invalid", words.objects.metaNotJson(fault instanceof Error ? fault.message : ""));
  }
  throw new Refused(400, "invalid", words.objects.metaNotAnObject);
}

/** Says what about an object has changed, so that nothing was written. */
export function sayChanged(object: ObjectName): string {
  return words.objects.changed(writeObject(object));
}
