/** Follows a stream of events of the service, and goes on with the event behind the last one when it was cut. */

import { Refused } from "./refused";
import * as words from "./words";

export type StreamState =
  | { is: "connecting" | "connected" }
  /** It is cut, and is opened again in so many seconds. */
  | { is: "waiting"; seconds: number; fault: Refused | undefined }
  /** It cannot be opened, whatever happens. */
  | { is: "stopped"; fault: Refused };

export interface StreamEvent {
  name: string;
  /** The position behind it, from which a reader can go on. */
  id: string;
  data: Record<string, unknown>;
}

export interface StreamListener {
  onState: (state: StreamState) => void;
  onEvent: (event: StreamEvent) => void;
  /** Called if the events behind the last one are not kept any more: it goes on with what is written from now on. */
  onGap: () => void;
}

export interface Source {
  onerror: ((event: Event) => void) | null;
  addEventListener: (name: string, listen: (event: MessageEvent<string>) => void) => void;
  close: () => void;
}

/** Says how a stream is opened that begins behind a position, or else at the newest write. Raises Refused. */
export interface StreamService {
  open: (since: string | undefined, signal: AbortSignal) => Promise<Source>;
  /** Requests the same, because a source that could not be opened does not say why. */
  probe: (since: string | undefined, signal: AbortSignal) => Promise<void>;
}

const NAMES = ["checkpoint", "revision", "access", "end"];
const MOST_SECONDS = 30;
/** There is an event at least every 15 seconds. */
const SILENCE_MS = 45_000;
const FINAL = [400, 401, 403, 404];
const ENDS: Record<string, Refused> = {
  key_ended: new Refused(401, "key_ended", words.live.keyEnded),
  store_deleted: new Refused(404, "store_deleted", words.live.storeDeleted),
};
const GAPS = ["not_retained", "revision_lost", "store_restored"];

export class EventStream {
  private last: string | undefined;
  private failures = 0;
  private source: Source | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private aborter = new AbortController();

  constructor(
    private readonly service: StreamService,
    private readonly listener: StreamListener,
  ) {}

  /** Opens it, behind the last event that was read; at first, at the newest write. */
  start(): void {
    this.stop();
    this.aborter = new AbortController();
    void this.connect(this.aborter.signal);
  }

  stop(): void {
    this.aborter.abort();
    this.source?.close();
    clearTimeout(this.timer);
  }

  private async connect(signal: AbortSignal): Promise<void> {
    this.listener.onState({ is: "connecting" });
    try {
      const source = await this.service.open(this.last, signal);
      if (signal.aborted) source.close();
      else this.follow(source, signal);
    } catch (fault) {
      this.fail(fault, signal);
    }
  }

  private follow(source: Source, signal: AbortSignal): void {
    this.source = source;
    let isOpen = false;
    const lose = () => {
      source.close();
      clearTimeout(this.timer);
      if (signal.aborted) return;
      if (isOpen) this.wait(signal);
      else void this.findReason(signal);
    };
    source.onerror = lose;
    this.timer = setTimeout(lose, SILENCE_MS);
    for (const name of NAMES) {
      source.addEventListener(name, (event) => {
        if (signal.aborted) return;
        if (!isOpen) this.listener.onState({ is: "connected" });
        isOpen = true;
        this.failures = 0;
        clearTimeout(this.timer);
        this.timer = setTimeout(lose, SILENCE_MS);
        this.take(name, event, signal);
      });
    }
  }

  private take(name: string, event: MessageEvent<string>, signal: AbortSignal): void {
    const data = JSON.parse(event.data) as Record<string, unknown>;
    if (name === "end") {
      this.source?.close();
      clearTimeout(this.timer);
      this.end(String(data.reason), signal);
      return;
    }
    this.last = event.lastEventId;
    this.listener.onEvent({ name, id: event.lastEventId, data });
  }

  private end(reason: string, signal: AbortSignal): void {
    const fault = ENDS[reason];
    if (fault) this.listener.onState({ is: "stopped", fault });
    else if (GAPS.includes(reason)) this.skip(signal);
    else this.wait(signal);
  }

  private async findReason(signal: AbortSignal): Promise<void> {
    try {
      await this.service.probe(this.last, signal);
      this.wait(signal);
    } catch (fault) {
      this.fail(fault, signal);
    }
  }

  private fail(fault: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    if (!(fault instanceof Refused)) throw fault;
    const isPlaceLost = [409, 410].includes(fault.status) || fault.parameter === "since";
    if (isPlaceLost && this.last !== undefined) this.skip(signal);
    else if (FINAL.includes(fault.status)) this.listener.onState({ is: "stopped", fault });
    else this.wait(signal, fault);
  }

  private skip(signal: AbortSignal): void {
    this.last = undefined;
    this.listener.onGap();
    this.wait(signal);
  }

  private wait(signal: AbortSignal, fault?: Refused): void {
    const seconds = Math.min(MOST_SECONDS, 2 ** this.failures);
    this.failures += 1;
    this.listener.onState({ is: "waiting", seconds, fault });
    this.timer = setTimeout(() => void this.connect(signal), seconds * 1000);
  }
}
