/** Renders objects, subjects and warrants in written form: `document:plan#viewer@team:eng#member[policy]`. */

import type { ObjectRef, SubjectRef, WarrantBody } from "./json.js";

export function renderObject({ objectType, objectId }: ObjectRef): string {
  return `${objectType}:${objectId}`;
}

export function renderSubject(subject: SubjectRef): string {
  return subject.relation === undefined ? renderObject(subject) : `${renderObject(subject)}#${subject.relation}`;
}

export function renderWarrant(warrant: Omit<WarrantBody, "startsAt" | "expiresAt">): string {
  const check = `${renderObject(warrant)}#${warrant.relation}@${renderSubject(warrant.subject)}`;
  return warrant.policy === undefined ? check : `${check}[${warrant.policy}]`;
}
