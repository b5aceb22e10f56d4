/** Finds what a half-written name may become, from the model and from the objects of the service. */

import { onlyTypes, read } from "./api";
import { writeObject } from "./names";
import { asOf } from "./route";
import { listRelations, listTypes, type Page } from "./schema";

export interface Option {
  value: string;
  hint?: string;
  /** What is shown instead of the value. */
  label?: string;
  /** Whether more has to be written after the value. */
  isPrefix?: boolean;
}

export type Complete = (text: string, signal: AbortSignal) => Promise<Option[]>;

export interface StoredObject {
  objectType: string;
  objectId: string;
  meta?: Record<string, unknown>;
  createdAt: string;
}

export interface Store {
  id: string;
  name: string;
  description?: string;
  limits: { warrants?: number; objects?: number };
  usage: { warrants: number; objects: number };
}

const MOST_OBJECTS = 8;
/** The service lists what contains a text, in the order of ids: this many are read, so that those that begin with it come first. */
const READ_OBJECTS = 100;
const MOST_TYPES = 6;

/** Returns objects whose id or meta contains a text: first those that begin with it. */
async function findObjects(q: string, objectType: string | undefined, signal: AbortSignal): Promise<Option[]> {
  const query = { limit: q ? READ_OBJECTS : MOST_OBJECTS, asOf: asOf.value, q, objectType };
  const page = await read<Page<StoredObject>>("v2/objects", { query, signal });
  return sortByPrefix(page.results, q)
    .slice(0, MOST_OBJECTS)
    .map((object) => ({ value: writeObject(object), hint: describeMeta(object.meta) }));
}

/** Returns a short text of the meta of an object: what people know it by. */
export function describeMeta(meta: Record<string, unknown> | undefined): string | undefined {
  if (!meta) return undefined;
  for (const name of ["name", "title", "email", "description"]) {
    if (typeof meta[name] === "string" && meta[name]) return meta[name];
  }
  return Object.keys(meta).length > 0 ? JSON.stringify(meta).slice(0, 80) : undefined;
}

export const completeObject: Complete = async (text, signal) => {
  const [type = "", rest] = splitOnce(text, ":");
  if (rest !== undefined) {
    return findObjects(rest, type, signal);
  }
  const types = matchNames(listTypes(), type)
    .slice(0, MOST_TYPES)
    .map(({ value }) => ({ value: `${value}:`, hint: "type", isPrefix: true }));
  return text && !onlyTypes.value ? [...types, ...(await findObjects(text, undefined, signal))] : types;
};

/** Completes what an object does and, behind `#`, the relations of usersets. */
export const completeSubject: Complete = async (text, signal) => {
  const [object = "", relation] = splitOnce(text, "#");
  if (relation === undefined) return completeObject(text, signal);
  return matchNames(listRelations(object.split(":", 1)[0]), relation).map(({ value }) => ({ value: `${object}#${value}` }));
};

export function completeRelation(type?: string): Complete {
  return (text) => Promise.resolve(matchNames(listRelations(type), text));
}

const MOST_STORES = 20;

/** Completes the names of stores, which only keys with the scope `stores` may list. */
export const completeStore: Complete = async (text, signal) => {
  const page = await read<Page<Store>>("v2/stores", { query: { q: text, limit: MOST_STORES }, signal });
  return page.results.map(({ name, description }) => ({ value: name, hint: description }));
};

export const completeType: Complete = (text) => Promise.resolve(matchNames(listTypes(), text));

function matchNames(names: string[], text: string): Option[] {
  const first = names.filter((name) => name.startsWith(text));
  const others = names.filter((name) => !name.startsWith(text) && name.includes(text));
  return [...first, ...others].slice(0, 40).map((value) => ({ value }));
}

/** Returns the objects whose ids begin with a text, whatever its case, then those whose meta does, then the others. */
function sortByPrefix(objects: StoredObject[], text: string): StoredObject[] {
  const start = text.toLowerCase();
  const rank = ({ objectId, meta }: StoredObject) =>
    objectId.toLowerCase().startsWith(start) ? 0 : describeMeta(meta)?.toLowerCase().startsWith(start) ? 1 : 2;
  return objects.toSorted((one, other) => rank(one) - rank(other));
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
