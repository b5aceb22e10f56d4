/** Loads the pages that the first answer does not need. */

import { signal } from "@preact/signals";
import type * as Pages from "./pages";
import { Refused } from "./refused";
import * as words from "./words";

export const pages = signal<typeof Pages | undefined>(undefined);
export const pagesFault = signal<Refused | undefined>(undefined);

let isAsked = false;

/** Loads the pages once. A browser remembers that a script could not be loaded, so only a new page tries again. */
export async function loadPages(): Promise<void> {
  if (isAsked) return;
  isAsked = true;
  try {
    pages.value = await import("./pages");
  } catch {
    pagesFault.value = new Refused(0, "unreachable", words.refusals.pageNotLoaded);
  }
}
