/** Writes rows into a file that the browser saves. Nothing leaves the tab. */

import { writeWarrant } from "./names";
import type { QueryRow } from "./query_row";

const HEADINGS = ["type", "id", "relation", "implicit", "warrant"];

export function toCsv(rows: QueryRow[]): string {
  const lines = rows.map((row) => [
    row.objectType,
    row.objectId + (row.subjectRelation ? `#${row.subjectRelation}` : ""), // no id has the sign
    row.relation,
    String(row.isImplicit),
    row.warrant ? writeWarrant(row.warrant) : "",
  ]);
  return [HEADINGS, ...lines].map((cells) => cells.map(quoteCell).join(",")).join("\r\n") + "\r\n";
}

/** Returns a cell of RFC 4180. A text that a spreadsheet would take for a formula begins with an apostrophe. */
function quoteCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function save(name: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
