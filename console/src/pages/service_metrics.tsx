import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Refused, send } from "../api";
import { compareReadings, readSamples, type Figures, type Reading } from "../metrics";
import { Busy, Fault } from "../parts/notice";
import { Table } from "../parts/table";
import * as words from "../words";

const EVERY_MS = 2000;
const SHOWN_POINTS = 60;
const SHOWN_ROUTES = 50;

/** Shows the requests, their latency and the cache of the service, as they are now and in the last two minutes. */
export function LiveMetrics() {
  const [figures, setFigures] = useState<Figures[]>([]);
  const [fault, setFault] = useState<Refused>();
  const [isPaused, setPaused] = useState(false);

  useEffect(() => {
    if (isPaused || fault) return undefined;
    const aborter = new AbortController();
    let before: Reading | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      readMetrics(aborter.signal).then(
        (after) => {
          if (aborter.signal.aborted) return;
          const compared = compareReadings(before, after);
          setFigures((present) => [...present.filter(isRate), compared].slice(-SHOWN_POINTS));
          before = after;
          timer = setTimeout(look, EVERY_MS);
        },
        (refused: unknown) => {
          if (aborter.signal.aborted) return;
          if (!(refused instanceof Refused)) throw refused;
          setFault(refused);
        },
      );
    };
    look();
    return () => {
      aborter.abort();
      clearTimeout(timer);
    };
  }, [isPaused, fault]);

  if (fault) return <Fault fault={fault} retry={() => setFault(undefined)} />;
  const now = figures.at(-1);
  if (!now) return <Busy what={words.metrics.reading} />;
  return (
    <>
      <div class="actions">
        <button type="button" class="quiet" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? words.actions.continue : words.actions.pause}
        </button>
        <span class="hint" role="status">
          {isRate(now)
            ? words.metrics.everyTwoSeconds
            : words.metrics.sinceStart}
        </span>
      </div>
      <dl class="figures">
        <Figure title={words.metrics.requests} value={show(now.perSecond)} points={figures.map((one) => one.perSecond ?? 0)}>
          {words.metrics.inAll(now.total)}
        </Figure>
        <Figure title={words.metrics.p50} value={showMs(now.p50Ms)} points={figures.map((one) => one.p50Ms ?? 0)} />
        <Figure title={words.metrics.p99} value={showMs(now.p99Ms)} points={figures.map((one) => one.p99Ms ?? 0)} />
        <Figure
          title={words.metrics.cacheHits}
          value={now.cacheHits === undefined ? words.metrics.noChecks : `${Math.round(now.cacheHits * 100)} %`}
          points={figures.map((one) => one.cacheHits ?? 0)}
        />
        <Figure title={words.metrics.cacheEntries} value={now.cachedEntries.toLocaleString()} />
        <Figure title={words.metrics.statements} value={show(now.statementsPerSecond)} />
        <Figure title={words.metrics.errors} value={show(now.errorsPerSecond)} />
        <Figure title={words.metrics.refused} value={show(now.refusedPerSecond)}>
          {words.metrics.waiting(now.running, now.waiting)}
        </Figure>
      </dl>
      <Routes now={now} />
    </>
  );
}

/** Returns whether these are of the last two seconds: the first ones are since the service was started. */
function isRate(figures: Figures): boolean {
  return figures.perSecond !== undefined;
}

interface FigureProperties {
  title: string;
  value: string;
  points?: number[];
  children?: ComponentChildren;
}

function Figure({ title, value, points, children }: FigureProperties) {
  return (
    <div class="card figure">
      <dt>{title}</dt>
      <dd>{value}</dd>
      {children && <dd class="hint">{children}</dd>}
      {points && <Line points={points} />}
    </div>
  );
}

/** Draws the course of a figure; its text is beside it. */
function Line({ points }: { points: number[] }) {
  const finite = points.map((one) => (Number.isFinite(one) ? one : 0));
  const most = Math.max(...finite, 1e-9);
  const step = 120 / (SHOWN_POINTS - 1);
  const start = 120 - (finite.length - 1) * step;
  const path = finite.map((one, place) => `${(start + place * step).toFixed(1)},${(27 - (25 * one) / most).toFixed(1)}`);
  return (
    <svg class="line" viewBox="0 0 120 28" preserveAspectRatio="none" aria-hidden="true">
      <polyline points={path.join(" ")} />
    </svg>
  );
}

/** Shows the routes with the most requests. */
function Routes({ now }: { now: Figures }) {
  return (
    <Table label={words.metrics.routes} headings={[words.metrics.route, words.metrics.requestsOfRoute, words.metrics.aSecond, words.metrics.p50, words.metrics.p99]}>
      {now.routes.slice(0, SHOWN_ROUTES).map((one) => (
        <tr key={one.route}>
          <td class="name">{one.route}</td>
          <td>{one.total.toLocaleString()}</td>
          <td>{show(one.perSecond)}</td>
          <td>{showMs(one.p50Ms)}</td>
          <td>{showMs(one.p99Ms)}</td>
        </tr>
      ))}
    </Table>
  );
}

async function readMetrics(signal: AbortSignal): Promise<Reading> {
  const text = await (await send("metrics", { accept: "text/plain", signal })).text();
  return readSamples(text, performance.now() / 1000);
}

function show(value: number | undefined): string {
  if (value === undefined) return "–";
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1);
}

function showMs(value: number | undefined): string {
  if (value === undefined) return "–";
  return Number.isFinite(value) ? words.metrics.milliseconds(Number(value.toPrecision(3))) : words.metrics.tooLong;
}
