/** Completes the query language (docs/query-language.md) from its grammar, the model, and the objects of the service. */

import { completeObject, type Complete, type Option } from "./completion";
import { quoteObject, readObject } from "./names";
import { readEnd, type QueryEnd } from "./query_grammar";
import { listRelations, listTypes } from "./schema";

/** Completes the word at the end of the text. What comes before it says which words may follow. */
export const completeQuery: Complete = async (text, signal) => {
  const end = readEnd(text, listTypes());
  const found = end.isObject ? await listObjects(end.word, signal) : listNames(end);
  return found.map((option) => ({ ...option, label: option.value, value: end.before + option.value, isPrefix: true }));
};

function listNames(end: QueryEnd): Option[] {
  const { relationsOf } = end;
  const relations = relationsOf && (relationsOf.length > 0 ? relationsOf.flatMap((type) => listRelations(type)) : listRelations());
  const names = [...(end.isType ? listTypes() : []), ...(relations ?? []).toSorted(), ...(end.isAll ? ["*"] : [])];
  const left = names.filter((name) => !end.named.includes(name));
  return [...new Set([...end.keywords.map((word) => `${word} `), ...left])]
    .filter((name) => name.startsWith(end.word) && name !== end.word)
    .map((value) => ({ value }));
}

/** Finds objects by a part of their name. Their ids are quoted if the language wants it. */
async function listObjects(word: string, signal: AbortSignal): Promise<Option[]> {
  const found = await completeObject(word.replaceAll('"', ""), signal);
  return found.map((option) => {
    const object = readObject(option.value);
    return object ? { ...option, value: quoteObject(object) } : option;
  });
}
