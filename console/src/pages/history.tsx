import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, onlyTypes } from "../api";
import { completeObject } from "../completion";
import { openTimeline } from "../events";
import { readObject } from "../names";
import { CompletedField } from "../parts/field";
import { Filters } from "../parts/filters";
import { HistoryTabs } from "../parts/history_tabs";
import { Busy, Empty, Fault, Notice } from "../parts/notice";
import { RevisionPart } from "../parts/revision";
import { Time } from "../parts/time";
import { adjust, link, route } from "../route";
import { listTypes } from "../schema";
import { microsecondsOf, type Revision, type TimelineFilter } from "../timeline";
import * as words from "../words";

const PAGE_SIZE = 25;
/** How many changes are looked at for those of one actor before people say to go on. */
const MOST_SEARCHED = 500;

export function HistoryPage() {
  const { type = onlyTypes.value?.[0], object = "", actor = "", until } = route.value.parameters;
  const [done, setDone] = useState({ message: "", count: 0 });
  const named = readObject(object);
  const filter: TimelineFilter = {
    ...(named ? { object: named } : { type }),
    ...(until ? { until: lastMicrosecond(until) } : {}),
  };
  return (
    <div class="history">
      <div class="heading">
        <h1>{words.pages.history}</h1>
        <HistoryTabs />
      </div>
      <p class="lead">
        {words.history.purpose}
      </p>
      <HistoryFilters type={type} object={object} actor={actor} until={until} />
      {done.message && (
        <Notice>
          <p>{done.message}</p>
        </Notice>
      )}
      <Changes
        key={JSON.stringify([filter, actor, done.count])}
        filter={filter}
        actor={actor}
        onDone={(message) => setDone(({ count }) => ({ message, count: count + 1 }))}
      />
    </div>
  );
}

/** Returns the end of what a time stands for: a link has it to the microsecond, a field to the second. */
function lastMicrosecond(text: string): number {
  return text.endsWith("Z") ? microsecondsOf({ createdAt: text }) : Date.parse(text) * 1000 + 999_999;
}

interface FilterProperties {
  type: string | undefined;
  object: string;
  actor: string;
  until: string | undefined;
}

function HistoryFilters({ type, object, actor, until }: FilterProperties) {
  const [given, setGiven] = useState(object);
  useEffect(() => setGiven(object), [object]);
  const types = onlyTypes.value ?? listTypes();
  const isFiltered = Boolean((type && !onlyTypes.value) || object || actor || until);
  const set = (name: string, value: string) => adjust({ [name]: value.trim() || undefined, moment: undefined });
  return (
    <Filters
      count={[onlyTypes.value ? "" : type, object, actor, until].filter(Boolean).length}
      onSubmit={() => set("object", given)}
    >
      <div class="field">
        <label for="type">{words.terms.type}</label>
        <select id="type" value={object ? "" : (type ?? "")} disabled={object !== ""} onChange={(event) => set("type", event.currentTarget.value)}>
          {!onlyTypes.value && <option value="">{words.terms.all}</option>}
          {types.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </div>
      {!onlyTypes.value && (
        <CompletedField
          label={words.terms.object}
          placeholder={words.terms.any}
          value={given}
          complete={completeObject}
          onInput={(text) => {
            setGiven(text);
            if (text === "") set("object", "");
          }}
          onChoose={(text) => set("object", text)}
        />
      )}
      <div class="field">
        <label for="actor">{words.history.madeBy}</label>
        <input
          id="actor"
          type="search"
          class="code"
          placeholder={words.history.anybody}
          value={actor}
          onChange={(event) => set("actor", event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for="until">{words.history.until}</label>
        <input
          id="until"
          type="datetime-local"
          step="1"
          value={until ? writeLocal(until) : ""}
          onChange={(event) => set("until", event.currentTarget.value)}
        />
      </div>
      <button type="submit" class="quiet">
        {words.actions.filter}
      </button>
      {isFiltered && (
        <a class="quiet-link" href={link("history")}>
          {words.history.allChanges}
        </a>
      )}
    </Filters>
  );
}

/** Returns a time as its field has it: of this place, without a zone. */
function writeLocal(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

interface ChangesProperties {
  filter: TimelineFilter;
  actor: string;
  onDone: (message: string) => void;
}

interface Found {
  revisions: Revision[];
  hasMore: boolean;
  /** When the last change was made that was looked at. */
  searchedTo: string | undefined;
}

function Changes({ filter, actor, onDone }: ChangesProperties) {
  const timeline = useRef(openTimeline(filter));
  const [found, setFound] = useState<Found>();
  const [fault, setFault] = useState<Refused>();
  const [wanted, setWanted] = useState(1);

  async function readMore(signal: AbortSignal): Promise<Found> {
    let searched = 0;
    for (;;) {
      const { revisions, hasMore } = await timeline.current.readMore(PAGE_SIZE, signal);
      searched += PAGE_SIZE;
      const matching = revisions.filter((one) => !actor || (one.actor ?? "unknown").includes(actor));
      if (!hasMore || matching.length >= wanted * PAGE_SIZE || searched >= MOST_SEARCHED || !actor) {
        return { revisions: matching, hasMore, searchedTo: revisions.at(-1)?.createdAt };
      }
    }
  }

  useEffect(() => {
    const aborter = new AbortController();
    readMore(aborter.signal).then(
      (more) => !aborter.signal.aborted && setFound(more),
      (refused: unknown) => {
        if (aborter.signal.aborted) return;
        if (!(refused instanceof Refused)) throw refused;
        setFault(refused);
      },
    );
    return () => aborter.abort();
  }, [wanted]);

  const isFiltered = Boolean(filter.type || filter.object || filter.until || actor);
  return (
    <>
      {fault && <Fault fault={fault} />}
      {!found && !fault && <Busy what={words.history.reading} />}
      {found?.revisions.length === 0 && (
        <Empty title={isFiltered ? words.history.noChange : words.history.noChanges}>
          <p>
            {isFiltered ? words.history.noChangeAdvice : words.history.noChangesAdvice}
          </p>
        </Empty>
      )}
      <ol class="timeline">
        {found?.revisions.map((revision) => (
          <RevisionPart
            key={revision.token}
            revision={revision}
            isComplete={!filter.type && !filter.object}
            onDone={onDone}
          />
        ))}
      </ol>
      {found?.hasMore && (
        <div class="actions">
          <button type="button" class="quiet" onClick={() => setWanted((count) => count + 1)}>
            {words.history.earlier}
          </button>
          {actor && found.searchedTo && (
            <span class="hint">
              {words.history.searched(<Time time={found.searchedTo} isExact />)}
            </span>
          )}
        </div>
      )}
    </>
  );
}
