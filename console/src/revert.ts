/** Finds what brings back the warrants and objects as they were before a revision, and leaves what came after it. */

import type { StoredObject } from "./completion";
import { writeWithPolicy } from "./explanation";
import { keyOf, writeObject, type ObjectName, type Warrant } from "./names";
import * as words from "./words";

/** Represents what a revision did to warrants and objects, as the watch reports it (docs/watch.md#events). */
export interface RevisionEvent {
  token: string;
  warrants?: { created?: Warrant[]; deleted?: Warrant[]; expired?: Warrant[] };
  objects?: { created?: ObjectState[]; updated?: ObjectState[]; deleted?: ObjectName[] };
}

export type ObjectState = Omit<StoredObject, "createdAt">;

/** Holds the warrants and objects that a revision changed, as they are at some point in time; others are not in it. */
export interface State {
  warrants: Map<string, Warrant>;
  objects: Map<string, ObjectState>;
}

export interface Now extends State {
  /** All warrants, in written form, that name an object which the revision created. */
  naming: Map<string, string[]>;
}

export interface Action {
  verb: "create" | "delete" | "change";
  what: { warrant: Warrant } | { object: ObjectState };
  note?: string;
}

export interface Reversal {
  actions: Action[];
  /** What is left as it is, with the reason. */
  kept: { name: string; reason: string }[];
}

export function changedWarrants({ warrants = {} }: RevisionEvent): Warrant[] {
  return [...(warrants.created ?? []), ...(warrants.deleted ?? []), ...(warrants.expired ?? [])];
}

export function changedObjects({ objects = {} }: RevisionEvent): ObjectName[] {
  return [...(objects.created ?? []), ...(objects.updated ?? []), ...(objects.deleted ?? [])];
}

export function planReversal(event: RevisionEvent, before: State, now: Now, time: number): Reversal {
  const reversal: Reversal = { actions: [], kept: [] };
  for (const warrant of changedWarrants(event)) revertWarrant(warrant, before, now, time, reversal);
  const deleted = new Set(reversal.actions.flatMap(({ verb, what }) => (verb === "delete" && "warrant" in what ? [writeWithPolicy(what.warrant)] : [])));
  for (const object of event.objects?.created ?? []) revertCreation(object, now, deleted, reversal);
  for (const object of event.objects?.updated ?? []) revertMeta(object, false, before, now, reversal);
  for (const object of event.objects?.deleted ?? []) revertMeta(object, true, before, now, reversal);
  return reversal;
}

function revertWarrant(listed: Warrant, before: State, now: Now, time: number, { actions, kept }: Reversal): void {
  const key = writeWithPolicy(listed);
  if (actions.some(({ what }) => "warrant" in what && writeWithPolicy(what.warrant) === key)) return;
  const was = before.warrants.get(key);
  const is = now.warrants.get(key);
  const hasEnded = was?.expiresAt !== undefined && Date.parse(was.expiresAt) <= time;
  if (was && hasEnded) kept.push({ name: key, reason: words.revert.wouldHaveExpired });
  else if (was && !is) actions.push({ verb: "create", what: { warrant: limitsOf(was) } });
  else if (was && is && !hasSameLimits(was, is)) {
    actions.push({ verb: "change", what: { warrant: limitsOf(was) }, note: words.revert.toOldLimits });
  } else if (!was && is) {
    const note = hasSameLimits(listed, is) ? undefined : words.revert.limitsChanged;
    actions.push({ verb: "delete", what: { warrant: limitsOf(is) }, note });
  } else kept.push({ name: key, reason: was ? words.revert.existsAgain : words.revert.isDeleted });
}

function revertCreation(listed: ObjectState, now: Now, deleted: Set<string>, { actions, kept }: Reversal): void {
  const name = writeObject(listed);
  const is = now.objects.get(name);
  if (!is) kept.push({ name, reason: words.revert.isDeleted });
  else if (!hasSameMeta(listed, is)) kept.push({ name, reason: words.revert.wasChanged });
  else if (now.naming.get(name)?.some((key) => !deleted.has(key))) kept.push({ name, reason: words.revert.isNamed });
  else actions.push({ verb: "delete", what: { object: is } });
}

function revertMeta(listed: ObjectName, isDeletion: boolean, before: State, now: Now, { actions, kept }: Reversal): void {
  const name = writeObject(listed);
  const was = before.objects.get(name);
  const is = now.objects.get(name);
  if (!was) return; // it was created and deleted by the same write
  if (!is && !isDeletion) kept.push({ name, reason: words.revert.isGone });
  else if (!is) actions.push({ verb: "create", what: { object: was } });
  else if (hasSameMeta(was, is)) kept.push({ name, reason: words.revert.isAsItWas });
  else actions.push({ verb: "change", what: { object: was }, note: words.revert.toOldMeta });
}

function limitsOf(warrant: Warrant): Warrant {
  const { startsAt, expiresAt } = warrant;
  return { ...keyOf(warrant), ...(startsAt ? { startsAt } : {}), ...(expiresAt ? { expiresAt } : {}) };
}

function hasSameLimits(one: Warrant, other: Warrant): boolean {
  return one.startsAt === other.startsAt && one.expiresAt === other.expiresAt;
}

function hasSameMeta(one: ObjectState, other: ObjectState): boolean {
  return JSON.stringify(one.meta ?? {}) === JSON.stringify(other.meta ?? {});
}

/** Returns the body of the write that makes those actions. An object is deleted only with all warrants that name it. */
export function writeActions(actions: Action[], naming: Map<string, string[]>) {
  const warrants = (verb: Action["verb"]) =>
    actions.flatMap((one) => (one.verb === verb && "warrant" in one.what ? [one.what.warrant] : []));
  const objects = (verb: Action["verb"]) =>
    actions.flatMap((one) => (one.verb === verb && "object" in one.what ? [one.what.object] : []));
  const deleted = new Set(warrants("delete").map(writeWithPolicy));
  const ended = objects("delete").filter((one) => naming.get(writeObject(one))?.every((key) => deleted.has(key)) ?? true);
  return {
    delete: { warrants: warrants("delete").map(keyOf), objects: ended.map(({ objectType, objectId }) => ({ objectType, objectId })) },
    create: {
      warrants: [...warrants("create"), ...warrants("change")],
      objects: [...objects("create"), ...objects("change")].map(({ objectType, objectId, meta }) => ({ objectType, objectId, meta: meta ?? {} })),
    },
  };
}
