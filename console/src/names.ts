/** Reads and writes the written forms of objects, subjects, warrants and checks (docs/concepts.md). */

export interface Subject {
  objectType: string;
  objectId: string;
  relation?: string;
}

export interface ObjectName {
  objectType: string;
  objectId: string;
}

export interface WarrantKey extends ObjectName {
  relation: string;
  subject: Subject;
  policy?: string;
}

export interface Warrant extends WarrantKey {
  createdAt?: string;
  startsAt?: string;
  expiresAt?: string;
}

/** The first colon ends the type. No id contains `#` or a double quote, so none has to be quoted, but it can be. */
const OBJECT = '([^:#@[]+):("[^"]*"|[^#["]+)';
const RELATION = "#([A-Za-z0-9_-]+)";
const CHECK = new RegExp(`^${OBJECT}${RELATION}@${OBJECT}(?:${RELATION})?$`);
const SUBJECT = new RegExp(`^${OBJECT}(?:${RELATION})?$`);

export function readObject(text: string): ObjectName | undefined {
  const subject = readSubject(text);
  return subject && !subject.relation ? { objectType: subject.objectType, objectId: subject.objectId } : undefined;
}

export function readSubject(text: string): Subject | undefined {
  const found = SUBJECT.exec(text.trim());
  if (!found) return undefined;
  const [, objectType = "", id = "", relation] = found;
  const objectId = unquote(id);
  return relation ? { objectType, objectId, relation } : { objectType, objectId };
}

/** Returns the parts of a check in written form, such as those of the steps of an explanation. */
export function readCheck(text: string): WarrantKey | undefined {
  const found = CHECK.exec(text);
  if (!found) return undefined;
  const [, objectType = "", objectId = "", relation = "", subjectType = "", subjectId = "", userset] = found;
  const subject: Subject = { objectType: subjectType, objectId: unquote(subjectId) };
  if (userset) subject.relation = userset;
  return { objectType, objectId: unquote(objectId), relation, subject };
}

function unquote(id: string): string {
  return id.startsWith('"') ? id.slice(1, -1) : id;
}

export function writeObject(object: ObjectName): string {
  return `${object.objectType}:${object.objectId}`;
}

export function writeSubject(subject: Subject): string {
  return writeObject(subject) + (subject.relation ? `#${subject.relation}` : "");
}

export function writeWarrant(warrant: WarrantKey): string {
  return `${writeObject(warrant)}#${warrant.relation}@${writeSubject(warrant.subject)}`;
}

/** Returns what identifies a warrant, without its times. */
export function keyOf(warrant: WarrantKey): WarrantKey {
  const { objectType, objectId, relation, subject, policy } = warrant;
  const key: WarrantKey = { objectType, objectId, relation, subject };
  return policy ? { ...key, policy } : key;
}

/** Returns an object as the query language writes it: an id with a comma is quoted. */
export function quoteObject(object: ObjectName): string {
  return object.objectId.includes(",") ? `${object.objectType}:"${object.objectId}"` : writeObject(object);
}

const MOMENT = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "numeric",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});
const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function showTime(text: string, format = TIME): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : format.format(time);
}

/** Returns a time with its seconds and its zone. */
export function showMoment(text: string): string {
  return showTime(text, MOMENT);
}
