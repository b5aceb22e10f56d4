import { link, route } from "../route";

const TABS: [string, string][] = [
  ["history", "Past changes"],
  ["live", "Live"],
];

/** Leads to the two pages about changes: those of the past, and those that are being made. */
export function HistoryTabs() {
  return (
    <nav class="tabs" aria-label="Changes">
      {TABS.map(([page, title]) => (
        <a key={page} href={link(page)} aria-current={page === route.value.page ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
