import { link, route } from "../route";
import * as words from "../words";

const TABS: [string, string][] = [
  ["history", words.pages.pastChanges],
  ["live", words.pages.live],
];

/** Leads to the two pages about changes: those of the past, and those that are being made. */
export function HistoryTabs() {
  return (
    <nav class="tabs" aria-label={words.history.changes}>
      {TABS.map(([page, title]) => (
        <a key={page} href={link(page)} aria-current={page === route.value.page ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
