/** Reads metrics in the text format of Prometheus, and compares two readings. */

import * as words from "./words";

interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Reading {
  /** Seconds of the clock of the browser. */
  at: number;
  samples: Sample[];
}

export interface RouteFigures {
  route: string;
  /** How many requests there were since the service was started. */
  total: number;
  /** Undefined until there are two readings, like all rates. */
  perSecond?: number;
  p50Ms?: number;
  p99Ms?: number;
}

export interface Figures {
  total: number;
  perSecond?: number;
  p50Ms?: number;
  p99Ms?: number;
  /** The share of checks that were answered from the graph cache without a read; undefined if there were none. */
  cacheHits?: number;
  statementsPerSecond?: number;
  errorsPerSecond?: number;
  refusedPerSecond?: number;
  cachedEntries: number;
  running: number;
  waiting: number;
  routes: RouteFigures[];
}

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function readSamples(text: string, at: number): Reading {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const found = LINE.exec(line);
    if (!found) continue;
    const labels = Object.fromEntries([...(found[2] ?? "").matchAll(LABEL)].map((one) => [one[1] ?? "", one[2] ?? ""]));
    samples.push({ name: found[1] ?? "", labels, value: Number(found[3]) });
  }
  return { at, samples };
}

/** Returns what happened since the reading before, or since the service was started if there is none, and what is the
 * case now. */
export function compareReadings(before: Reading | undefined, after: Reading): Figures {
  const seconds = before && Math.max(after.at - before.at, 0.001);
  const grown = before ? subtract(before, after) : after.samples;
  const rate = (samples: Sample[], name: string) => seconds && sum(samples, name) / seconds;
  const hits = sum(grown, "magistrate_graph_hits_total");
  const checks = hits + sum(grown, "magistrate_graph_misses_total") + sum(grown, "magistrate_graph_given_up_total");
  const failed = grown.filter((one) => one.name === REQUESTS && /^5/.test(one.labels.status ?? ""));
  const grownByRoute = groupByRoute(grown);
  const totals = groupByRoute(after.samples.filter((one) => one.name === REQUESTS));
  const routes = [...totals].map(([route, samples]) => {
    const own = grownByRoute.get(route) ?? [];
    return { route, total: sum(samples, REQUESTS), perSecond: rate(own, REQUESTS), ...findLatency(own) };
  });
  return {
    total: sum(after.samples, REQUESTS),
    perSecond: rate(grown, REQUESTS),
    ...findLatency(grown),
    cacheHits: checks > 0 ? hits / checks : undefined,
    statementsPerSecond: rate(grown, "magistrate_statements_total"),
    errorsPerSecond: rate(failed, REQUESTS),
    refusedPerSecond: rate(grown, "magistrate_requests_shed_total"),
    cachedEntries: sum(after.samples, "magistrate_graph_entries"),
    running: sum(after.samples, "magistrate_requests_running"),
    waiting: sum(after.samples, "magistrate_requests_waiting"),
    routes: routes.sort((one, other) => other.total - one.total || (one.route < other.route ? -1 : 1)),
  };
}

const REQUESTS = "magistrate_requests_total";

function groupByRoute(samples: Sample[]): Map<string, Sample[]> {
  const groups = new Map<string, Sample[]>();
  for (const one of samples) {
    const route = nameRoute(one);
    const group = groups.get(route);
    if (group) group.push(one);
    else groups.set(route, [one]);
  }
  return groups;
}

function nameRoute(sample: Sample): string {
  return `${sample.labels.method ?? ""} ${sample.labels.route || words.metrics.otherPaths}`;
}

function sum(samples: Sample[], name: string): number {
  return samples.reduce((total, one) => (one.name === name ? total + one.value : total), 0);
}

/** Returns by how much each counter has grown. A service that was started again counts from 0. */
function subtract(before: Reading, after: Reading): Sample[] {
  const key = (one: Sample) => one.name + JSON.stringify(one.labels);
  const known = new Map(before.samples.map((one) => [key(one), one.value]));
  return after.samples.map((one) => ({ ...one, value: Math.max(one.value - (known.get(key(one)) ?? 0), 0) }));
}

/** Returns the p50 and the p99 of the requests, in milliseconds. */
function findLatency(grown: Sample[]): { p50Ms?: number; p99Ms?: number } {
  const counts = new Map<number, number>();
  for (const one of grown) {
    if (one.name !== "magistrate_request_seconds_bucket") continue;
    const bound = one.labels.le === "+Inf" ? Infinity : Number(one.labels.le);
    counts.set(bound, (counts.get(bound) ?? 0) + one.value);
  }
  const bounds = [...counts].sort(([one], [other]) => one - other);
  const all = bounds.at(-1)?.[1] ?? 0;
  if (all === 0) return {};
  const find = (share: number) => (bounds.find(([, count]) => count >= all * share)?.[0] ?? Infinity) * 1000;
  return { p50Ms: find(0.5), p99Ms: find(0.99) };
}
