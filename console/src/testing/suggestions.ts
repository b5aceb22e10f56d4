/** Finds what a half-written line of a test file may become: its members, and the names of the model. */

import type { Proposed } from "../model/suggestions";
import * as words from "../words";

const MEMBERS: Record<string, string[]> = {
  "": ["model", "now", "setup", "tests"],
  setup: ["warrants"],
  tests: ["name", "check", "checks", "query", "context", "warrants", "expect", "denied_because"],
};
const WORD = /[A-Za-z0-9_-]*$/;
/** Matches what stands before the name of a member. */
const MEMBER_PLACE = /^\s+(?:-\s+)?$|\{\s*$|^[^"']*\{(?:[^"'[]|"[^"]*"|'[^']*')*,\s*$/;
/** Matches the beginnings of lines on which a text of the writer is being written. */
const FREE = /\b(?:name|now|context|expect)["']?:\s[^[]*$/;

/** Has the names of the model that the file is about. */
export interface Names {
  types: string[];
  listRelations: (type: string) => string[];
}

/** Returns the completions behind this beginning of a line. `above` has the lines before it. */
export function completeTests(before: string, above: string[], names: Names): { from: number; options: Proposed[] } | undefined {
  const section = findSection(before, above);
  if (section === undefined) return undefined;
  const from = before.search(WORD);
  const isMember = section === "" || MEMBER_PLACE.test(before.slice(0, from));
  const options = isMember ? listMembers(section) : listNames(before, names);
  return options.length > 0 ? { from, options } : undefined;
}

/** Returns the member of the file that a line belongs to, "" for a line that begins one, and undefined within a model. */
function findSection(before: string, above: string[]): string | undefined {
  if (/^[a-z_]*$/.test(before)) return "";
  const own = /^([a-z_]+):/.exec(before) ?? above.toReversed().map((line) => /^([a-z_]+):/.exec(line)).find(Boolean);
  const name = own?.[1] ?? "";
  return name in MEMBERS ? name : undefined;
}

function listMembers(section: string): Proposed[] {
  return (MEMBERS[section] ?? []).map((name) => ({ label: name, kind: "keyword" }));
}

/** Returns what may follow in a check or a warrant: types, and after `#` the relations of the one that is named. */
function listNames(before: string, names: Names): Proposed[] {
  if (FREE.test(before)) return [];
  const written = /[^\s"'[\]{},@]*$/.exec(before)?.[0] ?? "";
  const [object = "", relation] = written.split("#", 2);
  const type = object.split(":", 1)[0] ?? "";
  if (relation !== undefined) {
    return names.listRelations(type).map((name) => ({ label: name, kind: "relation", detail: words.completions.of(type) }));
  }
  return object.includes(":") ? [] : names.types.map((name) => ({ label: name, kind: "type" }));
}
