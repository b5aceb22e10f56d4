/** A server that answers what a test says, for answers that the service gives rarely. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export async function withStub<T>(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const server = createServer(answer);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

export function reply(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "Content-Type": "application/json", "Service-Token": "stub", ...headers });
  response.end(JSON.stringify(body));
}
