/** Keeps the object types of the service, which completion and forms need. */

import { signal } from "@preact/signals";
import { Refused, key, loadAccess, onlyTypes, read } from "./api";
import { asOf } from "./route";

export interface ObjectType {
  type: string;
  relations: Record<string, unknown>;
  allowedTypes?: Record<string, string[]>;
  /** The relations that actions of AuthZEN mean. */
  actions?: Record<string, string>;
  description?: string;
  descriptions?: Record<string, string>;
}

export interface Page<T> {
  results: T[];
  nextCursor?: string;
  prevCursor?: string;
}

/** Names a page of a list. */
export interface PageQuery {
  limit: number;
  nextCursor?: string;
  prevCursor?: string;
}

const MOST_TYPES = 1000;

export const objectTypes = signal<ObjectType[] | undefined>(undefined);
export const schemaFault = signal<Refused | undefined>(undefined);

export async function loadObjectTypes(): Promise<void> {
  if (key.value === null) return;
  try {
    await loadAccess();
    objectTypes.value = onlyTypes.value ? await readEach(onlyTypes.value) : await readAll();
    schemaFault.value = undefined;
  } catch (fault) {
    if (!(fault instanceof Refused)) throw fault;
    schemaFault.value = fault;
    objectTypes.value ??= [];
  }
}

async function readAll(): Promise<ObjectType[]> {
  const query = { limit: MOST_TYPES, asOf: asOf.value };
  return (await read<Page<ObjectType>>("v2/object-types", { query })).results;
}

/** Reads the types that the key is limited to, 100 at most: it may not list all. One that does not exist is left out. */
async function readEach(names: string[]): Promise<ObjectType[]> {
  const found = await Promise.all(
    names.map((name) =>
      read<ObjectType>(`v2/object-types/${encodeURIComponent(name)}`, { query: { asOf: asOf.value } }).catch((fault: unknown) => {
        if (fault instanceof Refused && fault.status === 404) return undefined;
        throw fault;
      }),
    ),
  );
  return found.filter((type) => type !== undefined);
}

/** Returns the relations of a type, or of all types if there is no such type. */
export function listRelations(type?: string): string[] {
  const types = objectTypes.value ?? [];
  const one = types.find((candidate) => candidate.type === type);
  const names = one ? Object.keys(one.relations) : types.flatMap((each) => Object.keys(each.relations));
  return [...new Set(names)].sort();
}

/** Returns all types that the model names, also those of subjects that it does not define. */
export function listTypes(): string[] {
  const types = objectTypes.value ?? [];
  const allowed = types.flatMap((type) => Object.values(type.allowedTypes ?? {}).flat());
  const named = allowed.map((text) => text.split(/[:#]/, 1)[0] ?? "");
  return [...new Set([...types.map((type) => type.type), ...named, "user"])].filter(Boolean).sort();
}
