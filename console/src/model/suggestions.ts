/** Finds what a half-written line of a model may become. */

import { OPERATORS } from "../operators";
import * as words from "../words";
import type { Outline, OutlineType, Place } from "./outline";

export interface Proposed {
  label: string;
  kind: "keyword" | "type" | "relation" | "policy";
  detail?: string;
}

export interface Completion {
  /** Where the word begins that is completed, in characters of the line. */
  from: number;
  options: Proposed[];
}

const WORD = /[A-Za-z0-9_-]*$/;
const RULE_WORDS = ["relation", ...Object.values(OPERATORS).map(({ text }) => text), "policy", "self", "nobody"];
const MEMBER_WORDS = ["relation", "inherit", "source", "action"];
const TOP_WORDS = ["type", "policy"];

/** Returns the completions behind this beginning of a line, which is at that place of the outline. */
export function completeLine(before: string, outline: Outline, place: Place | undefined): Completion | undefined {
  if (place?.isPolicy || /\/\//.test(before)) return undefined;
  const from = before.search(WORD);
  const head = before.slice(0, from);
  const type = outline.types.find((one) => one.name === place?.type);
  const options = head.lastIndexOf("[") > head.lastIndexOf("]")
    ? completeBracket(head, outline, type, place)
    : completeWords(head, outline, type, place);
  return options.length > 0 ? { from, options } : undefined;
}

/** Completes subjects between brackets: types, wildcards and usersets; for related objects types only. */
function completeBracket(head: string, outline: Outline, type: OutlineType | undefined, place: Place | undefined): Proposed[] {
  const inner = head.slice(head.lastIndexOf("[") + 1);
  const on = /\b(?:on|all)\s+([A-Za-z0-9_-]+)\s*\[[^\]]*$/.exec(head)?.[1];
  const userset = /([A-Za-z0-9_-]+)(?::\s*\*)?\s*#\s*$/.exec(inner)?.[1];
  if (userset) {
    const relations = outline.types.find((one) => one.name === userset)?.relations ?? [];
    return relations.map(({ name }) => ({ label: name, kind: "relation", detail: words.completions.of(userset) }));
  }
  if (on && place?.isRule) {
    const allowed = type?.relations.find((one) => one.name === on)?.allowed;
    const names = allowed?.map((one) => one.split(/[:#]/, 1)[0] ?? one) ?? listTypes(outline);
    return [...new Set(names)].map((label) => ({ label, kind: "type", detail: words.completions.is(on) }));
  }
  if (!/(^|,)\s*$/.test(inner)) return [];
  return outline.types.flatMap(({ name, relations }): Proposed[] => [
    { label: name, kind: "type", detail: words.completions.one },
    { label: `${name}:*`, kind: "type", detail: words.completions.all },
    ...relations.map((relation): Proposed => ({ label: `${name}#${relation.name}`, kind: "relation", detail: words.completions.usersets })),
  ]);
}

function completeWords(head: string, outline: Outline, type: OutlineType | undefined, place: Place | undefined): Proposed[] {
  const written = head.trim().split(/\s+/).filter(Boolean);
  const isRule = place?.isRule || written.includes("if");
  const relevant = isRule && written.includes("if") ? written.slice(written.indexOf("if") + 1) : written;
  if (isRule) return completeRule(relevant, outline, type);
  if (relevant.length === 0) return keywords(/^\s/.test(head) ? MEMBER_WORDS : TOP_WORDS);
  if (relevant[0] === "inherit" && relevant.length === 1) {
    const free = type?.relations.filter((one) => !one.hasRule) ?? [];
    return free.map(({ name }) => ({ label: name, kind: "relation" }));
  }
  if (relevant[0] === "action") return completeAction(relevant.slice(1), type);
  return relevant[0] === "inherit" && relevant.length === 2 ? keywords(["if"]) : [];
}

/** Completes behind the name of an action, which has no blanks. */
function completeAction(written: string[], type: OutlineType | undefined): Proposed[] {
  if (written.length === 1 && /^"[^"]+"$/.test(written[0] ?? "")) return keywords(["is"]);
  const relations = written.length === 2 && written[1] === "is" ? (type?.relations ?? []) : [];
  return relations.map(({ name }) => ({ label: name, kind: "relation" }));
}

function completeRule(written: string[], outline: Outline, type: OutlineType | undefined): Proposed[] {
  const [first, , ...rest] = written;
  if (written.length === 0) return keywords(RULE_WORDS);
  if (first === "policy" && written.length === 1) return outline.policies.map((label) => ({ label, kind: "policy" }));
  if (first !== "relation") return [];
  if (written.length === 1) return completeRelation(outline, type);
  if (rest.length === 0) return keywords(["on", "for all"]);
  if (rest.length === 1 && rest[0] === "for") return keywords(["all"]);
  const isObject = (rest.length === 1 && rest[0] === "on") || (rest.length === 2 && rest[1] === "all");
  return isObject ? (type?.relations ?? []).map(({ name }) => ({ label: name, kind: "relation", detail: words.completions.toObjects })) : [];
}

/** Returns the relations of the type first, then those that related objects may have. */
function completeRelation(outline: Outline, type: OutlineType | undefined): Proposed[] {
  const own = new Set(type?.relations.map((one) => one.name));
  const others = new Map<string, string>();
  for (const other of outline.types) {
    for (const { name } of other.relations) if (!own.has(name) && !others.has(name)) others.set(name, other.name);
  }
  return [
    ...[...own].map((label): Proposed => ({ label, kind: "relation", detail: words.completions.ofSame })),
    ...[...others].map(([label, of]): Proposed => ({ label, kind: "relation", detail: words.completions.of(of) })),
  ];
}

function listTypes(outline: Outline): string[] {
  return outline.types.map((one) => one.name);
}

function keywords(labels: string[]): Proposed[] {
  return labels.map((label) => ({ label, kind: "keyword" }));
}
