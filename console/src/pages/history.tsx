import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, onlyTypes } from "../api";
import { openTimeline } from "../events";
import { showTime } from "../names";
import { ChangeLines } from "../parts/change_line";
import { Gained } from "../parts/gained";
import { HistoryTabs } from "../parts/history_tabs";
import { Busy, Empty, Fault } from "../parts/notice";
import { adjust, asOf, link, route } from "../route";
import { isAccess, toChange, type Revision } from "../timeline";

const PAGE_SIZE = 25;

export function HistoryPage() {
  const type = route.value.parameters.type ?? onlyTypes.value?.[0];
  return (
    <div class="history">
      <div class="heading">
        <h1>History</h1>
        <HistoryTabs />
      </div>
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
      <ChangeLines changes={events.map(toChange)} />
      {revision.isPartial && <p class="hint">This change has more than the {events.length} events that are read so far.</p>}
      {!onlyTypes.value && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Who gained, who lost</summary>
          {isOpen && <GainedIn revision={revision} />}
        </details>
      )}
    </li>
  );
}

function GainedIn({ revision: { before, token, isPartial } }: { revision: Revision }) {
  if (isPartial) return <p class="hint">Read earlier changes first: what was before this one is not known yet.</p>;
  if (!before) return <p class="hint">This is the first change that is kept: there is nothing to compare it with.</p>;
  return <Gained before={before} token={token} />;
}
