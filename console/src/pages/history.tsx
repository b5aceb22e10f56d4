import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, onlyTypes, read } from "../api";
import { openTimeline } from "../events";
import { useLoaded } from "../loading";
import { showTime, writeSubject } from "../names";
import { AccessRows, type AccessChange } from "../parts/effect";
import { Icon } from "../parts/icons";
import { ObjectLink, SubjectLink } from "../parts/names";
import { Busy, Empty, Fault } from "../parts/notice";
import { adjust, asOf, link, route } from "../route";
import type { Page } from "../schema";
import { isAccess, VERBS, type ChangeEvent, type Revision } from "../timeline";

const PAGE_SIZE = 25;
const SHOWN_EVENTS = 3;
const DIFFERENCE_SIZE = 50;

export function HistoryPage() {
  const type = route.value.parameters.type ?? onlyTypes.value?.[0];
  return (
    <div class="history">
      <h1>History</h1>
      <p class="lead">
        Every change of the model, the objects and the warrants, with who made it. Open one to see who gained and who lost
        access.
      </p>
      {onlyTypes.value && <TypeChoice types={onlyTypes.value} type={type} />}
      <Changes type={type} key={type} />
    </div>
  );
}

/** Lets those choose a type whose key is limited to some: it reads the events of one at a time. */
function TypeChoice({ types, type }: { types: string[]; type: string | undefined }) {
  return (
    <div class="filters">
      <div class="field">
        <label for="type">Type</label>
        <select id="type" value={type} onChange={(event) => adjust({ type: event.currentTarget.value })}>
          {types.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}

function Changes({ type }: { type: string | undefined }) {
  const timeline = useRef(openTimeline(type));
  const [revisions, setRevisions] = useState<Revision[]>();
  const [hasMore, setMore] = useState(false);
  const [fault, setFault] = useState<Refused>();
  const [wanted, setWanted] = useState(1);

  useEffect(() => {
    const aborter = new AbortController();
    timeline.current.readMore(PAGE_SIZE, aborter.signal).then(
      (found) => {
        if (aborter.signal.aborted) return;
        setRevisions(found.revisions);
        setMore(found.hasMore);
      },
      (refused: unknown) => {
        if (aborter.signal.aborted) return;
        if (!(refused instanceof Refused)) throw refused;
        setFault(refused);
      },
    );
    return () => aborter.abort();
  }, [wanted]);

  return (
    <>
      {fault && <Fault fault={fault} />}
      {!revisions && !fault && <Busy what="Reading changes" />}
      {revisions?.length === 0 && (
        <Empty title="Nothing has been changed yet.">
          <p>What you write is listed here, as long as events are kept.</p>
        </Empty>
      )}
      <ol class="timeline">
        {revisions?.map((revision) => (
          <RevisionPart key={revision.token} revision={revision} />
        ))}
      </ol>
      {hasMore && (
        <button type="button" class="quiet" onClick={() => setWanted((count) => count + 1)}>
          Earlier changes
        </button>
      )}
    </>
  );
}

function RevisionPart({ revision }: { revision: Revision }) {
  const [isOpen, setOpen] = useState(false);
  const { token, createdAt, actor } = revision;
  // Warrants first: the objects that are created with them say less.
  const events = [...revision.events.filter(isAccess), ...revision.events.filter((event) => !isAccess(event))];
  return (
    <li aria-current={token === asOf.value ? "time" : undefined}>
      <div class="revision-head">
        <time dateTime={createdAt}>{showTime(createdAt)}</time>
        <span class="actor">{actor ?? "unknown"}</span>
        <a href={link("data", { at: token })}>
          As of that time<span class="sr">, {showTime(createdAt)}</span>
        </a>
      </div>
      <ul class="events">
        {events.slice(0, SHOWN_EVENTS).map((event) => (
          <EventLine key={event.id} event={event} />
        ))}
      </ul>
      {events.length > SHOWN_EVENTS && (
        <details>
          <summary>{events.length - SHOWN_EVENTS} more in this change</summary>
          <ul class="events">
            {events.slice(SHOWN_EVENTS).map((event) => (
              <EventLine key={event.id} event={event} />
            ))}
          </ul>
        </details>
      )}
      {revision.isPartial && <p class="hint">This change has more than the {events.length} events that are read so far.</p>}
      {!onlyTypes.value && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Who gained, who lost</summary>
          {isOpen && <Gained revision={revision} />}
        </details>
      )}
    </li>
  );
}

const SIGNS: Record<string, "plus" | "no" | "model"> = { created: "plus", deleted: "no", updated: "model" };

function EventLine({ event }: { event: ChangeEvent }) {
  const verb = VERBS[event.type];
  const subject = isAccess(event)
    ? {
        objectType: event.subjectType,
        objectId: event.subjectId,
        ...(event.subjectRelation ? { relation: event.subjectRelation } : {}),
      }
    : undefined;
  return (
    <li class={verb}>
      <span class="sign">
        <Icon name={SIGNS[verb] ?? "model"} />
        {verb}
      </span>
      {isAccess(event) && subject ? (
        <span>
          warrant: <SubjectLink subject={subject} /> is <b>{event.relation}</b> of <ObjectLink object={event} />
        </span>
      ) : (
        <ResourceWords event={event} />
      )}
    </li>
  );
}

function ResourceWords({ event }: { event: ChangeEvent }) {
  if (isAccess(event)) return <>{writeSubject({ objectType: event.subjectType, objectId: event.subjectId })}</>;
  if (event.resourceType === "object-type") {
    return (
      <span>
        object type <span class="name">{event.resourceId}</span>
      </span>
    );
  }
  return (
    <span>
      object <ObjectLink object={{ objectType: event.resourceType, objectId: event.resourceId }} />
    </span>
  );
}

function Gained({ revision }: { revision: Revision }) {
  const { before, token } = revision;
  const [rows, setRows] = useState<AccessChange[]>([]);
  const [cursor, setCursor] = useState<string>();
  const loaded = useLoaded(
    before
      ? (signal) => {
          const query = { from: before, to: token, limit: DIFFERENCE_SIZE, nextCursor: cursor };
          return read<Page<AccessChange>>("v2/difference", { query, signal });
        }
      : undefined,
    [before, token, cursor],
  );
  useEffect(() => {
    const found = loaded.value;
    if (found) setRows((present) => [...present, ...found.results]);
  }, [loaded.value]);
  if (revision.isPartial) return <p class="hint">Read earlier changes first: what was before this one is not known yet.</p>;
  if (!before) return <p class="hint">This is the first change that is kept: there is nothing to compare it with.</p>;
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <Busy what="Comparing access" />;
  if (loaded.value.results.length === 0 && rows.length === 0) return <p class="hint">Nobody gained or lost access.</p>;
  return (
    <>
      <AccessRows rows={rows} />
      {loaded.value.nextCursor && (
        <button type="button" class="quiet" disabled={loaded.isLoading} onClick={() => setCursor(loaded.value?.nextCursor)}>
          Show more
        </button>
      )}
    </>
  );
}
