/** Reads what the service makes of a file of OpenFGA or SpiceDB with a model, relationships and tests: a test file of ours,
 * in which each warrant and each test is one line (docs/coming-from.md#over-http). */

import { effect, signal } from "@preact/signals";
import { key } from "../api";
import { readWritten, type Line } from "../import_lines";
import { listElements } from "../testing/places";

/** Has what a file says besides its model. */
export interface Remainder {
  warrants: Line[];
  /** The text of a test file with the warrants and the tests. */
  tests: string;
  testCount: number;
}

/** What was converted and is neither written nor discarded: the model comes first, and the page changes with it. */
export const remainder = signal<Remainder | undefined>(undefined);

effect(() => {
  if (key.value === null) remainder.value = undefined;
});

interface WrittenWarrant {
  warrant: string;
  expires_at?: string;
}

/** Returns the model of such a text and what else it says; without a remainder the text is the model itself. */
export function readWholeFile(text: string): { model: string; rest?: Remainder } {
  if (!text.startsWith("model: |\n")) return { model: text };
  const all = text.split("\n");
  const end = all.findIndex((line, place) => place > 0 && /^\S/.test(line));
  const model = all.slice(1, end).map((line) => line.slice(2));
  const lines = all.slice(end);
  const items = listElements(lines, "setup.warrants").map((number) => (lines[number - 1] ?? "").trim().slice(2));
  const warrants = [...new Set(items)].map((item, place) => {
    const number = place + 1;
    const written = JSON.parse(item) as WrittenWarrant;
    const limit = written.expires_at ? { expiresAt: written.expires_at } : {};
    return { number, warrant: { ...readWritten(written.warrant, number), ...limit } };
  });
  const testCount = listElements(lines, "tests").length;
  return { model: `${model.join("\n")}\n`, rest: { warrants, tests: lines.join("\n"), testCount } };
}

/** Returns one file of a model and relationships that are apart: tuples of OpenFGA in YAML or JSON, or relationships of
 * SpiceDB, one in each line. */
export function joinFiles(model: string, relationships: string): string {
  if (relationships.trim() === "") return model;
  const isOpenFga = /^\s*(?:#.*\n\s*)*(?:[[{]|-\s|tuples:)/.test(relationships);
  if (!isOpenFga) return `schema: |2\n${indent(model)}\nrelationships: |2\n${indent(relationships)}\n`;
  const tuples = /^tuples:/m.test(relationships) ? relationships : `tuples:\n${indent(readTuples(relationships))}`;
  return `model: |2\n${indent(model)}\n${tuples}\n`;
}

/** Returns the list of a JSON text that may have it in a member, as the API of OpenFGA does. */
function readTuples(text: string): string {
  try {
    const value = JSON.parse(text) as { tuples?: unknown };
    return JSON.stringify(value.tuples ?? value);
  } catch {
    return text; // it is YAML
  }
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => (line.trim() ? `  ${line}` : ""))
    .join("\n");
}
