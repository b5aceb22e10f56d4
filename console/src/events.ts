/** Opens the timeline of the service, and streams of what is written. */

import { read, send, urlOf, type Query } from "./api";
import { EventStream, type StreamListener } from "./stream";
import { Timeline, type ReadEvents, type TimelineFilter } from "./timeline";

const readEvents: ReadEvents = (path, request, signal) => read(path, { query: { ...request }, signal });

export function openTimeline(filter: TimelineFilter = {}): Timeline {
  return new Timeline(readEvents, filter);
}

/** Makes a stream of the events of a path, to be started. An EventSource cannot send the key, so each has a ticket. */
export function makeStream(path: string, filter: Query, listener: StreamListener): EventStream {
  const service = {
    open: async (since: string | undefined, signal: AbortSignal) => {
      const { ticket } = await read<{ ticket: string }>("v2/watch/tickets", { method: "POST", signal });
      return new EventSource(urlOf(path, { ...filter, since, ticket }));
    },
    probe: async (since: string | undefined, signal: AbortSignal) => {
      const answer = await send(path, { query: { ...filter, since }, accept: "text/event-stream", signal });
      await answer.body?.cancel();
    },
  };
  return new EventStream(service, listener);
}
