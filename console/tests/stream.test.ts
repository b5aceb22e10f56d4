import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Refused } from "../src/refused";
import { EventStream, type Source, type StreamState } from "../src/stream";

/** Represents the EventSource of a browser: a test says what comes. */
class Opened implements Source {
  onerror: ((event: Event) => void) | null = null;
  isClosed = false;
  private readonly listeners: Record<string, (event: MessageEvent<string>) => void> = {};

  constructor(readonly since: string | undefined) {}

  addEventListener(name: string, listen: (event: MessageEvent<string>) => void) {
    this.listeners[name] = listen;
  }

  send(name: string, id: string, data: object = {}) {
    if (!this.isClosed) this.listeners[name]?.({ data: JSON.stringify(data), lastEventId: id } as MessageEvent<string>);
  }

  cut() {
    if (!this.isClosed) this.onerror?.({} as Event);
  }

  close() {
    this.isClosed = true;
  }
}

/** Represents a service that refuses what a test says, and notes what it gets. */
class Service {
  readonly opened: Opened[] = [];
  readonly states: StreamState[] = [];
  readonly ids: string[] = [];
  gaps = 0;
  tries = 0;
  refusesToOpen: Refused | undefined;
  refusesStream: Refused | undefined;
  readonly stream = new EventStream(
    {
      open: (since) => {
        this.tries += 1;
        if (this.refusesToOpen) return Promise.reject(this.refusesToOpen);
        this.opened.push(new Opened(since));
        return Promise.resolve(this.newest);
      },
      probe: () => (this.refusesStream ? Promise.reject(this.refusesStream) : Promise.resolve()),
    },
    {
      onState: (state) => this.states.push(state),
      onEvent: ({ id }) => this.ids.push(id),
      onGap: () => (this.gaps += 1),
    },
  );

  get newest(): Opened {
    return this.opened.at(-1) as Opened;
  }

  get state(): StreamState | undefined {
    return this.states.at(-1);
  }

  async start() {
    this.stream.start();
    await vi.advanceTimersByTimeAsync(0);
  }
}

let service: Service;

beforeEach(() => {
  vi.useFakeTimers();
  service = new Service();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a stream that is cut goes on behind the last event", async () => {
  await service.start();
  service.newest.send("checkpoint", "a");
  service.newest.send("revision", "b");
  expect(service.state).toEqual({ is: "connected" });

  service.newest.cut();
  expect(service.state).toMatchObject({ is: "waiting", seconds: 1 });
  await vi.advanceTimersByTimeAsync(1_000);
  service.newest.send("checkpoint", "b");

  expect(service.opened.map((each) => each.since)).toEqual([undefined, "b"]);
  expect(service.opened.map((each) => each.isClosed)).toEqual([true, false]);
  expect(service.ids).toEqual(["a", "b", "b"]);
});

test("a service that is away is tried less and less often, and at once after it was there", async () => {
  service.refusesToOpen = new Refused(0, "unreachable", "The service did not answer.");
  await service.start();
  const waited: number[] = [];
  for (let turn = 0; turn < 7; turn += 1) {
    const state = service.state;
    const seconds = state?.is === "waiting" ? state.seconds : 0;
    waited.push(seconds);
    await vi.advanceTimersByTimeAsync(seconds * 1000);
  }
  expect(waited).toEqual([1, 2, 4, 8, 16, 30, 30]);

  service.refusesToOpen = undefined;
  await vi.advanceTimersByTimeAsync(30_000);
  service.newest.send("checkpoint", "a");
  service.newest.cut();

  expect(service.state).toMatchObject({ is: "waiting", seconds: 1 });
});

test("a silent connection counts as cut", async () => {
  await service.start();
  service.newest.send("checkpoint", "a");

  await vi.advanceTimersByTimeAsync(44_000);
  expect(service.state).toEqual({ is: "connected" });
  await vi.advanceTimersByTimeAsync(1_000);

  expect(service.state).toMatchObject({ is: "waiting" });
  expect(service.newest.isClosed).toBe(true);
});

test("a connection on which nothing ever comes, such as one that a proxy holds back, is tried again", async () => {
  await service.start();

  await vi.advanceTimersByTimeAsync(46_000);

  expect(service.opened.map((each) => each.isClosed)).toEqual([true, false]);
});

test.each([
  [400, "objectType"],
  [403, ""],
  [404, ""],
])("a refusal with %i is not tried again", async (status, parameter) => {
  service.refusesStream = new Refused(status, "refused", "no", parameter);
  await service.start();
  service.newest.cut();
  await vi.advanceTimersByTimeAsync(60_000);

  expect(service.state).toEqual({ is: "stopped", fault: service.refusesStream });
  expect(service.tries).toBe(1);
});

test.each([
  [410, "gone", ""],
  [409, "revision_lost", ""],
  [400, "invalid", "since"],
])("a place that is lost (%i) is a gap, behind which it goes on", async (status, code, parameter) => {
  await service.start();
  service.newest.send("checkpoint", "a");
  service.newest.cut();
  await vi.advanceTimersByTimeAsync(1_000);
  service.refusesStream = new Refused(status, code, "lost", parameter);

  service.newest.cut();
  await vi.advanceTimersByTimeAsync(2_000);

  expect(service.gaps).toBe(1);
  expect(service.newest.since).toBeUndefined();
});

test.each(["shutting_down", "too_slow", "unavailable"])("the end %s is a cut", async (reason) => {
  await service.start();
  service.newest.send("checkpoint", "a");
  service.newest.send("end", "a", { token: "a", reason });
  await vi.advanceTimersByTimeAsync(1_000);

  expect(service.newest.since).toBe("a");
  expect(service.gaps).toBe(0);
});

test("the end of a restored store is a gap, that of a key or a store is final", async () => {
  await service.start();
  service.newest.send("checkpoint", "a");
  service.newest.send("end", "a", { reason: "store_restored" });
  await vi.advanceTimersByTimeAsync(1_000);
  expect([service.gaps, service.newest.since]).toEqual([1, undefined]);

  service.newest.send("checkpoint", "b");
  service.newest.send("end", "b", { reason: "key_ended" });
  await vi.advanceTimersByTimeAsync(60_000);

  expect(service.state).toMatchObject({ is: "stopped", fault: { status: 401 } });
  expect(service.tries).toBe(2);
});

test("a stream that was stopped takes nothing more, and goes on where it was when it is started", async () => {
  await service.start();
  service.newest.send("checkpoint", "a");
  service.stream.stop();
  await vi.advanceTimersByTimeAsync(120_000);
  expect([service.tries, service.newest.isClosed]).toEqual([1, true]);

  await service.start();

  expect(service.newest.since).toBe("a");
});
