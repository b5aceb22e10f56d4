import { useEffect, useRef, useState } from "preact/hooks";
import { onlyTypes, type Query } from "../api";
import { completeObject, completeSubject } from "../completion";
import { makeStream } from "../events";
import { addEntries, announceEntries, MOST_ENTRIES, readEntry, type LiveEntry } from "../live";
import { CompletedField } from "../parts/field";
import { Filters } from "../parts/filters";
import { HistoryTabs } from "../parts/history_tabs";
import { Mark } from "../parts/icons";
import { LiveEntryPart } from "../parts/live_entry";
import { Empty, Fault } from "../parts/notice";
import { adjust, asOf, route } from "../route";
import type { EventStream, StreamEvent, StreamState } from "../stream";
import * as words from "../words";

const DRAWN_EVERY_MS = 200;
const ANNOUNCED_EVERY_MS = 5_000;

const CHANGES = { path: "v2/watch", fields: { objectType: words.terms.objectTypes, relation: words.terms.relations, subjectType: words.terms.subjectTypes } };
const ACCESS = { path: "v2/watch/access", fields: { of: words.terms.access } };

/** Shows what is written as it is written, or who gains and loses the access that `of` selects. */
export function LivePage() {
  const { parameters } = route.value;
  const isOfAccess = parameters.show === "access";
  const filter = isOfAccess ? readAccessFilter(parameters) : readChangeFilter(parameters);
  return (
    <div class="live">
      <div class="heading">
        <h1>{words.pages.live}</h1>
        <HistoryTabs />
      </div>
      {asOf.value ? (
        <Empty title={words.live.noPast}>
          <p>{words.live.noPastAdvice}</p>
        </Empty>
      ) : (
        <>
          <StreamFilters key={String(isOfAccess)} isOfAccess={isOfAccess} />
          {filter ? (
            <Stream key={JSON.stringify([isOfAccess, filter])} isOfAccess={isOfAccess} filter={filter} />
          ) : (
            <Empty title={words.live.whichAccess}>
              <p>
                {words.live.whichAccessAdvice}
              </p>
            </Empty>
          )}
        </>
      )}
    </div>
  );
}

/** A key that is limited to types has to name them. */
function readChangeFilter({ objectType, relation, subjectType }: Record<string, string>): Query {
  const types = split(objectType);
  return {
    objectType: types.length > 0 ? types : (onlyTypes.value ?? []),
    relation: split(relation),
    subjectType: split(subjectType),
  };
}

function readAccessFilter({ of, subject, object }: Record<string, string>): Query | undefined {
  const patterns = split(of);
  return patterns.length > 0 ? { of: patterns.join(","), subject, object } : undefined;
}

function split(text = ""): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

function StreamFilters({ isOfAccess }: { isOfAccess: boolean }) {
  const { parameters } = route.value;
  const [fields, setFields] = useState<Record<string, string>>(parameters);
  const shown = isOfAccess ? ACCESS.fields : CHANGES.fields;
  const set = (name: string) => (value: string) => setFields({ ...fields, [name]: value });
  return (
    <Filters
      count={Object.keys(shown).filter((name) => parameters[name]).length}
      onSubmit={() => adjust({ ...fields, show: parameters.show })}
    >
      <div class="field">
        <label for="live-show">{words.live.show}</label>
        <select
          id="live-show"
          value={isOfAccess ? "access" : "changes"}
          onChange={(event) => adjust({ show: event.currentTarget.value === "access" ? "access" : undefined })}
        >
          <option value="changes">{words.live.written}</option>
          <option value="access">{words.live.access}</option>
        </select>
      </div>
      {Object.entries(shown).map(([name, label]) => (
        <div class="field" key={name}>
          <label for={`live-${name}`}>{label}</label>
          <input
            id={`live-${name}`}
            type="text"
            spellcheck={false}
            required={isOfAccess}
            placeholder={isOfAccess ? words.examples.access : words.terms.all}
            value={fields[name] ?? ""}
            onInput={(event) => set(name)(event.currentTarget.value)}
          />
        </div>
      ))}
      {isOfAccess && (
        <>
          <CompletedField label={words.terms.subject} value={fields.subject ?? ""} placeholder={words.terms.all} complete={completeSubject} onInput={set("subject")} />
          <CompletedField label={words.terms.object} value={fields.object ?? ""} placeholder={words.terms.all} complete={completeObject} onInput={set("object")} />
        </>
      )}
      <button type="submit" class="quiet">
        {words.actions.filter}
      </button>
    </Filters>
  );
}

interface StreamProperties {
  isOfAccess: boolean;
  filter: Query;
}

function Stream({ isOfAccess, filter }: StreamProperties) {
  const { state, entries, isPaused, setPaused, retry, clear } = useStream(isOfAccess ? ACCESS.path : CHANGES.path, filter);
  const said = useAnnouncement(entries);
  return (
    <>
      <div class="actions">
        <div role="status">
          <Connection state={state} isPaused={isPaused} />
        </div>
        <button type="button" class="quiet" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? words.actions.continue : words.actions.pause}
        </button>
        <button type="button" class="quiet" disabled={entries.length === 0} onClick={clear}>
          {words.actions.clear}
        </button>
        {state.is === "waiting" && !isPaused && (
          <button type="button" class="quiet" onClick={retry}>
            {words.live.connectNow}
          </button>
        )}
      </div>
      {state.is === "stopped" && <Fault fault={state.fault} retry={retry} />}
      <p class="sr" role="status">
        {said}
      </p>
      {entries.length === 0 && state.is === "connected" && !isPaused && (
        <Empty title={words.live.nothing}>
          <p>{words.live.nothingAdvice(MOST_ENTRIES)}</p>
        </Empty>
      )}
      <ol class="timeline" aria-label={isOfAccess ? words.live.accessTitle : words.history.changes}>
        {entries.map((entry) => (
          <LiveEntryPart key={entry.id} entry={entry} />
        ))}
      </ol>
    </>
  );
}

function Connection({ state, isPaused }: { state: StreamState; isPaused: boolean }) {
  if (isPaused) {
    return (
      <>
        <Mark tone="unknown">{words.live.paused}</Mark> <span class="hint">{words.live.pausedAdvice}</span>
      </>
    );
  }
  if (state.is === "connected") return <Mark tone="yes">{words.live.connected}</Mark>;
  if (state.is === "connecting") return <Mark tone="unknown">{words.live.connecting}</Mark>;
  return (
    <>
      <Mark tone="no">{words.live.notConnected}</Mark>{" "}
      {state.is === "waiting" && (
        <span class="hint">
          {words.live.retry(state.fault?.message ?? words.live.wasCut, state.seconds)}
        </span>
      )}
    </>
  );
}

/** Follows a stream as long as the page is shown. Many events are drawn at once. */
function useStream(path: string, filter: Query) {
  const [state, setState] = useState<StreamState>({ is: "connecting" });
  const [entries, setEntries] = useState<LiveEntry[]>([]);
  const [isPaused, setPaused] = useState(false);
  const stream = useRef<EventStream | null>(null);

  useEffect(() => {
    const isWhole = Object.values(filter).flat().filter(Boolean).length === 0;
    const newer: LiveEntry[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let before: string | undefined;
    let gaps = 0;
    const draw = () => {
      timer = undefined;
      const read = newer.splice(0);
      setEntries((present) => addEntries(present, read));
    };
    const add = (entry: LiveEntry) => {
      newer.push(entry);
      if (newer.length > MOST_ENTRIES) newer.shift();
      timer ??= setTimeout(draw, DRAWN_EVERY_MS);
    };
    const onEvent = (event: StreamEvent) => {
      const entry = readEntry(event, before);
      if (isWhole) before = String(event.data.token); // filtered, what is between two events is not known
      if (entry) add(entry);
    };
    const onGap = () => {
      gaps += 1;
      before = undefined;
      add({ kind: "gap", id: `gap-${gaps}`, time: new Date().toISOString(), words: words.live.missing });
    };
    stream.current = makeStream(path, filter, { onState: setState, onEvent, onGap });
    return () => clearTimeout(timer);
  }, []);

  useEffect(() => {
    if (!isPaused) stream.current?.start();
    return () => stream.current?.stop();
  }, [isPaused]);

  return { state, entries, isPaused, setPaused, retry: () => stream.current?.start(), clear: () => setEntries([]) };
}

/** Returns what a screen reader says of new entries: at most once in a while, however many there are. */
function useAnnouncement(entries: LiveEntry[]): string {
  const [said, setSaid] = useState("");
  const last = useRef<string | undefined>(undefined);
  const quietUntil = useRef(0);
  useEffect(() => {
    const known = entries.findIndex((entry) => entry.id === last.current);
    const newer = known < 0 ? entries : entries.slice(0, known);
    if (newer.length === 0) return undefined;
    const timer = setTimeout(() => {
      last.current = entries[0]?.id;
      quietUntil.current = Date.now() + ANNOUNCED_EVERY_MS;
      setSaid(announceEntries(newer.toReversed()));
    }, Math.max(0, quietUntil.current - Date.now()));
    return () => clearTimeout(timer);
  }, [entries]);
  return said;
}
