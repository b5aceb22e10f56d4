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
  /** The token of the change before; undefined for the first one that is kept. */
  before?: string;
}

const PAGE_SIZE = 100;

/** Reads one list of events, a page at a time. */
class EventList {
  private events: ChangeEvent[] = [];
  private cursor: string | undefined;
  private isAtEnd = false;

  constructor(
    private readonly path: string,
    private readonly type?: string,
  ) {}

  async peek(signal: AbortSignal): Promise<ChangeEvent | undefined> {
    if (this.events.length === 0 && !this.isAtEnd) {
      const query = { limit: PAGE_SIZE, type: this.type, nextCursor: this.cursor };
      const page = await read<Page<ChangeEvent>>(this.path, { query, signal });
      this.events = page.results;
      this.cursor = page.nextCursor;
      this.isAtEnd = page.nextCursor === undefined;
    }
    return this.events[0];
  }

  take(): void {
    this.events.shift();
  }
}

/** Merges the lists of events into revisions. */
export class Timeline {
  private readonly lists = [
    new EventList("v2/resource-events"),
    new EventList("v2/access-events", "access_granted"),
    new EventList("v2/access-events", "access_revoked"),
  ];
  private pending: Revision | undefined;

  /** Returns up to that many further revisions, and whether there are more. */
  async readMore(most: number, signal: AbortSignal): Promise<{ revisions: Revision[]; hasMore: boolean }> {
    const revisions: Revision[] = [];
    while (revisions.length < most) {
      const event = await this.takeNewest(signal);
      if (event === undefined) {
        if (this.pending) revisions.push(this.pending);
        this.pending = undefined;
        return { revisions, hasMore: false };
      }
      if (this.pending && this.pending.token === event.token) {
        this.pending.events.push(event);
        continue;
      }
      if (this.pending) {
        this.pending.before = event.token;
        revisions.push(this.pending);
      }
      this.pending = { token: event.token, createdAt: event.createdAt, actor: event.actor, events: [event] };
    }
    return { revisions, hasMore: true };
  }

  private async takeNewest(signal: AbortSignal): Promise<ChangeEvent | undefined> {
    let newest: ChangeEvent | undefined;
    let from: EventList | undefined;
    for (const list of this.lists) {
      const event = await list.peek(signal);
      if (!event) continue;
      if (!newest || event.token === this.pending?.token || sortKey(event) > sortKey(newest)) {
        newest = event;
        from = list;
      }
      if (event.token === this.pending?.token) break; // a revision stays together
    }
    from?.take();
    return newest;
  }
}

/** Returns the time as a text that sorts: the service leaves out a fraction of zero. */
function sortKey(event: ChangeEvent): string {
  const [seconds = "", fraction = ""] = event.createdAt.replace("Z", "").split(".");
  return `${seconds}.${fraction.padEnd(6, "0")}`;
}

export function isAccess(event: ChangeEvent): event is AccessEvent {
  return "relation" in event;
}
