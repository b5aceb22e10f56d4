/** The client of a service: one method for each question, and `write`. */

import { Denied, InvalidUse, RevisionLost, Unreachable } from "./errors.js";
import { type FeedOptions, follow } from "./feed.js";
import type {
  AccessFeedEvent,
  Context,
  DifferenceRow,
  Explanation,
  ObjectRef,
  StoredWarrant,
  SubjectRef,
  WarrantBody,
  WatchEvent,
  WriteAnswer,
} from "./json.js";
import type {
  AnyModel,
  CheckArgument,
  ObjectArgument,
  ObjectElement,
  ObjectType,
  RelationOf,
  RelationOn,
  Relations,
  SubjectArgument,
  WarrantArgument,
} from "./model.js";
import { renderObject, renderSubject } from "./render.js";
import { Rows } from "./rows.js";
import { isLater } from "./tokens.js";
import { type Answer, type Call, type Key, newIdempotencyKey, type Parameters, Transport } from "./transport.js";
import {
  type CheckBody,
  type Element,
  quoteObject,
  readCheck,
  readElement,
  readElements,
  readName,
  readObject,
  readSubject,
  readTime,
  readWarrant,
  type WrittenWarrant,
} from "./written.js";

/**
 * What a read sees: with `session` all that this client has written and read, with `latest` all that anybody has
 * written, with `none` all but the last moments.
 */
export type Consistency = "session" | "latest" | "none";

export interface ClientOptions {
  /** The address of the service; by default MAGISTRATE_URL of the environment. In a browser it may be a path. */
  url?: string | undefined;
  /** A key, or the token of a session; by default MAGISTRATE_API_KEY. A function is called for each request. */
  key?: Key | undefined;
  /** The name or id of a store, for the key of an operator; by default MAGISTRATE_STORE. */
  store?: string | undefined;
  /** How long a call may take, with its retries. */
  timeoutMs?: number | undefined;
  /** How often a request is sent again. */
  retries?: number | undefined;
  consistency?: Consistency | undefined;
  fetch?: typeof fetch | undefined;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface ReadOptions extends CallOptions {
  /** A token of before, or a time: the answer is that of then. */
  asOf?: string | Date | undefined;
  /** Refuse names that the model does not define. */
  strict?: boolean | undefined;
  /** See at least this write, instead of what `consistency` says. */
  token?: string | undefined;
}

export interface CheckOptions<M extends Relations = AnyModel> extends ReadOptions {
  /** Variables of policies. */
  context?: Context | undefined;
  /** Warrants that count for this call, as if they had been written. */
  with?: readonly WarrantArgument<M>[] | undefined;
}

export interface ListOptions<M extends Relations = AnyModel> extends CheckOptions<M> {
  pageSize?: number | undefined;
}

export interface RequireOptions<M extends Relations = AnyModel> extends CheckOptions<M> {
  /** The error says what would allow the check. It costs another request, and names others: show it to nobody else. */
  explain?: boolean | undefined;
}

export type Precondition<M extends Relations = AnyModel> =
  | { readonly exists: WriteElement<M> }
  | { readonly absent: WriteElement<M> }
  | { readonly revision: string };

export type WriteElement<M extends Relations = AnyModel> = WarrantArgument<M> | ObjectElement<M>;

export interface Write<M extends Relations = AnyModel> {
  readonly create?: readonly WriteElement<M>[] | undefined;
  readonly delete?: readonly WriteElement<M>[] | undefined;
  readonly preconditions?: readonly Precondition<M>[] | undefined;
}

export interface WarrantFilter<M extends Relations = AnyModel> {
  objectType?: ObjectType<M> | undefined;
  objectId?: string | undefined;
  relation?: RelationOf<M, ObjectType<M>> | undefined;
  subjectType?: ObjectType<M> | undefined;
  subjectId?: string | undefined;
  subjectRelation?: RelationOf<M, ObjectType<M>> | undefined;
}

export interface DifferenceSelection<M extends Relations = AnyModel> {
  /** Such as `document#viewer@user`, `document#viewer` or `document`; by default all relations of all types. */
  of?: readonly string[] | undefined;
  subject?: SubjectArgument<M> | undefined;
  object?: ObjectArgument<M> | undefined;
  /** Only what this query finds. */
  q?: string | undefined;
}

/** Between two times, or between now and what a write would make of it. */
export type Difference<M extends Relations = AnyModel> = DifferenceSelection<M> &
  (
    | { from: string | Date; to?: string | Date | undefined; create?: never; delete?: never }
    | { create?: readonly WarrantArgument<M>[]; delete?: readonly WarrantArgument<M>[]; from?: never; to?: never }
  );

export interface WatchOptions<M extends Relations = AnyModel> extends FeedOptions {
  objectTypes?: readonly ObjectType<M>[] | undefined;
  relations?: readonly RelationOf<M, ObjectType<M>>[] | undefined;
  subjectTypes?: readonly ObjectType<M>[] | undefined;
}

export interface AccessOptions<M extends Relations = AnyModel> extends FeedOptions {
  of?: readonly string[] | undefined;
  subject?: SubjectArgument<M> | undefined;
  object?: ObjectArgument<M> | undefined;
}

const MAX_CHECKS = 1_000;
const PAGE_SIZE = 1_000;
const DEFAULTS = { timeoutMs: 10_000, retries: 3, consistency: "session" } as const;

export class Client<M extends Relations = AnyModel> {
  readonly consistency: Consistency;
  readonly #transport: Transport;
  #token: string | undefined;

  constructor(options?: ClientOptions);
  /** @internal */
  constructor(options: ClientOptions, transport?: Transport);
  constructor(options: ClientOptions = {}, transport?: Transport) {
    const { timeoutMs = DEFAULTS.timeoutMs, retries = DEFAULTS.retries, consistency = DEFAULTS.consistency } = options;
    this.consistency = consistency;
    this.#transport = transport ?? openTransport(options, timeoutMs, retries);
  }

  /** The token of the newest revision that this client was answered at, which its next read sees. */
  get token(): string | undefined {
    return this.#token;
  }

  set token(token: string | undefined) {
    this.#token = token;
  }

  /** Returns the same client with a session of its own, which begins with this token. */
  at(token: string): Client<M> {
    const client = new Client<M>({}, this.#transport);
    client.token = token;
    return client;
  }

  /** Says whether a subject has a relation on an object. A session token needs no subject: pass null. */
  async check<const O extends ObjectArgument<M>>(
    subject: SubjectArgument<M> | null,
    relation: RelationOn<M, O>,
    object: O,
    options: CheckOptions<M> = {},
  ): Promise<boolean> {
    const body = { warrants: [checkBody(subject, relation, object)], ...checkMembers(options) };
    return isAllowed(parse(await this.#read({ method: "POST", path: "/v2/check", body }, options)));
  }

  /** Makes many checks, a thousand in each request, and answers in their order. */
  async checkMany(checks: readonly CheckArgument<M>[], options: CheckOptions<M> = {}): Promise<boolean[]> {
    const bodies = checks.map(([subject, relation, object]) => checkBody(subject, relation, object));
    const answers: boolean[] = [];
    for (let start = 0; start < bodies.length; start += MAX_CHECKS) {
      const warrants = bodies.slice(start, start + MAX_CHECKS);
      const body = { op: "batch", warrants, ...checkMembers(options) };
      const results = parse(await this.#read({ method: "POST", path: "/v2/check", body }, options));
      if (!Array.isArray(results) || results.length !== warrants.length) throw new Unreachable("the answer is not from Magistrate");
      answers.push(...results.map(isAllowed));
    }
    return answers;
  }

  /** Throws Denied if a check is denied. */
  async require<const O extends ObjectArgument<M>>(
    subject: SubjectArgument<M>,
    relation: RelationOn<M, O>,
    object: O,
    { explain = false, ...options }: RequireOptions<M> = {},
  ): Promise<void> {
    if (await this.check(subject, relation, object, options)) return;
    const check = `${renderSubject(readSubject(subject))} is not ${relation} of ${renderObject(readObject(object))}`;
    throw new Denied(check, explain ? await this.explain(subject, relation, object, options) : undefined);
  }

  /** Says why a check is allowed, or what would allow it. */
  async explain<const O extends ObjectArgument<M>>(
    subject: SubjectArgument<M>,
    relation: RelationOn<M, O>,
    object: O,
    options: CheckOptions<M> = {},
  ): Promise<Explanation> {
    const body = { ...checkBody(subject, relation, object), ...checkMembers(options) };
    return parse(await this.#read({ method: "POST", path: "/v2/explain", body }, options)) as Explanation;
  }

  /** Lists the objects of a type on which a subject has a relation, in the order of their ids, at one revision. */
  objects<T extends ObjectType<M>>(
    subject: SubjectArgument<M>,
    relation: RelationOf<M, T>,
    type: T,
    options: ListOptions<M> = {},
  ): Rows<`${T}:${string}`> {
    const whose = readSubject(subject);
    if (whose.relation !== undefined) throw new InvalidUse("objects cannot be listed for a group: pass one subject");
    const q = `select ${readName(type)} where ${quoteObject(whose)} is ${readName(relation)}`;
    return new Rows(() => this.#query(q, options) as AsyncGenerator<`${T}:${string}`>);
  }

  /** Lists the subjects of a type, such as `user` or `team#member`, that have a relation on an object. */
  subjects<const O extends ObjectArgument<M>>(
    object: O,
    relation: RelationOn<M, O>,
    type: ObjectType<M> | `${ObjectType<M>}#${string}`,
    options: ListOptions<M> = {},
  ): Rows<string> {
    const q = `select ${readName(relation)} of type ${readName(type)} for ${quoteObject(readObject(object))}`;
    return new Rows(() => this.#query(q, options));
  }

  /** Creates and deletes warrants and objects: all of it, or nothing. It is made once, however often it is sent. */
  async write(change: Write<M>, { signal }: CallOptions = {}): Promise<WriteAnswer> {
    const preconditions = (change.preconditions ?? []).map(readPrecondition);
    const body = {
      ...(preconditions.length > 0 ? { preconditions } : {}),
      ...nonEmpty("delete", readElements((change.delete ?? []) as readonly Element[])),
      ...nonEmpty("create", readElements((change.create ?? []) as readonly Element[])),
    };
    const headers = { "Idempotency-Key": newIdempotencyKey() };
    return parse(await this.#send({ method: "POST", path: "/v2/writes", body, headers, signal })) as WriteAnswer;
  }

  /** Lists the warrants that have all values of a filter, at one revision, the oldest first. */
  warrants(filter: WarrantFilter<M> = {}, options: ReadOptions & { pageSize?: number } = {}): Rows<StoredWarrant> {
    const { pageSize = PAGE_SIZE } = options;
    const given = Object.entries({ ...filter, ...readMembers(options), limit: pageSize, snapshot: true });
    const parameters = textParameters(given);
    return new Rows(() => this.#pages<StoredWarrant>({ method: "GET", path: "/v2/warrants", parameters }, options));
  }

  /** Returns the text of the model. */
  async model(options: ReadOptions = {}): Promise<string> {
    const parameters = textParameters(Object.entries(readMembers(options)));
    const headers = { Accept: "text/plain" };
    return (await this.#read({ method: "GET", path: "/v2/model", parameters, headers }, options)).text;
  }

  /**
   * Replaces the model by a text, and returns what is stored. `expected` is a token: the model is replaced only if it
   * has not changed since. With `keepExisting`, warrants that the model forbids are kept, without effect.
   */
  async writeModel(
    text: string,
    { expected, keepExisting, signal }: CallOptions & { expected?: string; keepExisting?: boolean } = {},
  ): Promise<string> {
    const parameters = textParameters(Object.entries({ expectedRevision: expected, keepExisting }));
    const headers = { Accept: "text/plain" };
    const call = { method: "PUT", path: "/v2/model", parameters, headers, body: text, onlyOnce: true, signal } as const;
    return (await this.#send(call)).text;
  }

  /** Lists the access that was gained and lost between two times, or that a write would change. */
  difference(what: Difference<M>, options: CallOptions & { token?: string; pageSize?: number } = {}): Rows<DifferenceRow> {
    const { pageSize = PAGE_SIZE } = options;
    const selection = { ...selectAccess(what), q: what.q, limit: pageSize };
    if (what.from !== undefined) {
      const { from, to } = what;
      const times = { from: readTime(from), to: to === undefined ? undefined : readTime(to) };
      const parameters = textParameters(Object.entries({ ...times, ...selection }));
      return new Rows(() => this.#pages<DifferenceRow>({ method: "GET", path: "/v2/difference", parameters }, options));
    }
    const proposal = { create: readWarrants(what.create), delete: readWarrants(what.delete) };
    const body = { proposal, ...selection };
    return new Rows(() => this.#pages<DifferenceRow>({ method: "POST", path: "/v2/difference", body }, options));
  }

  /** Follows what is written, from now on, or `since` a token. Goes on by itself where the connection is cut. */
  watch({ objectTypes = [], relations = [], subjectTypes = [], ...options }: WatchOptions<M> = {}): Rows<WatchEvent> {
    const filters = [
      ...objectTypes.map((type) => ["objectType", type] as const),
      ...relations.map((relation) => ["relation", relation as string] as const),
      ...subjectTypes.map((type) => ["subjectType", type] as const),
    ];
    const events = (): AsyncGenerator<unknown> => follow(this.#transport, "/v2/watch", filters, options);
    return new Rows(events as () => AsyncGenerator<WatchEvent>);
  }

  /** Follows who gains and loses access, whatever causes it. Goes on by itself where the connection is cut. */
  access({ of, subject, object, ...options }: AccessOptions<M> = {}): Rows<AccessFeedEvent> {
    const filters = textParameters(Object.entries(selectAccess({ of, subject, object } as DifferenceSelection<M>)));
    const events = (): AsyncGenerator<unknown> => follow(this.#transport, "/v2/watch/access", filters, options);
    return new Rows(events as () => AsyncGenerator<AccessFeedEvent>);
  }

  async *#query(q: string, options: ListOptions<M>): AsyncGenerator<string, void, undefined> {
    const body = { q, limit: options.pageSize ?? PAGE_SIZE, ...checkMembers(options) };
    const call = { method: "POST", path: "/v2/query", body } as const;
    for await (const row of this.#pages<ObjectRef & { subjectRelation?: string }>(call, options)) {
      const { objectType, objectId, subjectRelation } = row;
      yield renderSubject(subjectRelation ? { objectType, objectId, relation: subjectRelation } : { objectType, objectId });
    }
  }

  async *#pages<Row>(call: Call, options: ReadOptions): AsyncGenerator<Row, void, undefined> {
    let place: { nextCursor?: string } = {};
    for (;;) {
      const next: Call =
        call.method === "GET"
          ? { ...call, parameters: [...(call.parameters ?? []), ...textParameters(Object.entries(place))] }
          : { ...call, body: { ...(call.body as object), ...place } };
      const page = parse(await this.#read(next, options)) as { results: Row[]; nextCursor?: string };
      if (!Array.isArray(page?.results)) throw new Unreachable("the answer is not from Magistrate");
      yield* page.results;
      if (page.nextCursor === undefined) return;
      place = { nextCursor: page.nextCursor };
    }
  }

  async #read(call: Call, { token, signal }: ReadOptions): Promise<Answer> {
    const wanted = token ?? { session: this.#token, latest: "latest", none: undefined }[this.consistency];
    const headers = wanted === undefined ? call.headers : { ...call.headers, "Service-Token": wanted };
    return await this.#send({ ...call, signal, ...(headers ? { headers } : {}) });
  }

  async #send(call: Call): Promise<Answer> {
    try {
      const answer = await this.#transport.send(call);
      if (this.#token === undefined || isLater(answer.token, this.#token)) this.#token = answer.token;
      return answer;
    } catch (error) {
      if (error instanceof RevisionLost) this.#token = undefined;
      throw error;
    }
  }
}

function openTransport(options: ClientOptions, timeoutMs: number, retries: number): Transport {
  const url = options.url ?? readVariable("MAGISTRATE_URL");
  if (url === undefined) throw new InvalidUse("url is missing, and so is MAGISTRATE_URL in the environment");
  const key = options.key ?? readVariable("MAGISTRATE_API_KEY");
  const store = options.store ?? readVariable("MAGISTRATE_STORE");
  return new Transport({ url, key, store, timeoutMs, retries, fetch: options.fetch ?? fetch });
}

function checkBody(subject: string | SubjectRef | null, relation: string, object: string | ObjectRef): CheckBody {
  return readCheck(subject, relation, object);
}

function checkMembers<M extends Relations>(options: CheckOptions<M>): Record<string, unknown> {
  const { context, with: warrants } = options;
  return {
    ...readMembers(options),
    ...(context === undefined ? {} : { context }),
    ...(warrants === undefined || warrants.length === 0 ? {} : { contextualWarrants: readWarrants(warrants) }), // last: docs/api.md
  };
}

function readMembers({ asOf, strict }: ReadOptions): Record<string, string | boolean> {
  return { ...(asOf === undefined ? {} : { asOf: readTime(asOf) }), ...(strict === undefined ? {} : { strict }) };
}

function readWarrants<M extends Relations>(warrants: readonly WarrantArgument<M>[] = []): WarrantBody[] {
  return warrants.map((warrant) => readWarrant(warrant as WrittenWarrant));
}

function readPrecondition<M extends Relations>(precondition: Precondition<M>): Record<string, unknown> {
  if ("revision" in precondition) return { revision: precondition.revision };
  if ("exists" in precondition) return { exists: readElement(precondition.exists as Element) };
  return { absent: readElement(precondition.absent as Element) };
}

function nonEmpty(name: string, { warrants, objects }: { warrants: unknown[]; objects: unknown[] }): Record<string, unknown> {
  if (warrants.length + objects.length === 0) return {};
  return { [name]: { ...(warrants.length > 0 ? { warrants } : {}), ...(objects.length > 0 ? { objects } : {}) } };
}

function selectAccess<M extends Relations>({ of, subject, object }: DifferenceSelection<M>): Record<string, string> {
  return {
    ...(of === undefined || of.length === 0 ? {} : { of: of.join(",") }),
    ...(subject === undefined ? {} : { subject: renderSubject(readSubject(subject)) }),
    ...(object === undefined ? {} : { object: renderObject(readObject(object)) }),
  };
}

function textParameters(members: [string, string | number | boolean | undefined][]): Parameters {
  return members.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as const]));
}

function parse({ text }: Answer): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Unreachable("the answer is not from Magistrate", { cause: error });
  }
}

/** Returns what a result says. Anything but the two that there are is no answer. */
function isAllowed(result: unknown): boolean {
  const { code } = (result ?? {}) as { code?: unknown };
  if (code !== 200 && code !== 403) throw new Unreachable("the answer is not from Magistrate");
  return code === 200;
}

/** Returns a variable of the environment, where there is one; an empty one counts as missing. */
function readVariable(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env?.[name] || undefined;
  } catch {
    return undefined; // Deno asks for a permission
  }
}
