/** Sends requests to the service that the console comes from, with the key of the session. */

import { computed, signal } from "@preact/signals";
import { keepNames } from "./openfga_names";
import { Refused } from "./refused";
import { store } from "./route";
import * as words from "./words";

export { Refused };

const STORED = "magistrate.key";

export const key = signal<string | null>(sessionStorage.getItem(STORED));

/** Represents what the key may do (docs/api.md#keys). */
export interface Access {
  name: string;
  scopes: string[];
  /** The object types that it is limited to; absent: all. */
  objectTypes?: string[];
}

/** What the key of the session may do; undefined until it is known. */
export const access = signal<Access | undefined>(undefined);
/** The object types that the key is limited to; undefined: all. */
export const onlyTypes = computed(() => access.value?.objectTypes);

/** Says what a key needs for something: a scope, and perhaps not to be limited to object types. */
export interface Need {
  scope: "check" | "query" | "read" | "write" | "model" | "events" | "metrics" | "keys" | "webhooks" | "stores";
  ofAllTypes?: boolean;
}

/** Returns why the key may not do something; undefined: it may, or it is not known yet what it may do. */
export function findObstacle({ scope, ofAllTypes }: Need): string | undefined {
  if (access.value && !access.value.scopes.includes(scope)) return words.permissions.lacksScope(scope);
  if (ofAllTypes && onlyTypes.value) return words.permissions.isLimitedTo(onlyTypes.value.join(", "));
  return undefined;
}

/** Why the console signed out by itself. */
export const signedOutBecause = signal("");

/** The token of the newest write of this console: what is read later is at least as fresh. */
let writtenToken: string | null = null;

/** Has the parameters of a request; one with several values is repeated, one that is empty is left out. */
export type Query = Record<string, string | number | string[] | undefined>;

export interface Request {
  method?: string;
  query?: Query;
  body?: unknown;
  text?: string;
  accept?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  key?: string;
}

/** Matches the paths that are about the service, or the key, whatever the store. */
const OF_NO_STORE = /^(?:metrics|authz|stores|v2\/stores(?:\/.*)?|v2\/keys\/self)$/;

/** Returns the URL of a request about the store of this page. */
export function urlOf(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) if (each !== undefined && each !== "") parameters.append(name, String(each));
  }
  const text = parameters.toString();
  const prefix = store !== undefined && !OF_NO_STORE.test(path) ? `stores/${encodeURIComponent(store)}/` : "";
  return `${prefix}${path}${text ? `?${text}` : ""}`;
}

/** Sends a request about the store of this page. */
export async function send(path: string, request: Request = {}): Promise<Response> {
  const headers: Record<string, string> = {
    Authorization: `ApiKey ${request.key ?? key.value ?? ""}`,
    Accept: request.accept ?? "application/json",
    ...request.headers,
  };
  if (writtenToken && !OF_NO_STORE.test(path)) headers["Warrant-Token"] = writtenToken;
  const body = request.text ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  if (body !== undefined) headers["Content-Type"] = request.text === undefined ? "application/json" : "text/plain";
  const method = request.method ?? (body === undefined ? "GET" : "POST");
  const url = urlOf(path, request.query);
  let answer: Response;
  try {
    answer = await fetch(url, { method, headers, body, signal: request.signal, credentials: "omit" });
  } catch (fault) {
    if (fault instanceof DOMException && fault.name === "AbortError") throw fault;
    throw new Refused(0, "unreachable", words.refusals.noAnswer);
  }
  if (!answer.ok) throw await readRefusal(answer, request.key === undefined);
  return answer;
}

async function readRefusal(answer: Response, isOfSession: boolean): Promise<Refused> {
  const body = (await answer.json().catch(() => ({}))) as { code?: string; message?: string; parameter?: string };
  const message = body.message ?? words.refusals.answered(answer.status);
  const refused = new Refused(answer.status, body.code ?? "", message, body.parameter);
  if (answer.status === 401 && isOfSession) {
    signOut(words.signIn.isKeyOver);
  }
  return refused;
}

export async function read<T>(path: string, request: Request = {}): Promise<T> {
  const answer: unknown = await (await send(path, request)).json();
  keepNames(answer);
  return answer as T;
}

/** Sends a write, and remembers its revision for later reads. */
export async function write<T>(path: string, request: Request): Promise<T> {
  const answer = await send(path, request);
  writtenToken = answer.headers.get("Warrant-Token") ?? writtenToken;
  const text = await answer.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Stores the key for this tab. Raises Refused if the service does not accept it. */
export async function signIn(given: string): Promise<void> {
  try {
    access.value = await read<Access>("v2/keys/self", { key: given });
  } catch (fault) {
    const isOtherScope = fault instanceof Refused && fault.status === 403;
    if (!isOtherScope) throw fault;
    throw new Refused(403, fault.code, words.signIn.readsWithKey(fault.message));
  }
  storeKey(given);
}

/** Stores the key for this tab, whatever it may do. */
export function storeKey(given: string): void {
  sessionStorage.setItem(STORED, given);
  signedOutBecause.value = "";
  key.value = given;
}

export function signOut(because = ""): void {
  sessionStorage.removeItem(STORED);
  signedOutBecause.value = because;
  key.value = null;
  access.value = undefined;
  writtenToken = null;
}

/** Reads what a key may do that was stored before this page was loaded. */
export async function loadAccess(): Promise<void> {
  if (key.value === null || access.value !== undefined) return;
  access.value = await read<Access>("v2/keys/self");
}
