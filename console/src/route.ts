/** Keeps the state of every page in the fragment of the URL, which browsers do not send to servers or their logs. */

import { computed, signal } from "@preact/signals";

export type Parameters = Record<string, string | undefined>;

export interface Route {
  page: string;
  parameters: Record<string, string>;
}

function readRoute(text: string): Route {
  const [path = "", query = ""] = text.replace(/^#\/?/, "").split("?", 2);
  return { page: path || "why", parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** The store that every page is about, a name or an id; undefined: that of the key. It is the same as long as the page is
 * loaded: with another one the page is loaded anew, so nothing that was read in one store is shown in another, and no
 * write that has begun goes on there. */
export const store = readRoute(location.hash).parameters.store || undefined;

const fragment = signal(location.hash);
addEventListener("hashchange", () => {
  if ((readRoute(location.hash).parameters.store || undefined) === store) fragment.value = location.hash;
  else location.reload();
});

export const route = computed<Route>(() => readRoute(fragment.value));

/** The past point in time that every page shows, a token or a time; undefined: now. */
export const asOf = computed(() => route.value.parameters.at || undefined);

/** Returns the URL of a page. The store and the point in time stay, unless they are among the parameters. */
export function link(page: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ store, at: asOf.value, ...parameters })) {
    if (value) query.set(name, value);
  }
  const text = query.toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

export function go(page: string, parameters: Parameters = {}): void {
  location.hash = link(page, parameters);
}

/** Changes parameters of the page that is shown, without a new entry in the history of the browser. */
export function adjust(parameters: Parameters): void {
  const { page, parameters: present } = route.value;
  history.replaceState(null, "", link(page, { ...present, ...parameters }));
  fragment.value = location.hash;
}
