/** Makes the calls of the conformance corpus and prints what came of them (clients/conformance/README.md). */

import { readFileSync } from "node:fs";
import * as magistrate from "../src/index.js";
import { Client, Denied, MagistrateError, Refused, renderWarrant } from "../src/index.js";
import type { AccessRow, Explanation, WarrantBody } from "../src/index.js";

type Members = Record<string, never>;
type Step = Record<string, Members & string>;

interface Scenario {
  name: string;
  client: { key?: string; store?: string; timeout?: number; retries?: number; consistency?: magistrate.Consistency };
  tokens: Record<string, string>;
  steps: Step[];
}

const KINDS = {
  denied: magistrate.Denied,
  invalid_use: magistrate.InvalidUse,
  timeout: magistrate.Timeout,
  unreachable: magistrate.Unreachable,
  not_allowed: magistrate.NotAllowed,
  orphaned_warrants: magistrate.OrphanedWarrants,
  invalid_parameter: magistrate.InvalidParameter,
  invalid_model: magistrate.InvalidModel,
  invalid_request: magistrate.InvalidRequest,
  unauthenticated: magistrate.Unauthenticated,
  forbidden: magistrate.Forbidden,
  not_found: magistrate.NotFound,
  limit_reached: magistrate.LimitReached,
  precondition_failed: magistrate.PreconditionFailed,
  revision_lost: magistrate.RevisionLost,
  conflict: magistrate.Conflict,
  gone: magistrate.Gone,
  too_many_requests: magistrate.TooManyRequests,
  unavailable: magistrate.Unavailable,
  read_only: magistrate.ReadOnly,
  budget_exceeded: magistrate.BudgetExceeded,
  internal_error: magistrate.InternalError,
};
const CALLS: Record<string, (client: Client, members: any, tokens: Record<string, string>) => Promise<unknown>> = {
  check: (client, { subject, relation, object, ...rest }, tokens) =>
    client.check(subject, relation, object, options(rest, tokens)),
  check_many: (client, { checks, repeat, times, ...rest }, tokens) =>
    client.checkMany(checks ?? Array.from({ length: times }, () => repeat), options(rest, tokens)),
  require: (client, { subject, relation, object, ...rest }, tokens) =>
    client.require(subject, relation, object, options(rest, tokens)).then(() => null),
  explain: async (client, { subject, relation, object, ...rest }, tokens) =>
    explained(await client.explain(subject, relation, object, options(rest, tokens))),
  objects: (client, { subject, relation, type, ...rest }, tokens) =>
    client.objects(subject, relation, type, options(rest, tokens)).toArray(),
  subjects: (client, { object, relation, type, ...rest }, tokens) =>
    client.subjects(object, relation, type, options(rest, tokens)).toArray(),
  write: (client, { create, delete: deleted, preconditions }, tokens) =>
    client.write({
      ...(create ? { create: create.map(element) } : {}),
      ...(deleted ? { delete: deleted.map(element) } : {}),
      preconditions: (preconditions ?? []).map((given: any) =>
        given.revision ? { revision: tokens[given.revision] } : given,
      ),
    }),
  warrants: async (client, { page_size, ...filter }) =>
    (await client.warrants(camelCase(filter), camelCase({ page_size })).toArray()).map(renderWarrant),
  model: (client, members, tokens) => client.model(options(members, tokens)),
  write_model: (client, { text, expected }, tokens) =>
    client.writeModel(text, expected ? { expected: tokens[expected]! } : {}),
  difference: async (client, { from, to, page_size, ...rest }, tokens) => {
    const times = { ...(from ? { from: tokens[from] } : {}), ...(to ? { to: tokens[to] } : {}) };
    const rows = await client.difference({ ...rest, ...times }, camelCase({ page_size })).toArray();
    return rows.map((row) => ({ change: row.change, access: renderWarrant(row), conditional: row.conditional ?? false }));
  },
  watch: async (client, { events, since, ...rest }, tokens) => {
    const found: unknown[] = [];
    for await (const event of client.watch({ ...camelCase(rest), ...place(since, tokens) })) {
      if (event.event !== "revision") continue;
      const { created = [], deleted = [] } = event.warrants ?? {};
      found.push({ created: created.map(renderWarrant), deleted: deleted.map(renderWarrant) });
      if (found.length === events) break;
    }
    return found;
  },
  access: async (client, { events, since, ...rest }, tokens) => {
    const found: unknown[] = [];
    for await (const event of client.access({ ...camelCase(rest), ...place(since, tokens) })) {
      if (event.event !== "access") continue;
      found.push({ gained: rows(event.gained), lost: rows(event.lost) });
      if (found.length === events) break;
    }
    return found;
  },
};

function rows(given: AccessRow[] = []): string[] {
  return given.map(renderWarrant);
}

function place(since: string | undefined, tokens: Record<string, string>): { since?: string } {
  return since === undefined ? {} : { since: tokens[since]! };
}

function element(given: any): any {
  return typeof given === "string" ? given : camelCase(given);
}

function explained({ decision, path = [], wouldAllow = [] }: Explanation): unknown {
  const written = (warrants: WarrantBody[]): string[] => warrants.map(renderWarrant);
  const changes = wouldAllow.map((change) => ({ create: written(change.create), delete: written(change.delete) }));
  return { allowed: decision === "allowed", path: written(path), would_allow: changes };
}

function options(members: Record<string, any>, tokens: Record<string, string>): any {
  const { as_of, ...rest } = members;
  return { ...camelCase(rest), ...(as_of ? { asOf: tokens[as_of] } : {}) };
}

function camelCase(members: Record<string, any>): any {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), value]));
}

function described(error: unknown): unknown {
  const [kind] = Object.entries(KINDS).find(([, type]) => error instanceof type) ?? ["unknown"];
  if (kind === "unknown") return { kind, message: String(error instanceof MagistrateError ? error.name : error) };
  const { code = null, status = null } = error instanceof Refused ? error : {};
  return { kind, code, status, ...(error instanceof Denied ? { reason: error.reason } : {}) };
}

async function run(scenario: Scenario): Promise<void> {
  const { timeout, ...given } = scenario.client;
  const client = new Client({ ...given, ...(timeout ? { timeoutMs: timeout * 1000 } : {}) });
  for (const [index, step] of scenario.steps.entries()) {
    const body = JSON.stringify({ scenario: scenario.name, step: index });
    const told = await fetch(process.env["MAGISTRATE_CONFORMANCE_CONTROL"]!, { method: "POST", body });
    if (told.status !== 200) throw new Error(`the driver answered ${told.status}`);
    const [call, make] = Object.entries(CALLS).find(([name]) => name in step)!;
    if (step["token"]) client.token = scenario.tokens[step["token"]];
    const caller = step["at"] ? client.at(scenario.tokens[step["at"]]!) : client;
    const begun = performance.now();
    const outcome = await make(caller, step[call], scenario.tokens).then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error: described(error) }),
    );
    if (step["save"] && client.token !== undefined) scenario.tokens[step["save"]] = client.token;
    const seconds = (performance.now() - begun) / 1000;
    console.log(JSON.stringify({ scenario: scenario.name, step: index, ...outcome, token: client.token ?? null, seconds }));
  }
}

const file = JSON.parse(readFileSync(process.env["MAGISTRATE_CONFORMANCE"]!, "utf8")) as { scenarios: Scenario[] };
for (const scenario of file.scenarios) await run(scenario);
