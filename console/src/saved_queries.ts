/** Reads and writes the queries that all who use the store share (docs/query-language.md#saved-queries). */

import { findObstacle, read, write, type Need } from "./api";
import { readContext } from "./query";
import { link, type Parameters } from "./route";
import type { Page } from "./schema";

/** More than a store has. */
const ALL = 1000;
const PATH = "v2/saved-queries";
const READ: Need = { scope: "query", ofAllTypes: true };
export const SAVE: Need = { scope: "write", ofAllTypes: true };

export interface SavedQuery {
  id: string;
  name: string;
  q: string;
  context?: Record<string, unknown>;
  description?: string;
  createdAt: string;
  createdBy: string;
}

/** Holds what a form says about a saved query. */
export interface SavedFields {
  name: string;
  description: string;
  q: string;
  context: string;
}

/** Returns all saved queries by name; none if the key may not read them. */
export async function listSavedQueries(signal?: AbortSignal): Promise<SavedQuery[]> {
  if (findObstacle(READ)) return [];
  return (await read<Page<SavedQuery>>(PATH, { query: { limit: ALL }, signal })).results;
}

/** Stores what a form says: a new query, or another state of the one with this id. */
export async function saveQuery(fields: SavedFields, id?: string): Promise<SavedQuery> {
  const context = readContext(fields.context.trim()) ?? null;
  const body = { name: fields.name.trim(), description: fields.description.trim() || null, q: fields.q.trim(), context };
  return write<SavedQuery>(id === undefined ? PATH : `${PATH}/${encodeURIComponent(id)}`, { method: id === undefined ? "POST" : "PATCH", body });
}

export async function deleteSavedQuery({ id }: SavedQuery): Promise<void> {
  await write(`${PATH}/${encodeURIComponent(id)}`, { method: "DELETE" });
}

export function fieldsOf({ name, description = "", q, context }: SavedQuery): SavedFields {
  return { name, description, q, context: context ? JSON.stringify(context) : "" };
}

/** Returns the parameters of the page that runs a saved query. */
export function parametersOf(saved: SavedQuery): Parameters {
  const { q, context } = fieldsOf(saved);
  return { q, context };
}

export function linkSaved(saved: SavedQuery): string {
  return link("queries", parametersOf(saved));
}

/** Returns the saved queries whose name has a text in it, those that begin with it first. */
export function findSaved(saved: SavedQuery[], text: string): SavedQuery[] {
  const wanted = text.toLowerCase();
  const rank = ({ name }: SavedQuery) => Number(!name.toLowerCase().startsWith(wanted));
  return saved.filter(({ name }) => name.toLowerCase().includes(wanted)).toSorted((one, other) => rank(one) - rank(other));
}
