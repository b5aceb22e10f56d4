/** Opens the command palette and the list of shortcuts by the keyboard, from every page. */

import { signal } from "@preact/signals";
import { key } from "./api";

/** Which of the two is open. */
export const opened = signal<"palette" | "shortcuts" | undefined>(undefined);

export const SHORTCUTS: [string, string][] = [
  ["Ctrl K", "Go to an object, a page or a query, or do something (⌘ K on a Mac)"],
  ["?", "Show these shortcuts"],
  ["↑ ↓ Enter", "Choose from a list that completes a field"],
  ["Escape", "Close a list or a dialog"],
  ["← → ↑ ↓", "Move the graph of the model that has the focus"],
  ["+ − 0", "Make that graph larger or smaller, or show all of it"],
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
