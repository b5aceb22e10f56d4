/** Hands the key of a tab to a tab that is opened from it, once, so that a link in a new tab is signed in. The key is
 * neither in a URL nor in a storage that outlives the tab: it is sent over a channel between tabs of the console, only to
 * the first tab that requests it shortly after somebody opened a link. */

import { key } from "./api";

const CHANNEL = "magistrate.key";
const OPEN_MS = 15_000; // from opening a link, perhaps by a menu, to when the new tab requests it
const WAIT_MS = 300;

interface Message {
  kind: "request" | "answer";
  id: string;
  key?: string;
}

let expectsUntil = 0;

/** Notices that a link is opened in a new tab, and answers the first request. */
export function offerKey(): void {
  const channel = new BroadcastChannel(CHANNEL);
  const expect = (event: MouseEvent) => {
    const isLink = event.composedPath().some((one) => one instanceof HTMLAnchorElement);
    const isNewTab = event.type !== "click" || event.ctrlKey || event.metaKey || event.shiftKey;
    if (isLink && isNewTab) expectsUntil = Date.now() + OPEN_MS;
  };
  for (const type of ["click", "auxclick", "contextmenu"] as const) addEventListener(type, expect, { capture: true });
  channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if (data.kind !== "request" || key.value === null || Date.now() > expectsUntil) return;
    expectsUntil = 0;
    channel.postMessage({ kind: "answer", id: data.id, key: key.value } satisfies Message);
  });
}

/** Returns the key of the tab that this one was opened from; undefined if none answers. */
export function requestKey(): Promise<string | undefined> {
  const channel = new BroadcastChannel(CHANNEL);
  const id = crypto.getRandomValues(new Uint32Array(4)).join("-");
  return new Promise((resolve) => {
    const end = (found?: string) => {
      channel.close();
      resolve(found);
    };
    channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
      if (data.kind === "answer" && data.id === id) end(data.key);
    });
    channel.postMessage({ kind: "request", id } satisfies Message);
    setTimeout(() => end(), WAIT_MS);
  });
}
