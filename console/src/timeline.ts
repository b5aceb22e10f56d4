/** Reads the events of changes, newest first, and groups them by the revision that made them. */

import { describeChange, type Change } from "./changes";
import type { ObjectName } from "./names";
import type { Page } from "./schema";
import * as words from "./words";

export interface ResourceEvent {
  id: string;
  type: "created" | "updated" | "deleted";
  /** Tells objects, of the kind `object`, from what is not one. */
  kind: string;
  resourceType: string;
  resourceId: string;
  createdAt: string;
  token: string;
  actor?: string;
}

export interface AccessEvent {
  id: string;
  type: "access_granted" | "access_revoked";
  objectType: string;
  objectId: string;
  relation: string;
  subjectType: string;
  subjectId: string;
  subjectRelation?: string;
  createdAt: string;
  token: string;
  actor?: string;
}

export type ChangeEvent = ResourceEvent | AccessEvent;

export interface Revision {
  token: string;
  createdAt: string;
  actor?: string;
  events: ChangeEvent[];
  /** The token of the change before; undefined for the first one that is kept, and while events are missing. */
  before?: string;
  /** Whether further events of it may be on the next page of a list. */
  isPartial: boolean;
}

const PAGE_SIZE = 100;

export interface EventsRequest {
  limit: number;
  kind?: "object";
  resourceType?: string;
  resourceId?: string;
  objectType?: string;
  objectId?: string;
  subjectType?: string;
  subjectId?: string;
  type?: string;
  /** The times of the first and the last event, in microseconds. */
  since?: number;
  until?: number;
  nextCursor?: string;
}

/** Says which changes are listed; all if it is empty. */
export interface TimelineFilter {
  /** Only objects of this type and warrants on them. */
  type?: string;
  /** Only this object and warrants that name it. */
  object?: ObjectName;
  /** Only changes until this time, in microseconds. */
  until?: number;
}

/** Reads a page of a list of events of the service, newest first. */
export type ReadEvents = (path: string, request: EventsRequest, signal: AbortSignal) => Promise<Page<ChangeEvent>>;

/** Reads one list of events, a page at a time, down to the time that is wanted. The service finds events by their time, so
 * it looks at no change before that, however far the next event of this list is. */
class EventList {
  readonly events: ChangeEvent[] = [];
  private window: { since?: number; until?: number; nextCursor?: string } | undefined;
  /** All events from this time on have been read. */
  private since: number;

  constructor(
    private readonly path: string,
    private readonly filter: Omit<EventsRequest, "limit">,
    private readonly readEvents: ReadEvents,
    until = Infinity,
  ) {
    this.since = until + 1;
  }

  needsPage(since: number): boolean {
    return this.events.length === 0 && (this.window !== undefined || this.since > since);
  }

  /** Reads a page of the events from that time on: -Infinity, if it is not limited. */
  async readPage(since: number, signal: AbortSignal): Promise<void> {
    const first = Number.isFinite(since) ? since : undefined;
    const window = this.window ?? { since: first, until: Number.isFinite(this.since) ? this.since - 1 : undefined };
    const page = await this.readEvents(this.path, { limit: PAGE_SIZE, ...this.filter, ...window }, signal);
    this.events.push(...page.results);
    this.since = window.since ?? -Infinity;
    this.window = page.nextCursor === undefined ? undefined : { ...window, nextCursor: page.nextCursor };
  }

  /** Returns the time down to which its order among the events of other lists is known. */
  get horizon(): number {
    const last = this.events.at(-1);
    return this.window !== undefined && last ? microsecondsOf(last) : -Infinity;
  }
}

/** Merges the lists of events into revisions. */
export class Timeline {
  /** The list that has most events: the others are read only as far back as it. */
  private readonly leader: EventList;
  private readonly lists: EventList[];
  private readonly revisions: Revision[] = [];
  private since = -Infinity;
  /** The ids of the events of the last revision. */
  private ids = new Set<string>();

  constructor(readEvents: ReadEvents, filter: TimelineFilter = {}) {
    const { until } = filter;
    const access = (kind: string, named: Partial<EventsRequest>) =>
      new EventList("v2/access-events", { type: kind, ...named }, readEvents, until);
    const [first = {}, ...others] = nameWarrants(filter);
    this.leader = access("access_granted", first);
    this.lists = [
      this.leader,
      new EventList("v2/resource-events", nameResources(filter), readEvents, until),
      access("access_revoked", first),
      ...others.flatMap((one) => [access("access_granted", one), access("access_revoked", one)]),
    ];
  }

  /** Returns all revisions so far with up to that many further ones, and whether there are more. Reads one page of each
   * list at most, however many events a revision has. */
  async readMore(most: number, signal: AbortSignal): Promise<{ revisions: Revision[]; hasMore: boolean }> {
    if (this.leader.needsPage(-Infinity)) {
      await this.leader.readPage(-Infinity, signal);
      this.since = this.leader.horizon;
    }
    const others = this.lists.filter((list) => list !== this.leader && list.needsPage(this.since));
    await Promise.all(others.map((list) => list.readPage(this.since, signal)));
    const wanted = this.revisions.length + most;
    while (!this.needsPage()) {
      const list = this.findNewest();
      const event = list?.events[0];
      if (!list || !event) return this.finish(false);
      if (!this.add(event, wanted)) return this.finish(true);
      list.events.shift();
    }
    return this.finish(true);
  }

  private needsPage(): boolean {
    return this.lists.some((list) => list.needsPage(list === this.leader ? -Infinity : this.since));
  }

  private finish(hasMore: boolean): { revisions: Revision[]; hasMore: boolean } {
    const last = this.revisions.at(-1);
    if (last && !hasMore) last.isPartial = false;
    return { revisions: [...this.revisions], hasMore };
  }

  /** Adds an event to its revision. Returns false if it needs one more than are wanted. */
  private add(event: ChangeEvent, wanted: number): boolean {
    const last = this.revisions.at(-1);
    if (last?.token === event.token) {
      // A warrant that names an object as object and as subject is in two lists.
      if (!this.ids.has(event.id)) last.events.push(event);
      this.ids.add(event.id);
      return true;
    }
    if (last) {
      last.before = event.token;
      last.isPartial = false;
    }
    if (this.revisions.length >= wanted) return false;
    const { token, createdAt, actor } = event;
    this.revisions.push({ token, createdAt, actor, events: [event], isPartial: true });
    this.ids = new Set([event.id]);
    return true;
  }

  /** Returns the list whose first event is the next one: those of a revision stay together. */
  private findNewest(): EventList | undefined {
    const token = this.revisions.at(-1)?.token;
    let newest: EventList | undefined;
    for (const list of this.lists) {
      const event = list.events[0];
      if (!event) continue;
      if (event.token === token) return list;
      const best = newest?.events[0];
      if (!best || revisionOf(event) > revisionOf(best)) newest = list;
    }
    return newest;
  }
}

/** Returns the filters of the lists of warrants: all together have those that are wanted. */
function nameWarrants({ type, object }: TimelineFilter): Partial<EventsRequest>[] {
  if (!object) return [{ objectType: type }];
  const { objectType, objectId } = object;
  return [
    { objectType, objectId },
    { subjectType: objectType, subjectId: objectId },
  ];
}

/** Returns the filter of resources. Without a kind, definitions are resources, too, of types that an object may have. */
function nameResources({ type, object }: TimelineFilter): Partial<EventsRequest> {
  if (object) return { kind: "object", resourceType: object.objectType, resourceId: object.objectId };
  return type === undefined ? {} : { kind: "object", resourceType: type };
}

/** Returns what a revision did, in a few words. */
export function describeRevision({ events, actor }: Revision): string {
  const event = events.find(isAccess) ?? events[0];
  if (!event) return "";
  return words.history.summary(describeChange(toChange(event)), events.length - 1, actor);
}

/** Returns what an event says without when and by whom. */
export function toChange(event: ChangeEvent): Change {
  const verb = VERBS[event.type];
  if (isAccess(event)) {
    const { objectType, objectId, relation, subjectType, subjectId, subjectRelation } = event;
    const subject = { objectType: subjectType, objectId: subjectId, ...(subjectRelation ? { relation: subjectRelation } : {}) };
    return { verb, what: { warrant: { objectType, objectId, relation, subject } } };
  }
  const { kind, resourceType, resourceId } = event;
  if (kind === "object") return { verb, what: { object: { objectType: resourceType, objectId: resourceId } } };
  return { verb, what: { kind: kind.replaceAll("-", " "), name: resourceId } };
}

const VERBS: Record<ChangeEvent["type"], Change["verb"]> = {
  access_granted: "created",
  access_revoked: "deleted",
  created: "created",
  updated: "updated",
  deleted: "deleted",
};

/** Returns the time of an event as the service counts it: a Date has milliseconds. It leaves out a fraction of zero. */
export function microsecondsOf(event: { createdAt: string }): number {
  const [seconds = "", fraction = ""] = event.createdAt.replace("Z", "").split(".");
  return Date.parse(`${seconds}Z`) * 1000 + Number(fraction.padEnd(6, "0"));
}

/** Returns the number of the revision of an event, with which its id begins, in 8 bytes. Revisions that were written at
 * once may have the same time. */
export function revisionOf({ id }: ChangeEvent): number {
  const bytes = atob(id.slice(0, 12).replaceAll("-", "+").replaceAll("_", "/"));
  return [...bytes.slice(0, 8)].reduce((number, byte) => number * 256 + byte.charCodeAt(0), 0);
}

export function isAccess(event: ChangeEvent): event is AccessEvent {
  return "relation" in event;
}
