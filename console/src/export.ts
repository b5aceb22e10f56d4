/** Writes lines into a file that the browser saves. Nothing leaves the tab. */

import { writeObject, writeSubject, type Warrant, writeWarrant } from "./names";
import type { StoredObject } from "./completion";
import type { Key } from "./keys";
import type { QueryRow } from "./query_row";
import { describeFilter, type Webhook } from "./webhooks";

/** Has the cells of a table, as texts: its headings first. */
export type Lines = string[][];

export function toCsv(lines: Lines): string {
  return lines.map((cells) => cells.map(quoteCell).join(",")).join("\r\n") + "\r\n";
}

/** Returns a cell of RFC 4180. A text that a spreadsheet could take for a formula begins with an apostrophe: also one
 * with blanks before the sign, and with the wide signs that some of them read like the usual ones. */
function quoteCell(text: string): string {
  const safe = /^(?:\s*[=+\-@＝＋－＠]|[\t\r\n])/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function writeQueryLines(rows: QueryRow[]): Lines {
  const lines = rows.map((row) => [
    row.objectType,
    row.objectId + (row.subjectRelation ? `#${row.subjectRelation}` : ""), // no id has the sign
    row.relation,
    String(row.isImplicit),
    row.warrant ? writeWarrant(row.warrant) : "",
  ]);
  return [["type", "id", "relation", "implicit", "warrant"], ...lines];
}

export function writeObjectLines(objects: StoredObject[]): Lines {
  const lines = objects.map((object) => [writeObject(object), object.meta ? JSON.stringify(object.meta) : "", object.createdAt ?? ""]);
  return [["object", "meta", "created"], ...lines];
}

export function writeWarrantLines(warrants: Warrant[]): Lines {
  const lines = warrants.map((warrant) => [
    writeSubject(warrant.subject),
    warrant.relation,
    writeObject(warrant),
    warrant.policy ?? "",
    warrant.startsAt ?? "",
    warrant.expiresAt ?? "",
    warrant.createdAt ?? "",
  ]);
  return [["subject", "relation", "object", "policy", "from", "until", "created"], ...lines];
}

export function writeKeyLines(keys: Key[]): Lines {
  const lines = keys.map((key) => [
    key.name,
    key.prefix,
    key.scopes.join(", "),
    key.objectTypes?.join(", ") ?? "",
    key.createdAt,
    key.createdBy,
    key.lastUsedAt ?? "",
    key.expiresAt ?? "",
  ]);
  return [["name", "prefix", "scopes", "types", "created", "creator", "used", "expires"], ...lines];
}

export function writeWebhookLines(webhooks: Webhook[]): Lines {
  const lines = webhooks.map((webhook) => [
    webhook.url,
    webhook.description ?? "",
    describeFilter(webhook),
    webhook.state,
    webhook.reason ?? "",
    webhook.createdAt,
    webhook.createdBy,
  ]);
  return [["url", "description", "changes", "state", "reason", "created", "creator"], ...lines];
}

/** Returns what a table shows, without its buttons: a time exactly, a cell with `data-text` as that says. */
export function readTable(table: HTMLTableElement): Lines {
  const rows = Array.from(table.rows, (row) => Array.from(row.cells).filter((cell) => !cell.matches(".row-actions, .actions-heading")));
  return rows.map((cells) => cells.map(readCell));
}

function readCell(cell: HTMLTableCellElement): string {
  if (cell.dataset.text !== undefined) return cell.dataset.text;
  const copy = cell.cloneNode(true) as HTMLTableCellElement;
  for (const time of copy.querySelectorAll("time")) time.textContent = time.dateTime;
  return (copy.textContent ?? "").replace(/\s+/g, " ").trim();
}

export function save(name: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
