/** Runs queries with a context that people write. */

import { readAllPages, type Rows } from "./all_pages";
import { read, Refused } from "./api";
import type { QueryRow } from "./query_row";
import type { Page } from "./schema";
import * as words from "./words";

export interface PageRequest {
  limit: number;
  nextCursor?: string;
  prevCursor?: string;
  asOf?: string;
}

export async function runQuery(q: string, context: string, page: PageRequest, signal?: AbortSignal): Promise<Page<QueryRow>> {
  return read<Page<QueryRow>>("v2/query", { body: { q, context: readContext(context), ...page }, signal });
}

/** Returns the context that a text expresses; an empty text is none. Throws Refused. */
export function readContext(text: string): unknown {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    throw new Refused(400, "invalid", words.refusals.contextNotAnObject);
  }
}

/** Reads page after page until there are so many rows, and says whether others follow. */
export function readRows(q: string, context: string, most: number, asOf?: string, signal?: AbortSignal): Promise<Rows<QueryRow>> {
  return readAllPages((page) => runQuery(q, context, { ...page, asOf }, signal), most);
}
