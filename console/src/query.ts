/** Runs queries with a context that people write. */

import { readAllPages, type Rows } from "./all_pages";
import { read, Refused } from "./api";
import type { QueryRow } from "./query_row";
import type { Page } from "./schema";

export interface PageRequest {
  limit: number;
  nextCursor?: string;
  prevCursor?: string;
  asOf?: string;
}

export async function runQuery(q: string, context: string, page: PageRequest, signal?: AbortSignal): Promise<Page<QueryRow>> {
  let values: unknown;
  try {
    values = context ? JSON.parse(context) : undefined;
  } catch {
    throw new Refused(400, "invalid", 'The context is not JSON: write {"network": "office"}');
  }
  return read<Page<QueryRow>>("v2/query", { body: { q, context: values, ...page }, signal });
}

/** Reads page after page until there are so many rows, and says whether others follow. */
export function readRows(q: string, context: string, most: number, asOf?: string, signal?: AbortSignal): Promise<Rows<QueryRow>> {
  return readAllPages((page) => runQuery(q, context, { ...page, asOf }, signal), most);
}
