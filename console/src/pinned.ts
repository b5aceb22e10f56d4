/** Keeps the test file that the page Tests edits. It is in the sessionStorage of the tab, like the key: the names of users
 * and objects in it are discarded with the tab, and no server ever has them but the one that runs the tests. */

import { effect, signal } from "@preact/signals";
import { key, read, send, signedOutBecause } from "./api";
import { writeWithPolicy, type Explanation, type Node } from "./explanation";
import { writeObject, writeSubject, type ObjectName, type Subject, type Warrant } from "./names";
import type { Page } from "./schema";

const STORED = "magistrate.tests";
const PAGE_SIZE = 1000;
/** Limits the warrants of a file with all of them: a playground is for small data. */
export const MOST_WARRANTS = 10_000;

export const testFile = signal(sessionStorage.getItem(STORED) ?? "");

effect(() => {
  if (key.value === null && !signedOutBecause.value) testFile.value = "";
});
effect(() => {
  if (testFile.value) sessionStorage.setItem(STORED, testFile.value);
  else sessionStorage.removeItem(STORED);
});

export interface PinnedCheck {
  object: ObjectName;
  relation: string;
  subject: Subject;
  context?: Record<string, unknown>;
}

/** Adds a check with the answer that it has now, and the warrants that it depends on. */
export async function pinCheck(pinned: PinnedCheck, asOf: string | undefined): Promise<void> {
  const { object, relation, subject, context } = pinned;
  const explanation = await read<Explanation>("v2/explain", { body: { ...object, relation, subject, context, asOf } });
  const check = `${writeObject(object)}#${relation}@${writeSubject(subject)}`;
  const members = [`check: ${JSON.stringify(check)}`, `expect: ${String(explanation.decision === "allowed")}`];
  if (context) members.push(`context: ${JSON.stringify(context)}`);
  const warrants = [...(explanation.path ?? []), ...listVia(explanation.because)].map(writeItem);
  let lines = testFile.value ? testFile.value.split("\n") : ["setup:", "  warrants: []", "tests: []", ""];
  for (const item of new Set(warrants)) lines = addItem(lines, "  warrants", item);
  testFile.value = addItem(lines, "tests", `{${members.join(", ")}}`).join("\n");
}

function listVia(root: Node): Warrant[] {
  const found: Warrant[] = [];
  const waiting = [root];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (node.via) found.push(node.via);
    waiting.push(...(node.children ?? []));
  }
  return found;
}

/** Returns a warrant as a test file has it. A text of JSON is one of YAML, too, whatever characters it has. */
function writeItem(warrant: Warrant): string {
  const text = JSON.stringify(writeWithPolicy(warrant));
  const limits = [
    ...(warrant.startsAt ? [`starts_at: ${JSON.stringify(warrant.startsAt)}`] : []),
    ...(warrant.expiresAt ? [`expires_at: ${JSON.stringify(warrant.expiresAt)}`] : []),
  ];
  return limits.length > 0 ? `{warrant: ${text}, ${limits.join(", ")}}` : text;
}

/** Returns the lines with an item at the end of the list that a member has. */
function addItem(lines: string[], member: string, item: string): string[] {
  const depth = member.length - member.trimStart().length;
  const place = lines.findIndex((line) => new RegExp(`^${member}:\\s*(\\[\\s*\\])?\\s*$`).test(line));
  if (place < 0) {
    const added = depth > 0 ? ["setup:", `${member}:`, `    - ${item}`] : [`${member}:`, `  - ${item}`];
    return depth > 0 ? [...added, ...lines] : [...withoutEmptyEnd(lines), ...added, ""];
  }
  let end = place + 1;
  for (let at = end; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const indent = line.length - line.trimStart().length;
    if (line.trim() === "") continue;
    if (indent < depth || (indent === depth && !line.trimStart().startsWith("- "))) break;
    end = at + 1;
  }
  const first = lines.slice(place + 1, end).find((line) => line.trimStart().startsWith("- "));
  const indent = first === undefined ? " ".repeat(depth + 2) : first.slice(0, first.indexOf("-"));
  const written = `${indent}- ${item}`;
  if (lines.slice(place + 1, end).includes(written)) return lines;
  const head = lines.slice(0, place);
  return [...head, `${member}:`, ...lines.slice(place + 1, end), written, ...lines.slice(end)];
}

function withoutEmptyEnd(lines: string[]): string[] {
  const text = lines.join("\n").trimEnd();
  return text ? text.split("\n") : [];
}

/** Returns the file with the model of the service, unless it has one: so it can be run anywhere. */
export async function addModel(text: string): Promise<string> {
  if (/^model(_file)?:/m.test(text) || text.trimStart().startsWith("{")) return text;
  const model = await (await send("v2/model", { accept: "text/plain" })).text();
  const indented = model.split("\n").map((line) => (line ? `  ${line}` : line));
  return `model: |\n${indented.join("\n").trimEnd()}\n\n${text}`;
}

/** Returns the file with the model and all warrants of the service, and how many of them. */
export async function addEverything(text: string): Promise<{ text: string; warrants: number; isCut: boolean }> {
  const warrants: Warrant[] = [];
  let nextCursor: string | undefined;
  do {
    const page: Page<Warrant> = await read("v2/warrants", { query: { limit: PAGE_SIZE, nextCursor } });
    warrants.push(...page.results);
    nextCursor = page.nextCursor;
  } while (nextCursor && warrants.length < MOST_WARRANTS);
  let lines = text ? text.split("\n") : ["tests: []", ""];
  const known = new Set(lines.map((line) => line.trim().replace(/^- /, "")));
  const items = warrants.map(writeItem).filter((item) => !known.has(item));
  const [first, ...others] = items;
  if (first !== undefined) {
    lines = addItem(lines, "  warrants", first);
    const place = lines.findIndex((line) => line.trim() === `- ${first}`);
    const indent = (lines[place] ?? "").replace(/-.*$/s, "");
    lines = [...lines.slice(0, place + 1), ...others.map((item) => `${indent}- ${item}`), ...lines.slice(place + 1)];
  }
  return { text: await addModel(lines.join("\n")), warrants: warrants.length, isCut: nextCursor !== undefined };
}
