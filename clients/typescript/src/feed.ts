/** Follows a stream of events and goes on by itself where it was cut. */

import { errorOf, MagistrateError, type Refused, Timeout, Unreachable } from "./errors.js";
import { readLines } from "./lines.js";
import { isPassing, type Parameters, pauseMs, sleep, type Transport } from "./transport.js";

export interface FeedOptions {
  /** A token, or the `id` of an event; without it, from now on. */
  since?: string | undefined;
  /** The state comes first. */
  snapshot?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

interface Event {
  event: string;
  token?: string;
  id?: string;
  reason?: string;
}

const MAX_SILENCE_MS = 45_000; // the service sends something every 15 seconds

/** What ends a feed for good, by the reason of its last event. After all others, it goes on. */
const ENDINGS: Readonly<Record<string, Ending>> = {
  key_ended: { status: 401, code: "unauthorized", message: "the key was revoked or changed, or has expired" },
  store_deleted: { status: 404, code: "not_found", message: "the store was deleted" },
  store_restored: { status: 409, code: "revision_lost", message: "the store was restored" },
  revision_lost: { status: 409, code: "revision_lost", message: "the write of this token is not in the store" },
  not_retained: { status: 410, code: "gone", message: "what came after this token is not kept any more" },
  budget_exceeded: { status: 503, code: "budget_spent", message: "there is more access than one query may find" },
};

type Ending = { status: number; code: string; message: string };

/** Says where a feed is, so that it goes on there. */
class Position {
  reached: string | undefined;
  isInSnapshot: boolean;
  hasRows = false;

  constructor({ since, snapshot }: FeedOptions) {
    this.reached = since;
    this.isInSnapshot = snapshot === true;
  }

  get parameters(): Parameters {
    if (this.isInSnapshot) return [["snapshot", "true"]];
    return this.reached === undefined ? [] : [["since", this.reached]];
  }

  /** Moves on to an event; says whether it is news, and not the checkpoint with which a connection begins again. */
  moveTo(event: Event, isFirst: boolean): boolean {
    if (event.event === "snapshot") {
      this.hasRows = true;
      return true;
    }
    const before = this.reached;
    this.reached = event.id ?? event.token ?? before;
    const isRepeated = isFirst && event.event === "checkpoint" && !this.isInSnapshot && this.reached === before;
    this.isInSnapshot = false;
    return !isRepeated;
  }

  endAt(event: Event): void {
    if (!this.isInSnapshot) this.reached = event.id ?? event.token ?? this.reached;
  }

  /** Says whether rows of a snapshot were told that come again. */
  restart(): boolean {
    const isCut = this.isInSnapshot && this.hasRows;
    this.hasRows = false;
    return isCut;
  }
}

/**
 * Yields the events of a stream, and goes on behind the last one after a cut. Throws what cannot pass by itself, such as
 * RevisionLost and Gone, and what fails as often as a call may without an event between.
 */
export async function* follow(
  transport: Transport,
  path: string,
  filters: Parameters,
  options: FeedOptions,
): AsyncGenerator<Event, void, undefined> {
  const position = new Position(options);
  let hasBegun = false;
  for (let attempt = 0; ; attempt += 1) {
    let failure: unknown;
    let isFirst = hasBegun;
    try {
      const parameters = [...filters, ...position.parameters];
      for await (const event of readStream(transport, path, parameters, options.signal)) {
        attempt = 0;
        hasBegun = true;
        if (event.event === "end") {
          position.endAt(event);
          const ending = ENDINGS[event.reason ?? ""];
          if (ending) throw endingError(ending);
          break;
        }
        const isNews = position.moveTo(event, isFirst);
        isFirst = false;
        if (isNews) yield event;
      }
      failure = new Unreachable("the stream ended");
    } catch (error) {
      failure = error;
    }
    const mayPass = isPassing(failure) || (hasBegun && failure instanceof Timeout);
    if (options.signal?.aborted || !mayPass || attempt >= transport.retries) throw failure;
    await sleep(pauseMs(attempt, failure), options.signal);
    if (position.restart()) yield { event: "restart" };
  }
}

async function* readStream(
  transport: Transport,
  path: string,
  parameters: readonly (readonly [string, string])[],
  signal: AbortSignal | undefined,
): AsyncGenerator<Event, void, undefined> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waitAgain = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(new Unreachable("the stream is silent")), MAX_SILENCE_MS);
  };
  try {
    const headers = { Accept: "application/x-ndjson" };
    const response = await transport.open({ method: "GET", path, parameters, headers, signal }, controller);
    waitAgain();
    if (response.body === null) return;
    for await (const event of readLines(response.body, waitAgain)) {
      clearTimeout(timer); // the reader may take its time
      yield event as Event;
      waitAgain();
    }
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw error instanceof MagistrateError ? error : new Unreachable("the stream was cut", { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    controller.abort();
  }
}

function endingError({ status, code, message }: Ending): Refused {
  return errorOf({ status, body: { code, message } });
}
