/** Turns the events of the streams of the service into what the page Live lists (docs/watch.md). */

import type { Change } from "./changes";
import { describeChange } from "./changes";
import { writeObject, writeSubject, type ObjectName, type Subject, type WarrantKey } from "./names";
import type { StreamEvent } from "./stream";
import * as words from "./words";

/** Represents access that was gained or lost. */
export interface AccessRow extends ObjectName {
  isGained: boolean;
  relation: string;
  subject: Subject;
  conditional?: boolean;
  cause?: Cause;
}

/** Has the warrants, and the objects, which have no relation, that changed access. */
export interface Cause {
  created: CauseRow[];
  deleted: CauseRow[];
  objectTypes: string[];
}

export type CauseRow = WarrantKey | ObjectName;

interface Entry {
  id: string;
  time: string;
}

export interface RevisionEntry extends Entry {
  kind: "revision";
  token: string;
  actor?: string;
  /** The token of the revision before, if it is known. */
  before?: string;
  /** The first changes, of as many as `count` says. */
  changes: Change[];
  count: number;
}

export interface AccessEntry extends Entry {
  kind: "access";
  /** When access is as the entry says: a token, or a time at which something began or ended by itself. */
  at: string;
  rows: AccessRow[];
  count: number;
}

/** Stands for changes that are not listed: they concern too much, or were not kept. */
export interface GapEntry extends Entry {
  kind: "gap";
  words: string;
}

export type LiveEntry = RevisionEntry | AccessEntry | GapEntry;

export const MOST_ENTRIES = 300;
const MOST_ROWS = 50;

/** Lists the arrays of the event of a revision in the order in which they are shown. */
const DEFINITIONS: [string, string][] = [
  ["objectTypes", words.terms.kindOfType],
  ["policies", words.terms.kindOfPolicy],
];
const VERBS = ["created", "updated", "deleted", "expired"] as const;

type Groups = Partial<Record<(typeof VERBS)[number], Record<string, unknown>[]>>;

/** Returns the entry of an event; undefined: it is not listed. With `before`, the token of the revision before. */
export function readEntry(event: StreamEvent, before?: string): LiveEntry | undefined {
  const { id, data } = event;
  const time = String(data.time);
  const token = String(data.token);
  if (event.name === "revision") {
    const { changes, count } = readChanges(data);
    const actor = typeof data.actor === "string" ? data.actor : undefined;
    return { kind: "revision", id, time, token, actor, before, changes, count };
  }
  if (event.name !== "access") return undefined;
  if (data.resync !== undefined) return { kind: "gap", id, time, words: words.live.tooMuch };
  const gained = (data.gained ?? []) as AccessRow[];
  const lost = (data.lost ?? []) as AccessRow[];
  const rows = [...lost.slice(0, MOST_ROWS).map(mark(false)), ...gained.slice(0, MOST_ROWS).map(mark(true))];
  return { kind: "access", id, time, at: id === token ? token : time, rows, count: gained.length + lost.length };
}

function mark(isGained: boolean): (row: AccessRow) => AccessRow {
  return (row) => ({ ...row, isGained });
}

/** Returns the first changes of a revision, those of warrants first: objects that are created with them say less. */
function readChanges(data: Record<string, unknown>): { changes: Change[]; count: number } {
  const changes: Change[] = [];
  let count = 0;
  const add = (groups: unknown, build: (row: Record<string, unknown>) => Pick<Change, "what">) => {
    for (const verb of VERBS) {
      const rows = (groups as Groups | undefined)?.[verb] ?? [];
      count += rows.length;
      for (const row of rows.slice(0, MOST_ROWS - changes.length)) changes.push({ verb, ...build(row) } as Change);
    }
  };
  add(data.warrants, (row) => ({ what: { warrant: row as unknown as WarrantKey } }));
  for (const [member, kind] of DEFINITIONS) {
    add(data[member], (row) => ({ what: { kind, name: String(row.type ?? row.name) } }));
  }
  add(data.objects, (row) => ({ what: { object: row as unknown as ObjectName } }));
  return { changes, count };
}

/** Returns the entries with newer ones before them, as many as are kept. */
export function addEntries(present: LiveEntry[], newer: LiveEntry[]): LiveEntry[] {
  return [...newer.toReversed(), ...present].slice(0, MOST_ENTRIES);
}

/** Returns what happened, in a few words. */
export function describeEntry(entry: LiveEntry): string {
  if (entry.kind === "gap") return entry.words;
  if (entry.kind === "revision") {
    const [first] = entry.changes;
    return words.history.summary(first ? describeChange(first) : words.live.none, entry.count - 1, entry.actor);
  }
  const [row] = entry.rows;
  if (!row) return words.live.none;
  return words.live.accessOf(writeSubject(row.subject), row.isGained, row.relation, writeObject(row), entry.count - 1);
}

/** Returns what is said of entries to those who do not see them. */
export function announceEntries(entries: LiveEntry[]): string {
  const last = entries.at(-1);
  if (!last) return "";
  return entries.length === 1 ? describeEntry(last) : words.live.announced(entries.length, describeEntry(last));
}
