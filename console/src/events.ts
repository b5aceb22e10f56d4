/** Opens the timeline of the service, and streams of what is written. */

import { read, send, type Query } from "./api";
import { FetchedEvents } from "./fetched_events";
import { EventStream, type StreamListener } from "./stream";
import { Timeline, type ReadEvents } from "./timeline";

const readEvents: ReadEvents = (path, request, signal) => read(path, { query: { ...request }, signal });

/** With a type, these are the changes of objects of this type and of warrants on them. */
export function openTimeline(type: string | undefined): Timeline {
  return new Timeline(readEvents, type);
}

/** Makes a stream of the events of a path, to be started. */
export function makeStream(path: string, filter: Query, listener: StreamListener): EventStream {
  const service = {
    open: (since: string | undefined) => Promise.resolve(new FetchedEvents(path, { ...filter, since })),
    probe: async (since: string | undefined, signal: AbortSignal) => {
      const answer = await send(path, { query: { ...filter, since }, accept: "text/event-stream", signal });
      await answer.body?.cancel();
    },
  };
  return new EventStream(service, listener);
}
