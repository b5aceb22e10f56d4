/** Reads the written form of objects, subjects and warrants: `document:plan#viewer@team:eng#member[policy]`. */

import { InvalidUse } from "./errors.js";
import type { Context, ObjectRef, SubjectRef, WarrantBody } from "./json.js";

const NAME = "([^:#@[]+)";
const ID = '("[^"]*"|[^#["]+)';
const OBJECT = new RegExp(`^${NAME}:${ID}$`, "s");
const SUBJECT = new RegExp(`^${NAME}:${ID}(?:#([^#[]+))?$`, "s");
const WARRANT = new RegExp(`^${NAME}:${ID}#${NAME}@${NAME}:${ID}(?:#([^#[]+))?(?:\\[(.+)\\])?$`, "s");
const SHOWN = 200;

export interface CheckBody extends ObjectRef {
  relation: string;
  subject?: SubjectRef;
}

export interface WarrantInParts {
  readonly object: string | ObjectRef;
  readonly relation: string;
  readonly subject: string | SubjectRef;
  readonly policy?: string;
  readonly startsAt?: string | Date;
  readonly expiresAt?: string | Date;
}

export function readObject(object: string | ObjectRef): ObjectRef {
  if (typeof object !== "string") return { objectType: object.objectType, objectId: object.objectId };
  const [, type, id] = match(OBJECT, object, "an object such as document:plan");
  return { objectType: type!, objectId: unquote(id!) };
}

export function readSubject(subject: string | SubjectRef): SubjectRef {
  if (typeof subject !== "string") {
    const { objectType, objectId, relation } = subject;
    return relation === undefined ? { objectType, objectId } : { objectType, objectId, relation };
  }
  const [, type, id, relation] = match(SUBJECT, subject, "a subject such as user:ann or team:eng#member");
  const ref = { objectType: type!, objectId: unquote(id!) };
  return relation === undefined ? ref : { ...ref, relation };
}

/** A warrant as text, with limits. */
export interface LimitedText {
  readonly warrant: string;
  readonly startsAt?: string | Date;
  readonly expiresAt?: string | Date;
}

export type WrittenWarrant = string | WarrantInParts | LimitedText | WarrantBody;

export function readWarrant(warrant: WrittenWarrant): WarrantBody {
  if (typeof warrant !== "string") {
    if ("warrant" in warrant) return { ...readWarrant(warrant.warrant), ...readLimits(warrant) };
    return "object" in warrant ? readParts(warrant) : warrant;
  }
  const form = "a warrant such as document:plan#viewer@user:ann";
  const [, type, id, relation, subjectType, subjectId, userset, policy] = match(WARRANT, warrant, form);
  const subject = { objectType: subjectType!, objectId: unquote(subjectId!) };
  return {
    objectType: type!,
    objectId: unquote(id!),
    relation: relation!,
    subject: userset === undefined ? subject : { ...subject, relation: userset },
    ...(policy === undefined ? {} : { policy }),
  };
}

function readParts({ object, relation, subject, policy, ...limits }: WarrantInParts): WarrantBody {
  const warrant = { ...readObject(object), relation, subject: readSubject(subject), ...readLimits(limits) };
  return policy === undefined ? warrant : { ...warrant, policy };
}

function readLimits({ startsAt, expiresAt }: Omit<LimitedText, "warrant">): { startsAt?: string; expiresAt?: string } {
  return {
    ...(startsAt === undefined ? {} : { startsAt: readTime(startsAt) }),
    ...(expiresAt === undefined ? {} : { expiresAt: readTime(expiresAt) }),
  };
}

export type Element =
  | WrittenWarrant
  | ObjectRef
  | { readonly object: string | ObjectRef; readonly meta?: Context };

export interface Elements {
  warrants: WarrantBody[];
  objects: (ObjectRef & { meta?: Context })[];
}

/** Returns the elements of a write, which are warrants, or objects with their meta. */
export function readElements(elements: readonly Element[]): Elements {
  const read: Elements = { warrants: [], objects: [] };
  for (const element of elements) {
    if (isWarrant(element)) read.warrants.push(readWarrant(element));
    else if (typeof element === "string" || !("object" in element)) read.objects.push(readObject(element));
    else if (element.meta === undefined) read.objects.push(readObject(element.object));
    else read.objects.push({ ...readObject(element.object), meta: element.meta });
  }
  return read;
}

/** Returns what a precondition names. */
export function readElement(element: Element): WarrantBody | ObjectRef {
  const { warrants, objects } = readElements([element]);
  return (warrants[0] ?? objects[0])!;
}

function isWarrant(element: Element): element is WrittenWarrant {
  if (typeof element === "string") return !OBJECT.test(element);
  return "relation" in element || "warrant" in element;
}

export function readCheck(subject: string | SubjectRef | null, relation: string, object: string | ObjectRef): CheckBody {
  const check = { ...readObject(object), relation };
  return subject === null ? check : { ...check, subject: readSubject(subject) };
}

export function readTime(time: string | Date): string {
  return typeof time === "string" ? time : time.toISOString();
}

/** Returns the text of an object in a query. */
export function quoteObject({ objectType, objectId }: ObjectRef): string {
  if (objectId.includes('"')) throw new InvalidUse(`the id ${show(objectId)} has a quotation mark, which no id has`);
  return `${readName(objectType)}:"${objectId}"`;
}

/** Returns the name of a type or relation, or of a group such as `team#member`, if a query can have it. */
export function readName(name: string): string {
  if (!/^[\w-]+(#[\w-]+)?$/.test(name)) throw new InvalidUse(`${show(name)} is not the name of a type or relation`);
  return name;
}

function match(pattern: RegExp, text: string, form: string): RegExpExecArray {
  const matched = pattern.exec(text);
  if (matched === null) throw new InvalidUse(`${show(text)} does not read as ${form}`);
  return matched;
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, SHOWN));
}

function unquote(id: string): string {
  return id.startsWith('"') ? id.slice(1, -1) : id;
}
