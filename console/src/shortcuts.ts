/** Opens the command palette and the list of shortcuts by the keyboard, from every page. */

import { signal } from "@preact/signals";
import { key } from "./api";
import * as words from "./words";

/** Which of the two is open. */
export const opened = signal<"palette" | "shortcuts" | undefined>(undefined);

export const SHORTCUTS: [string, string][] = [
  [words.shell.keysOfGoTo, words.shortcuts.goTo],
  ["?", words.shortcuts.showThese],
  [words.shortcuts.keysToChoose, words.shortcuts.choose],
  [words.shortcuts.keyToClose, words.shortcuts.close],
  ["← → ↑ ↓", words.shortcuts.moveGraph],
  ["+ − 0", words.shortcuts.zoomGraph],
];

const WRITABLE = "input, textarea, select, [contenteditable='true']";

export function listenToShortcuts(): () => void {
  const ended = new AbortController();
  addEventListener("keydown", press, { signal: ended.signal });
  return () => ended.abort();
}

function press(event: KeyboardEvent): void {
  if (key.value === null || event.altKey) return;
  const isCommand = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "k";
  const [target] = event.composedPath();
  const isWriting = target instanceof Element && target.matches(WRITABLE);
  const isHelp = event.key === "?" && !event.ctrlKey && !event.metaKey && !isWriting;
  if (!isCommand && !isHelp) return;
  // A dialog that is open has to be finished first.
  if (document.querySelector("dialog[open]:not(.palette)")) return;
  event.preventDefault();
  opened.value = isCommand ? "palette" : "shortcuts";
}
