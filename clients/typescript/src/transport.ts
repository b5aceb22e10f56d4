/** Sends requests: deadlines, retries, and what an answer means. Knows the key, and tells nobody. */

import { errorOf, InvalidUse, MagistrateError, Refused, Timeout, Unauthenticated, Unreachable } from "./errors.js";
import type { ErrorBody } from "./json.js";

/** A key, or a function that returns one, such as a session token that the page fetches; `expired` says why it is
 * called again within a call. */
export type Key = string | ((why: { expired: boolean }) => string | Promise<string>);

export interface TransportOptions {
  url: string;
  key: Key | undefined;
  store: string | undefined;
  timeoutMs: number;
  retries: number;
  fetch: typeof fetch;
}

export type Parameters = readonly (readonly [name: string, value: string])[];

export interface Call {
  method: "GET" | "POST" | "PUT";
  path: string;
  parameters?: Parameters;
  /** Sent as JSON, a string as text. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
  /** A request that may have been received is not sent again. */
  onlyOnce?: boolean;
}

export interface Answer {
  text: string;
  token: string;
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;
const MAX_TIMER_MS = 2 ** 31 - 1; // a longer one fires at once
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]); // what Node says if there is no connection
const SESSION_TOKEN = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/; // a JSON Web Token begins with {"
const HEADER_TEXT = /^[\x21-\x7e]+$/;

export class Transport {
  readonly timeoutMs: number;
  readonly retries: number;
  readonly #prefix: string;
  readonly #key: Key | undefined;
  readonly #fetch: typeof fetch;

  constructor({ url, key, store, timeoutMs, retries, fetch }: TransportOptions) {
    this.timeoutMs = timeoutMs;
    this.retries = retries;
    this.#prefix = readUrl(url) + (store ? `/stores/${encodeURIComponent(store)}` : "");
    this.#key = key;
    this.#fetch = fetch;
    if (typeof key === "string") readKey(key);
  }

  /** Returns the answer of the first attempt that has one. Each attempt sends the same request. */
  async send(call: Call): Promise<Answer> {
    const deadline = performance.now() + this.timeoutMs;
    for (let attempt = 0, isExpired = false; ; attempt += 1) {
      try {
        return await this.#attempt(call, deadline, isExpired);
      } catch (error) {
        if (isExpiry(error) && typeof this.#key === "function" && !isExpired) {
          isExpired = true;
          continue;
        }
        if (attempt >= this.retries || !isPassing(error) || (call.onlyOnce && !isUnreceived(error))) throw error;
        const pause = pauseMs(attempt, error);
        if (performance.now() + pause >= deadline) throw error;
        await sleep(pause, call.signal);
      }
    }
  }

  /** Returns a response with status 200 whose body is yet to be read, until `controller` aborts it. */
  async open(call: Call, controller: AbortController): Promise<Response> {
    const timer = setTimeout(() => controller.abort(new Timeout(this.timeoutMs)), Math.min(MAX_TIMER_MS, this.timeoutMs));
    try {
      const response = await this.#request(call, controller.signal, false);
      if (response.status !== 200) throw await readError(response);
      return response;
    } catch (error) {
      throw this.#describe(error, call.signal, controller.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async #attempt(call: Call, deadline: number, expired: boolean): Promise<Answer> {
    call.signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = (): void => controller.abort(call.signal?.reason);
    const timeOut = (): void => controller.abort(new Timeout(this.timeoutMs));
    const timer = setTimeout(timeOut, Math.min(MAX_TIMER_MS, Math.max(0, deadline - performance.now())));
    call.signal?.addEventListener("abort", abort, { once: true });
    try {
      const response = await this.#request(call, controller.signal, expired);
      if (response.status !== 200) throw await readError(response);
      const token = response.headers.get("Service-Token");
      const text = await response.text();
      if (token === null) throw new Unreachable("the answer is not from Magistrate");
      return { text, token };
    } catch (error) {
      throw this.#describe(error, call.signal, controller.signal);
    } finally {
      clearTimeout(timer);
      call.signal?.removeEventListener("abort", abort);
    }
  }

  async #request(call: Call, signal: AbortSignal, expired: boolean): Promise<Response> {
    const headers: Record<string, string> = { ...call.headers };
    const key = typeof this.#key === "function" ? readKey(await untilAborted(this.#key({ expired }), signal)) : this.#key;
    if (key !== undefined) headers["Authorization"] = `${SESSION_TOKEN.test(key) ? "Bearer" : "ApiKey"} ${key}`;
    const query = new URLSearchParams((call.parameters ?? []).map(([name, value]) => [name, value])).toString();
    const init: RequestInit = { method: call.method, headers, signal, redirect: "manual" };
    if (call.body !== undefined) {
      headers["Content-Type"] = typeof call.body === "string" ? "text/plain; charset=utf-8" : "application/json";
      init.body = typeof call.body === "string" ? call.body : JSON.stringify(call.body);
    }
    const send = this.#fetch; // as a function: a browser's fetch has to be called without an object
    return await send(this.#prefix + call.path + (query ? `?${query}` : ""), init);
  }

  #describe(error: unknown, asked: AbortSignal | undefined, own: AbortSignal): unknown {
    if (asked?.aborted) return asked.reason;
    if (own.aborted && own.reason instanceof Timeout) return own.reason;
    if (error instanceof MagistrateError) return error;
    return new Unreachable(`no complete answer came: ${reasonOf(error)}`, { cause: error });
  }
}

/** Says whether the same request may succeed later. */
export function isPassing(error: unknown): boolean {
  if (error instanceof Unreachable) return !(error instanceof Timeout);
  if (!(error instanceof Refused)) return false;
  const { status, code } = error;
  return status === 429 || status === 502 || status === 504 || (status === 503 && (code === null || code === "unavailable"));
}

/** Says whether the service has not received a request, or not read it. */
function isUnreceived(error: unknown): boolean {
  if (error instanceof Refused) return error.status === 429;
  const reason = error instanceof Error && error.cause instanceof Error ? error.cause.cause : undefined;
  return NOT_SENT.has((reason as { code?: string } | undefined)?.code ?? "");
}

function isExpiry(error: unknown): boolean {
  return error instanceof Unauthenticated && error.code === "token_expired";
}

/** Returns how long to wait after the attempt with this number, from 0, failed: as long as the service asks for,
 * else longer each time, with jitter. */
export function pauseMs(attempt: number, error: unknown): number {
  const longest = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
  const asked = error instanceof Refused ? error.retryAfterMs : undefined;
  return asked ?? longest * (0.5 + Math.random() / 2);
}

export function sleep(pauseMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, Math.min(MAX_TIMER_MS, pauseMs));
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

function untilAborted<T>(value: T | Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    Promise.resolve(value).then(resolve, reject);
  });
}

/** Makes an Idempotency-Key. Nobody has to be kept from guessing it. */
export function newIdempotencyKey(): string {
  const bytes = new Uint8Array(16);
  if (globalThis.crypto === undefined) bytes.forEach((_, place) => (bytes[place] = Math.random() * 256));
  else globalThis.crypto.getRandomValues(bytes); // Node 18 has no such global
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function readError(response: Response): Promise<MagistrateError> {
  const text = await response.text();
  if (response.status < 400) return new Unreachable(`the answer, with the status ${response.status}, is not from Magistrate`);
  return errorOf({
    status: response.status,
    requestId: response.headers.get("Warrant-Request-Id") ?? undefined,
    retryAfterMs: readRetryAfter(response.headers.get("Retry-After")),
    body: readErrorBody(text),
  });
}

/** Returns the body of an error; of one that is not ours, nothing. */
function readErrorBody(text: string): ErrorBody {
  try {
    const body = JSON.parse(text) as ErrorBody | null;
    return typeof body?.code === "string" && typeof body.message === "string" ? body : {};
  } catch {
    return {};
  }
}

function readRetryAfter(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : Math.max(0, time - Date.now());
}

function readUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text, (globalThis as { location?: { href: string } }).location?.href);
  } catch {
    throw new InvalidUse("url must be the address of the service, such as https://magistrate.example.com");
  }
  if (!/^https?:$/.test(url.protocol)) throw new InvalidUse("url must begin with https:// or http://");
  if (url.username || url.password || url.search || url.hash) {
    throw new InvalidUse("url must have no credentials, query or fragment; pass the key as key");
  }
  return url.href.replace(/\/+$/, "");
}

function readKey(key: string): string {
  if (!HEADER_TEXT.test(key)) throw new InvalidUse("key has characters that no key has, such as a new line");
  return key;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "the request failed";
  return error.cause instanceof Error && error.cause.message ? error.cause.message : error.message;
}
