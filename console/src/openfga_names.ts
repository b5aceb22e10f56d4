/** Knows what OpenFGA calls the names of this store, from the answers that said so (docs/openfga.md#in-answers-of-v2).
 * What is shown has these names, and requests have ours. */

import { signal } from "@preact/signals";
import { readCheck, readSubject, type ObjectName, type Subject, type WarrantKey } from "./names";
import * as words from "./words";

type Names = Partial<Record<"types" | "relations" | "ids" | "conditions", Record<string, string>>>;

const names = signal<Required<Names>>({ types: {}, relations: {}, ids: {}, conditions: {} });

/** Takes over the names of an answer, if it has any. A name never gets another one in OpenFGA. */
export function keepNames(answer: unknown): void {
  const added = (answer as { names?: Names } | null)?.names;
  if (!added) return;
  const { types, relations, ids, conditions } = names.peek();
  names.value = {
    types: { ...types, ...added.types },
    relations: { ...relations, ...added.relations },
    ids: { ...ids, ...added.ids },
    conditions: { ...conditions, ...added.conditions },
  };
}

const DIRECT = "direct_";

export function showType(name: string): string {
  return names.value.types[name] ?? name;
}

export function showRelation(name: string): string {
  return names.value.relations[name] ?? name;
}

/** Returns a relation so that one which tuples give is not taken for the rule that has the same name in OpenFGA. */
export function showDistinctRelation(name: string): string {
  const shown = names.value.relations[name];
  if (shown === undefined) return name;
  return name.startsWith(DIRECT) ? words.tables.direct(shown) : shown;
}

export function showObject({ objectType, objectId }: ObjectName): string {
  return `${showType(objectType)}:${names.value.ids[objectId] ?? objectId}`;
}

export function showSubject(subject: Subject): string {
  return showObject(subject) + (subject.relation ? `#${showRelation(subject.relation)}` : "");
}

export function showWarrant(warrant: WarrantKey): string {
  return `${showObject(warrant)}#${showRelation(warrant.relation)}@${showSubject(warrant.subject)}`;
}

/** Returns a check, which answers have in written form. */
export function showCheck(text: string): string {
  const check = readCheck(text);
  return check ? showWarrant(check) : text;
}

/** Returns a name that was entered, or is in a link. */
export function showEntered(text: string): string {
  const subject = readSubject(text);
  return subject ? showSubject(subject) : text;
}

/** Returns a sentence, or a policy, with the names of OpenFGA. */
export function showText(text: string): string {
  const { types, relations, ids, conditions } = names.value;
  return text.replace(/[A-Za-z0-9_%-]+/g, (word) => types[word] ?? relations[word] ?? ids[word] ?? conditions[word] ?? word);
}
