import type { Page } from "../schema";
import { go, route } from "../route";
import * as words from "../words";

/** Leads to the pages before and after the one shown; the cursors are in the URL. */
export function Pager({ page }: { page: Page<unknown> }) {
  const { page: name, parameters } = route.value;
  if (!page.prevCursor && !page.nextCursor) return null;
  return (
    <nav class="pager" aria-label={words.pager.title}>
      <button
        type="button"
        class="quiet"
        disabled={!page.prevCursor}
        onClick={() => go(name, { ...parameters, prev: page.prevCursor, next: undefined })}
      >
        {words.pager.previous}
      </button>
      <button
        type="button"
        class="quiet"
        disabled={!page.nextCursor}
        onClick={() => go(name, { ...parameters, next: page.nextCursor, prev: undefined })}
      >
        {words.pager.next}
      </button>
    </nav>
  );
}
