/** Clients of the service of MAGISTRATE_URL and MAGISTRATE_API_KEY, in a new store for each test. */

import { Client, type ClientOptions } from "../src/index.js";

export const URL = process.env["MAGISTRATE_URL"] ?? "";
export const KEY = process.env["MAGISTRATE_API_KEY"] ?? "";

export const MODEL = `version 1.0

type user

type group
    relation member [user, group#member]

type document
    relation owner [user]

    relation viewer [user, user:*, group#member]
    inherit viewer if relation owner
`;

let stores = 0;

/** Returns options for a client of a new store with the model. */
export async function newStore(...warrants: string[]): Promise<ClientOptions & { store: string; url: string; key: string }> {
  const store = `node-${process.pid}-${(stores += 1)}`;
  const answer = await fetch(`${URL}/v2/stores`, {
    method: "POST",
    headers: { Authorization: `ApiKey ${KEY}` },
    body: JSON.stringify({ name: store }),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  const options = { url: URL, key: KEY, store };
  const client = new Client(options);
  await client.writeModel(MODEL);
  if (warrants.length > 0) await client.write({ create: warrants });
  return options;
}

/** Returns the token of a session of a user. */
export async function newSession({ store }: { store: string }, userId: string): Promise<string> {
  const answer = await fetch(`${URL}/stores/${store}/v2/sessions`, {
    method: "POST",
    headers: { Authorization: `ApiKey ${KEY}` },
    body: JSON.stringify({ type: "sess", userId }),
  });
  return ((await answer.json()) as { token: string }).token;
}

export interface Counted {
  fetch: typeof fetch;
  requests: string[];
}

/** Returns a fetch that notes the paths it requests. */
export function counted(): Counted {
  const requests: string[] = [];
  const counting: typeof fetch = (input, init) => {
    requests.push(new globalThis.URL(String(input)).pathname);
    return fetch(input, init);
  };
  return { fetch: counting, requests };
}

/** Waits until something holds. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not within 30 seconds: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
