/** Reads a stream of JSON values, one a line. */

import { Unreachable } from "./errors.js";

const MAX_LINE_CHARACTERS = 33_554_432; // as `magistrate watch` accepts (32 MiB): an import is one event

/**
 * Yields the value of each line as soon as it is complete. Throws Unreachable if a line is not JSON, longer than
 * 32 Mi characters or cut off, and what `body` throws. `onBytes` is called for all that arrives.
 */
export async function* readLines(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<unknown> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      onBytes();
      const pieces = decoder.decode(value, { stream: true }).split("\n");
      const rest = pieces.pop()!;
      for (const piece of pieces) {
        const line = [...parts, piece].join("");
        parts = [];
        length = 0;
        if (line !== "") yield parseLine(line);
      }
      parts.push(rest);
      length += rest.length;
      if (length > MAX_LINE_CHARACTERS) throw new Unreachable("an event is longer than 32 Mi characters");
    }
    if (length > 0) throw new Unreachable("the stream was cut within an event");
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Unreachable("a line of the stream is not JSON");
  }
}
