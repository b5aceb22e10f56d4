/** Finds what a half-written name may become, from the model and from the objects of the service. */

import { onlyTypes, read } from "./api";
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
const MOST_TYPES = 6;

async function findObjects(query: Record<string, string>, signal: AbortSignal): Promise<Option[]> {
  const request = { query: { limit: MOST_OBJECTS, asOf: asOf.value, ...query }, signal };
  const page = await read<Page<StoredObject>>("v2/objects", request);
  return page.results.map((object) => ({
    value: `${object.objectType}:${object.objectId}`,
    hint: describeMeta(object.meta),
  }));
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
    const found = await findObjects({ objectType: type, q: rest }, signal);
    return sortByPrefix(found, text);
  }
  const types = matchNames(listTypes(), type)
    .slice(0, MOST_TYPES)
    .map(({ value }) => ({ value: `${value}:`, hint: "type", isPrefix: true }));
  return text && !onlyTypes.value ? [...types, ...(await findObjects({ q: text }, signal))] : types;
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

/** Returns the options that begin with a text before those that contain it. */
function sortByPrefix(options: Option[], text: string): Option[] {
  const starts = ({ value }: Option) => Number(value.startsWith(text));
  return options.toSorted((one, other) => starts(other) - starts(one));
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
