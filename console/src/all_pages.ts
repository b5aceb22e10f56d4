/** Reads the pages of a list one after another. */

import type { Page } from "./schema";

export const LARGE_PAGE = 1000;
/** How many rows an export has at most. */
export const MOST_EXPORTED = 10_000;

/** Has the rows of several pages. */
export interface Rows<T> {
  rows: T[];
  /** Whether others follow. */
  isCut: boolean;
}

/** Reads page after page until there are so many rows, and says whether others follow. */
export async function readAllPages<T>(
  readPage: (page: { limit: number; nextCursor?: string }) => Promise<Page<T>>,
  most = MOST_EXPORTED,
): Promise<Rows<T>> {
  const rows: T[] = [];
  let nextCursor: string | undefined;
  do {
    const page: Page<T> = await readPage({ limit: LARGE_PAGE, nextCursor });
    rows.push(...page.results);
    nextCursor = page.nextCursor;
  } while (nextCursor && rows.length < most);
  return { rows: rows.slice(0, most), isCut: nextCursor !== undefined || rows.length > most };
}
