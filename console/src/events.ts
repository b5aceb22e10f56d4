/** Opens the timeline of the service. */

import { read } from "./api";
import { Timeline, type ReadEvents } from "./timeline";

const readEvents: ReadEvents = (path, request, signal) => read(path, { query: { ...request }, signal });

/** With a type, these are the changes of objects of this type and of warrants on them. */
export function openTimeline(type: string | undefined): Timeline {
  return new Timeline(readEvents, type);
}
