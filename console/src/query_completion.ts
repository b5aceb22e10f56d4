/** Completes the query language (docs/query-language.md) from its grammar, the model, and the objects of the service. */

import { completeObject, type Complete, type Option } from "./completion";
import { listRelations, listTypes } from "./schema";

/** Completes the word at the end of the text. What comes before it says which words may follow. */
export const completeQuery: Complete = async (text, signal) => {
  const start = text.search(/[^\s,]*$/);
  const before = text.slice(0, start);
  const word = text.slice(start);
  const words = before.toLowerCase().split(/[\s,]+/).filter(Boolean);
  const found = await listNext(words, before.trimEnd().endsWith(","), word, signal);
  return found
    .filter((option) => option.value.startsWith(word) && option.value !== word)
    .map((option) => ({
      ...option,
      label: option.value,
      value: before + option.value,
      isPrefix: true,
    }));
};

async function listNext(words: string[], isList: boolean, word: string, signal: AbortSignal): Promise<Option[]> {
  const last = words.at(-1);
  if (last === undefined) return keywords("select ");
  if (last === "for" || last === "where") return completeObject(word, signal);
  if (last === "is") return names(listRelations(findType(words)), "*");
  if (last === "type") return names(listTypes(), "*");
  if (last === "of") return keywords("type ");
  if (last === "select") return [...keywords("explicit "), ...names(listTypes(), "*"), ...names(listRelations())];
  if (last === "explicit") return [...names(listTypes(), "*"), ...names(listRelations())];
  if (isList) return names(words.includes("is") ? listRelations(findType(words)) : [...listTypes(), ...listRelations()]);
  if (words.includes("is") || words.includes("for")) return [];
  if (words.includes("where")) return keywords("is ");
  if (words.includes("type")) return keywords("for ");
  return keywords("where ", "of type ");
}

/** Returns the type of the objects that a query selects, if it is one. */
function findType(words: string[]): string | undefined {
  const place = words.indexOf("where");
  const selected = words.slice(1, place).filter((one) => one !== "explicit");
  return selected.length === 1 && selected[0] !== "*" ? selected[0] : undefined;
}

function keywords(...texts: string[]): Option[] {
  return texts.map((value) => ({ value, isPrefix: true }));
}

function names(found: string[], ...others: string[]): Option[] {
  return [...found, ...others].map((value) => ({ value }));
}
