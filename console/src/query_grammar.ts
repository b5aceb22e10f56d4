/** Says what may come next in a query that is being written (docs/query-language.md). */

import { readObject } from "./names";

/** Represents the end of a query: the word that is being written there, and what it may become. */
export interface QueryEnd {
  /** The text before the word. */
  before: string;
  word: string;
  keywords: string[];
  /** Whether it may be the name of a type. */
  isType: boolean;
  /** The types whose relations it may be; those of all types if there is none; undefined: it is no relation. */
  relationsOf?: string[];
  /** Whether it may be `type:id`. */
  isObject: boolean;
  /** Whether it may be `*`. */
  isAll: boolean;
  /** The names that its list has already. */
  named: string[];
}

type Clause = "" | "select" | "where" | "is" | "and" | "not" | "of" | "of type" | "for";

const WORDS = /,|[^\s,:]+:"[^"]*"?|[^\s,]+/g;
const LAST_WORD = /(?:[^\s,:]+:"[^"]*"?|[^\s,]*)$/;
/** Has the clauses that may follow a clause, and the keyword that each begins with. */
const NEXT: Record<Clause, Record<string, Clause>> = {
  "": { select: "select" },
  select: { where: "where", of: "of" },
  where: { is: "is" },
  is: { and: "and" },
  and: { not: "not", is: "is" },
  not: { is: "is" },
  of: { type: "of type" },
  "of type": { for: "for" },
  for: {},
};

/** Has the clauses that begin with a name, whatever it is: `of` and `type` can be names. */
const NAMED: Partial<Record<Clause, true>> = { select: true, where: true, is: true, not: true, "of type": true, for: true };

/** Reads what stands before the last word. Types are known by their names, so that `select document` finds objects. */
export function readEnd(text: string, types: string[]): QueryEnd {
  const word = LAST_WORD.exec(text)?.[0] ?? "";
  const before = text.slice(0, text.length - word.length);
  let clause: Clause = "";
  let named: string[] = [];
  let selected: string[] = [];
  let isNext = true; // whether a clause, or a comma, wants something behind it
  for (const one of before.match(WORDS) ?? []) {
    const begun: Clause | undefined = isNext && clause in NAMED ? undefined : NEXT[clause][one.toLowerCase()];
    if (begun !== undefined) {
      if (clause === "select") selected = named;
      clause = begun;
      named = [];
      isNext = true;
    } else if (one === ",") {
      isNext = true;
    } else if (clause !== "select" || one.toLowerCase() !== "explicit") {
      named.push(one);
      isNext = false;
    }
  }
  const end: QueryEnd = { before, word, keywords: [], isType: false, isObject: false, isAll: false, named };
  if (clause === "" || clause === "of") return { ...end, keywords: Object.keys(NEXT[clause]) };
  if (!isNext) return { ...end, keywords: listKeywords(clause, named, types) };
  const isAll = named.length === 0;
  const areTypes = named.some((name) => types.includes(name));
  switch (clause) {
    case "select":
      return {
        ...end,
        isAll,
        keywords: isAll && !/explicit\s+$/i.test(before) ? ["explicit"] : [],
        isType: isAll || areTypes,
        relationsOf: isAll || !areTypes ? [] : undefined,
      };
    case "is":
      return { ...end, isAll, relationsOf: selected.filter((name) => types.includes(name)) };
    case "of type":
      return { ...end, isAll, isType: true };
    case "and":
      return { ...end, keywords: isAll ? ["not"] : [], isObject: isAll };
    default:
      return { ...end, isObject: isAll };
  }
}

/** Returns the keywords that may follow a list of names: of those that follow `select`, the one that fits the names. */
function listKeywords(clause: Clause, named: string[], types: string[]): string[] {
  if (clause === "and") return ["is"];
  if (clause !== "select") return Object.keys(NEXT[clause]);
  if (named.includes("*")) return ["where", "of type"];
  return named.every((name) => types.includes(name)) ? ["where"] : ["of type"];
}

/** Returns the object or subject that a query is about: all its rows are about the same one. */
export function readAbout(q: string): { name?: string; areSubjects: boolean } {
  const words = q.match(WORDS) ?? [];
  const place = words.findIndex((word) => /^(where|for)$/i.test(word));
  const object = place < 0 ? undefined : readObject(words[place + 1] ?? "");
  const name = object && `${object.objectType}:${object.objectId}`;
  return { name, areSubjects: words[place]?.toLowerCase() === "for" };
}
