/** Sends requests to the service that the console comes from, with the key of the session. */

import { computed, signal } from "@preact/signals";
import { store } from "./route";

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
  if (access.value && !access.value.scopes.includes(scope)) return `Your key lacks the scope ${scope}`;
  if (ofAllTypes && onlyTypes.value) return `Your key is limited to ${onlyTypes.value.join(", ")}`;
  return undefined;
}

/** Why the console signed out by itself. */
export const signedOutBecause = signal("");

/** The token of the newest write of this console: what is read later is at least as fresh. */
let writtenToken: string | null = null;

/** Represents an answer that is an error. The status is 0 if there was no answer. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** The name of the parameter or member that is wrong, if the service says it. */
    readonly parameter = "",
  ) {
    super(message);
  }

  /** Returns what the reader can do about it. */
  get advice(): string {
    if (this.status === 0) return "Check that the service is running and that you can reach it, then try again.";
    if (this.status === 401) return "Sign in with a key that this service knows and that has not expired.";
    if (this.status === 403) return "Sign in with a key that has this scope, or get one from an administrator.";
    if (this.status === 404) return "Check the spelling, or choose one of the names that are suggested.";
    if (this.status === 409) return "Somebody else wrote in the meantime. Load the page again.";
    if (this.status === 412) return "Somebody else changed it in the meantime. Compare again, then save.";
    if (this.status === 410) return "Choose a later time, or go back to now.";
    if (this.code === "budget_spent") return "Narrow the request, or raise the budget of the service.";
    if (this.status >= 500) return "Try again in a moment. If it stays like this, look at the log of the service.";
    return "Change what the message names, and try again.";
  }
}

export interface Request {
  method?: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  text?: string;
  accept?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  key?: string;
}

/** Matches the paths that are about the service, or the key, whatever the store. */
const OF_NO_STORE = /^(?:metrics|v2\/stores(?:\/.*)?|v2\/keys\/self)$/;

/** Sends a request about the store of this page. */
export async function send(path: string, request: Request = {}): Promise<Response> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const headers: Record<string, string> = {
    Authorization: `ApiKey ${request.key ?? key.value ?? ""}`,
    Accept: request.accept ?? "application/json",
    ...request.headers,
  };
  const isOfStore = !OF_NO_STORE.test(path);
  if (writtenToken && isOfStore) headers["Warrant-Token"] = writtenToken;
  const body = request.text ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  if (body !== undefined) headers["Content-Type"] = request.text === undefined ? "application/json" : "text/plain";
  const method = request.method ?? (body === undefined ? "GET" : "POST");
  const text = query.toString();
  const prefix = store !== undefined && isOfStore ? `stores/${encodeURIComponent(store)}/` : "";
  const url = `${prefix}${path}${text ? `?${text}` : ""}`;
  let answer: Response;
  try {
    answer = await fetch(url, { method, headers, body, signal: request.signal, credentials: "omit" });
  } catch (fault) {
    if (fault instanceof DOMException && fault.name === "AbortError") throw fault;
    throw new Refused(0, "unreachable", "The service did not answer.");
  }
  if (!answer.ok) throw await readRefusal(answer, request.key === undefined);
  return answer;
}

async function readRefusal(answer: Response, isOfSession: boolean): Promise<Refused> {
  const body = (await answer.json().catch(() => ({}))) as { code?: string; message?: string; parameter?: string };
  const message = body.message ?? `The service answered ${answer.status}.`;
  const refused = new Refused(answer.status, body.code ?? "", message, body.parameter);
  if (answer.status === 401 && isOfSession) {
    signOut("The key is not valid any more. Sign in again.");
  }
  return refused;
}

export async function read<T>(path: string, request: Request = {}): Promise<T> {
  return (await (await send(path, request)).json()) as T;
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
    throw new Refused(403, fault.code, `The console reads with your key: ${fault.message}.`);
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
