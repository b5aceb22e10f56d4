/** Reads the metrics of the service, in the text format of Prometheus, and tells what happened between two readings. */

import { send } from "./api";

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
  perSecond: number;
  medianMs?: number;
  slowMs?: number;
}

export interface Figures {
  perSecond: number;
  medianMs?: number;
  slowMs?: number;
  /** The share of checks that were answered from the graph cache without a read; undefined if there were none. */
  cacheHits?: number;
  statementsPerSecond: number;
  errorsPerSecond: number;
  refusedPerSecond: number;
  cachedWarrants: number;
  running: number;
  waiting: number;
  routes: RouteFigures[];
}

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export async function readMetrics(signal: AbortSignal): Promise<Reading> {
  const text = await (await send("metrics", { accept: "text/plain", signal })).text();
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const found = LINE.exec(line);
    if (!found) continue;
    const labels = Object.fromEntries([...(found[2] ?? "").matchAll(LABEL)].map((one) => [one[1] ?? "", one[2] ?? ""]));
    samples.push({ name: found[1] ?? "", labels, value: Number(found[3]) });
  }
  return { at: performance.now() / 1000, samples };
}

/** Returns what happened between two readings, and what is the case at the second one. */
export function compareReadings(before: Reading, after: Reading): Figures {
  const seconds = Math.max(after.at - before.at, 0.001);
  const grown = subtract(before, after);
  const rate = (name: string) => sum(grown, name) / seconds;
  const hits = sum(grown, "magistrate_graph_hits_total");
  const checks = hits + sum(grown, "magistrate_graph_misses_total") + sum(grown, "magistrate_graph_given_up_total");
  const failed = grown.filter((one) => one.name === "magistrate_requests_total" && /^5/.test(one.labels.status ?? ""));
  const names = new Set(grown.filter((one) => one.name === "magistrate_requests_total").map(nameRoute));
  const routes = [...names].map((route) => {
    const own = grown.filter((one) => nameRoute(one) === route);
    return { route, perSecond: sum(own, "magistrate_requests_total") / seconds, ...findLatency(own) };
  });
  return {
    perSecond: rate("magistrate_requests_total"),
    ...findLatency(grown),
    cacheHits: checks > 0 ? hits / checks : undefined,
    statementsPerSecond: rate("magistrate_statements_total"),
    errorsPerSecond: failed.reduce((total, one) => total + one.value, 0) / seconds,
    refusedPerSecond: rate("magistrate_requests_shed_total"),
    cachedWarrants: sum(after.samples, "magistrate_graph_warrants"),
    running: sum(after.samples, "magistrate_requests_running"),
    waiting: sum(after.samples, "magistrate_requests_waiting"),
    routes: routes.filter((one) => one.perSecond > 0).sort((one, other) => other.perSecond - one.perSecond),
  };
}

function nameRoute(sample: Sample): string {
  return `${sample.labels.method ?? ""} ${sample.labels.route || "other paths"}`;
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

/** Returns the bounds in milliseconds that half, and 99 of 100, of the requests stayed below. */
function findLatency(grown: Sample[]): { medianMs?: number; slowMs?: number } {
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
  return { medianMs: find(0.5), slowMs: find(0.99) };
}
