/** Reads the events of changes, newest first, and groups them by the revision that made them. */

import { read } from "./api";
import type { Page } from "./schema";

export interface ResourceEvent {
  id: string;
  type: "created" | "updated" | "deleted";
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

/** Reads one list of events, a page at a time. */
class EventList {
  readonly events: ChangeEvent[] = [];
  private cursor: string | undefined;
  private isAtEnd = false;

  constructor(
    private readonly path: string,
    private readonly filter: Record<string, string | undefined>,
  ) {}

  get needsPage(): boolean {
    return this.events.length === 0 && !this.isAtEnd;
  }

  async readPage(signal: AbortSignal): Promise<void> {
    const query = { limit: PAGE_SIZE, ...this.filter, nextCursor: this.cursor };
    const page = await read<Page<ChangeEvent>>(this.path, { query, signal });
    this.events.push(...page.results);
    this.cursor = page.nextCursor;
    this.isAtEnd = page.nextCursor === undefined;
  }
}

/** Merges the lists of events into revisions. */
export class Timeline {
  private readonly lists: EventList[];
  private readonly revisions: Revision[] = [];

  /** With a type, these are the changes of objects of this type and of warrants on them. */
  constructor(type?: string) {
    this.lists = [
      new EventList("v2/resource-events", { resourceType: type }),
      new EventList("v2/access-events", { type: "access_granted", objectType: type }),
      new EventList("v2/access-events", { type: "access_revoked", objectType: type }),
    ];
  }

  /** Returns all revisions so far with up to that many further ones, and whether there are more. Reads one page of each
   * list at most, however many events a revision has. */
  async readMore(most: number, signal: AbortSignal): Promise<{ revisions: Revision[]; hasMore: boolean }> {
    await Promise.all(this.lists.filter((list) => list.needsPage).map((list) => list.readPage(signal)));
    const wanted = this.revisions.length + most;
    while (!this.lists.some((list) => list.needsPage)) {
      const list = this.findNewest();
      const event = list?.events[0];
      if (!list || !event) return this.finish(false);
      if (!this.add(event, wanted)) return this.finish(true);
      list.events.shift();
    }
    return this.finish(true);
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
      last.events.push(event);
      return true;
    }
    if (last) {
      last.before = event.token;
      last.isPartial = false;
    }
    if (this.revisions.length >= wanted) return false;
    const { token, createdAt, actor } = event;
    this.revisions.push({ token, createdAt, actor, events: [event], isPartial: true });
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
      if (!best || sortKey(event) > sortKey(best)) newest = list;
    }
    return newest;
  }
}

/** Returns what a revision did, in a few words. */
export function describeRevision({ events, actor }: Revision): string {
  const event = events.find(isAccess) ?? events[0];
  if (!event) return "";
  const verb = VERBS[event.type];
  const what = isAccess(event)
    ? `${event.objectType}:${event.objectId}#${event.relation}@${event.subjectType}:${event.subjectId}`
    : `${event.resourceType.replace("-", " ")} ${event.resourceId}`;
  const more = events.length > 1 ? ` and ${events.length - 1} more` : "";
  return `${verb} ${what}${more}${actor ? `, by ${actor}` : ""}`;
}

export const VERBS: Record<ChangeEvent["type"], string> = {
  access_granted: "created",
  access_revoked: "deleted",
  created: "created",
  updated: "updated",
  deleted: "deleted",
};

/** Returns the time as a text that sorts: the service leaves out a fraction of zero. */
function sortKey(event: ChangeEvent): string {
  const [seconds = "", fraction = ""] = event.createdAt.replace("Z", "").split(".");
  return `${seconds}.${fraction.padEnd(6, "0")}`;
}

export function isAccess(event: ChangeEvent): event is AccessEvent {
  return "relation" in event;
}
