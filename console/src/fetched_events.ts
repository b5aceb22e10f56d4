/** Reads a stream of server-sent events with the key of the session, which an EventSource cannot send. */

import { send, type Query } from "./api";
import type { Source } from "./stream";

type Listen = (event: MessageEvent<string>) => void;

export class FetchedEvents implements Source {
  onerror: ((event: Event) => void) | null = null;
  private readonly listeners = new Map<string, Listen>();
  private readonly aborter = new AbortController();
  private fields: Record<string, string> = {};

  constructor(path: string, query: Query) {
    const end = () => this.onerror?.(new Event("error"));
    this.read(path, query).then(end, end);
  }

  addEventListener(name: string, listen: Listen): void {
    this.listeners.set(name, listen);
  }

  close(): void {
    this.onerror = null;
    this.listeners.clear();
    this.aborter.abort();
  }

  private async read(path: string, query: Query): Promise<void> {
    const { body } = await send(path, { query, accept: "text/event-stream", signal: this.aborter.signal });
    const reader = body?.getReader();
    const decoder = new TextDecoder();
    let pieces: string[] = []; // of a line: one of a large event comes in very many
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      const [first = "", ...lines] = decoder.decode(read.value, { stream: true }).split("\n");
      pieces.push(first);
      for (const line of lines) {
        this.take(pieces.join(""));
        pieces = [line];
      }
    }
  }

  private take(line: string): void {
    const [, name = "", value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (line !== "") {
      this.fields[name] = value;
      return;
    }
    const { event = "", data = "", id = "" } = this.fields;
    this.fields = {};
    this.listeners.get(event)?.(new MessageEvent(event, { data, lastEventId: id }));
  }
}
