import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { findObstacle, onlyTypes } from "../api";
import { openTimeline } from "../events";
import { useLoaded } from "../loading";
import { showTime } from "../names";
import { adjust, asOf } from "../route";
import { describeRevision, type Revision } from "../timeline";
import * as words from "../words";
import { Icon } from "./icons";

const MOST_REVISIONS = 60;
const PAUSE_MS = 250;

const isOpen = signal(false);

/** Shows whether the pages are about now or the past, and opens the slider. */
export function TimeButton() {
  const isPast = asOf.value !== undefined;
  return (
    <button
      type="button"
      class={isPast ? "tool is-past" : "tool"}
      aria-expanded={isPast || isOpen.value}
      disabled={isPast}
      title={words.time.lookBack}
      onClick={() => (isOpen.value = !isOpen.value)}
    >
      <Icon name="history" />
      <span class="label">{isPast ? words.time.past : words.time.now}</span>
      <span class="sr">{words.time.suffix}</span>
    </button>
  );
}

/** Moves every page to a past point in time, and says so as long as it is not now. */
export function TimeBar() {
  const at = asOf.value;
  if (!at && !isOpen.value) return null;
  return <OpenBar at={at} />;
}

function OpenBar({ at }: { at: string | undefined }) {
  const obstacle = findObstacle({ scope: "events" });
  const loaded = useLoaded(obstacle ? undefined : readPoints, []);
  const points = loaded.value ?? [];
  const present = findPoint(at, points);
  const [moved, setMoved] = useState<number>();
  const shown = moved ?? present;
  const point = points[shown];
  const last = points.length - 1; // it has the state of now
  const isNow = moved === undefined ? !at : moved >= last;
  const said = isNow ? words.time.nowSaid : point ? `${showTime(point.createdAt)}, ${describeRevision(point)}` : sayTime(at ?? "");

  useEffect(() => {
    if (moved === undefined) return undefined;
    const timer = setTimeout(() => {
      moveTo(moved < last ? points[moved]?.token : undefined);
      setMoved(undefined);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [moved]);

  return (
    <section class={at ? words.time.title : "time-bar"} aria-label={words.time.title}>
      <p class="time-said" role="status">
        <Icon name="history" />
        <span>
          {!isNow ? (
            <>
              {words.time.atPast(said)}
            </>
          ) : (
            <>{words.time.atNow}</>
          )}
        </span>
      </p>
      <div class="time-tools">
        {last > 0 && (
          <>
            <button type="button" class="quiet" disabled={shown <= 0} onClick={() => setMoved(shown - 1)}>
              {words.time.earlier}
            </button>
            <input
              type="range"
              aria-label={words.time.slider}
              aria-valuetext={said}
              min={0}
              max={last}
              value={Math.max(shown, 0)}
              onInput={(event) => setMoved(event.currentTarget.valueAsNumber)}
            />
            <button type="button" class="quiet" disabled={shown >= last} onClick={() => setMoved(shown + 1)}>
              {words.time.later}
            </button>
          </>
        )}
        {obstacle && <span class="hint">{words.time.noList(obstacle)}</span>}
        {loaded.fault && <span class="hint">{words.time.notRead(loaded.fault.message)}</span>}
        <TimeField key={at} />
        {at ? (
          <button type="button" class="quiet" onClick={() => moveTo(undefined)}>
            {words.time.backToNow}
          </button>
        ) : (
          <button type="button" class="quiet" onClick={() => (isOpen.value = false)}>
            {words.actions.close}
          </button>
        )}
      </div>
    </section>
  );
}

async function readPoints(aborted: AbortSignal): Promise<Revision[]> {
  return (await openTimeline({ type: onlyTypes.value?.[0] }).readMore(MOST_REVISIONS, aborted)).revisions.reverse();
}

function TimeField() {
  return (
    <input
      type="datetime-local"
      step="1"
      aria-label={words.time.field}
      onChange={(event) => {
        const { value } = event.currentTarget;
        if (value) moveTo(new Date(value).toISOString());
      }}
    />
  );
}

function moveTo(at: string | undefined): void {
  adjust({ at, next: undefined, prev: undefined });
}

function sayTime(at: string): string {
  return at.includes(":") ? showTime(at) : words.time.aRevision;
}

/** Returns the place of the newest of these revisions that was reached by then: the last one for now, -1 if it was before
 * all of them, or if it is not known. */
function findPoint(at: string | undefined, points: Revision[]): number {
  if (at === undefined) return points.length - 1;
  const place = points.findIndex((point) => point.token === at);
  if (place >= 0 || !at.includes(":")) return place;
  const time = Date.parse(at);
  return points.findLastIndex((point) => Date.parse(point.createdAt) <= time);
}
