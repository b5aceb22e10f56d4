/** Counts what the store has of each type, up to a limit: more than that is not read. */

import { read } from "./api";
import type { Page } from "./schema";
import * as words from "./words";

/** How many rows of a type are counted at most: a page of a list. */
export const MOST_COUNTED = 1000;
const AT_ONCE = 4;

/** Has a number of rows. */
export interface Count {
  number: number;
  /** Whether there are more. */
  isCut: boolean;
}

export interface TypeCounts {
  type: string;
  objects: Count;
  warrants: Count;
}

/** Has what the store holds in all, which only operators learn. */
export interface Usage {
  objects: number;
  warrants: number;
}

/** Counts the objects and the warrants on objects of each type, and reports those that it has after each group. */
export async function countTypes(
  types: string[],
  asOf: string | undefined,
  signal: AbortSignal,
  report: (counts: TypeCounts[]) => void,
): Promise<void> {
  const counted: TypeCounts[] = [];
  for (let place = 0; place < types.length; place += AT_ONCE) {
    const group = types.slice(place, place + AT_ONCE).map(async (type) => {
      const query = { objectType: type, limit: MOST_COUNTED, asOf };
      const [objects, warrants] = await Promise.all(["v2/objects", "v2/warrants"].map((path) => countPage(path, query, signal)));
      return { type, objects: objects!, warrants: warrants! };
    });
    counted.push(...(await Promise.all(group)));
    report([...counted]);
  }
}

async function countPage(path: string, query: Record<string, string | number | undefined>, signal: AbortSignal): Promise<Count> {
  const { results, nextCursor } = await read<Page<unknown>>(path, { query, signal });
  return { number: results.length, isCut: nextCursor !== undefined };
}

export async function readUsage(store: string, signal: AbortSignal): Promise<Usage> {
  return (await read<{ usage: Usage }>(`v2/stores/${encodeURIComponent(store)}`, { signal })).usage;
}

export function showCount({ number, isCut }: Count): string {
  return isCut ? words.numbers.moreThan(number) : number.toLocaleString();
}
