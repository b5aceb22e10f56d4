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

const DRAWN_EVERY_MS = 200;
const ANNOUNCED_EVERY_MS = 5_000;

const CHANGES = { path: "v2/watch", fields: { objectType: "Object types", relation: "Relations", subjectType: "Types of subjects" } };
const ACCESS = { path: "v2/watch/access", fields: { of: "Access" } };

/** Shows what is written as it is written, or who gains and loses the access that `of` selects. */
export function LivePage() {
  const { parameters } = route.value;
  const isOfAccess = parameters.show === "access";
  const filter = isOfAccess ? readAccessFilter(parameters) : readChangeFilter(parameters);
  return (
    <div class="live">
      <div class="heading">
        <h1>Live</h1>
        <HistoryTabs />
      </div>
      {asOf.value ? (
        <Empty title="The past does not change.">
          <p>This page shows what is written from now on. Go back to now to see it.</p>
        </Empty>
      ) : (
        <>
          <StreamFilters key={String(isOfAccess)} isOfAccess={isOfAccess} />
          {filter ? (
            <Stream key={JSON.stringify([isOfAccess, filter])} isOfAccess={isOfAccess} filter={filter} />
          ) : (
            <Empty title="Which access?">
              <p>
                Write a type, a relation and a type of subjects, such as <code>document#viewer@user</code>. Whoever gains or loses
                this access is listed here, with the cause.
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
        <label for="live-show">Show</label>
        <select
          id="live-show"
          value={isOfAccess ? "access" : "changes"}
          onChange={(event) => adjust({ show: event.currentTarget.value === "access" ? "access" : undefined })}
        >
          <option value="changes">what is written</option>
          <option value="access">who gains and loses access</option>
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
            placeholder={isOfAccess ? "document#viewer@user" : "all"}
            value={fields[name] ?? ""}
            onInput={(event) => set(name)(event.currentTarget.value)}
          />
        </div>
      ))}
      {isOfAccess && (
        <>
          <CompletedField label="Subject" value={fields.subject ?? ""} placeholder="all" complete={completeSubject} onInput={set("subject")} />
          <CompletedField label="Object" value={fields.object ?? ""} placeholder="all" complete={completeObject} onInput={set("object")} />
        </>
      )}
      <button type="submit" class="quiet">
        Filter
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
          {isPaused ? "Continue" : "Pause"}
        </button>
        <button type="button" class="quiet" disabled={entries.length === 0} onClick={clear}>
          Clear
        </button>
        {state.is === "waiting" && !isPaused && (
          <button type="button" class="quiet" onClick={retry}>
            Connect now
          </button>
        )}
      </div>
      {state.is === "stopped" && <Fault fault={state.fault} retry={retry} />}
      <p class="sr" role="status">
        {said}
      </p>
      {entries.length === 0 && state.is === "connected" && !isPaused && (
        <Empty title="Nothing has happened yet.">
          <p>What is written from now on is listed here, {MOST_ENTRIES} entries at most.</p>
        </Empty>
      )}
      <ol class="timeline" aria-label={isOfAccess ? "Access gained and lost" : "Changes"}>
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
        <Mark tone="unknown">Paused</Mark> <span class="hint">It goes on with what follows the first entry.</span>
      </>
    );
  }
  if (state.is === "connected") return <Mark tone="yes">Connected</Mark>;
  if (state.is === "connecting") return <Mark tone="unknown">Connecting</Mark>;
  return (
    <>
      <Mark tone="no">Not connected</Mark>{" "}
      {state.is === "waiting" && (
        <span class="hint">
          {state.fault?.message ?? "The connection was cut."} It is tried again {state.seconds === 1 ? "at once" : `in ${state.seconds} s`}.
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
      const words = "Changes before this are missing: they are not kept any more, or the store was restored.";
      add({ kind: "gap", id: `gap-${gaps}`, time: new Date().toISOString(), words });
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
