/** Runs queries with a context that people write. */

import { read, Refused } from "./api";
import type { QueryRow } from "./query_row";
import type { Page } from "./schema";

const LARGE_PAGE = 1000;

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
export async function readRows(
  q: string,
  context: string,
  most: number,
  asOf?: string,
  signal?: AbortSignal,
): Promise<{ rows: QueryRow[]; isCut: boolean }> {
  const rows: QueryRow[] = [];
  let nextCursor: string | undefined;
  do {
    const page: Page<QueryRow> = await runQuery(q, context, { limit: LARGE_PAGE, nextCursor, asOf }, signal);
    rows.push(...page.results);
    nextCursor = page.nextCursor;
  } while (nextCursor && rows.length < most);
  return { rows, isCut: nextCursor !== undefined };
}
