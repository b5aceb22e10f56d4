import { useState } from "preact/hooks";
import type { AccessEntry, AccessRow, Cause, CauseRow, LiveEntry, RevisionEntry } from "../live";
import { showMoment, writeObject, writeSubject } from "../names";
import { showDistinctRelation } from "../openfga_names";
import { link } from "../route";
import * as words from "../words";
import { ChangeLines } from "./change_line";
import { Gained } from "./gained";
import { Icon } from "./icons";
import { ObjectLink, SubjectLink, WarrantWords } from "./names";

const SHOWN_CAUSES = 2;

/** Shows something that has just happened. */
export function LiveEntryPart({ entry }: { entry: LiveEntry }) {
  if (entry.kind === "gap") {
    return (
      <li>
        <div class="revision-head">
          <time dateTime={entry.time}>{showMoment(entry.time)}</time>
        </div>
        <p>
          {words.live.seePast(entry.words, link("history"))}
        </p>
      </li>
    );
  }
  return (
    <li>
      <div class="revision-head">
        <time dateTime={entry.time}>{showMoment(entry.time)}</time>
        {entry.kind === "revision" && <span class="actor">{entry.actor ?? words.terms.unknown}</span>}
        <a href={link("data", { at: entry.kind === "revision" ? entry.token : entry.at })}>
          {words.history.asOf(showMoment(entry.time))}
        </a>
      </div>
      {entry.kind === "revision" ? <Revision entry={entry} /> : <Access entry={entry} />}
    </li>
  );
}

function Revision({ entry: { before, token, changes, count } }: { entry: RevisionEntry }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <ChangeLines changes={changes} count={count} />
      {before && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{words.history.whoGained}</summary>
          {isOpen && <Gained before={before} token={token} />}
        </details>
      )}
    </>
  );
}

function Access({ entry: { rows, count, at } }: { entry: AccessEntry }) {
  return (
    <>
      <ul class="access">
        {rows.map((row, place) => (
          <AccessLine key={place} row={row} at={at} />
        ))}
      </ul>
      {count > rows.length && <p class="hint">{words.history.notListed(count - rows.length)}</p>}
    </>
  );
}

function AccessLine({ row, at }: { row: AccessRow; at: string }) {
  const check = { subject: writeSubject(row.subject), relation: row.relation, object: writeObject(row) };
  const isWildcard = row.objectId === "*" || row.subject.objectId === "*";
  return (
    <li class={row.isGained ? "gained" : "lost"}>
      <span class="sign">
        <Icon name={row.isGained ? "plus" : "no"} />
        {row.isGained ? words.verbs.gained : words.verbs.lost}
      </span>
      <div>
        {words.effects.row(
          <SubjectLink subject={row.subject} />,
          showDistinctRelation(row.relation),
          <ObjectLink object={row} />,
          row.conditional ?? false,
        )}{" "}
        {!isWildcard && (
          <a href={link("why", { ...check, at })}>
            {words.tables.why(Object.values(check).join(" "))}
          </a>
        )}
        {row.cause && <CauseWords cause={row.cause} />}
      </div>
    </li>
  );
}

/** Says which warrants, objects and types changed the access. */
function CauseWords({ cause: { created, deleted, objectTypes } }: { cause: Cause }) {
  const causes = [
    ...created.map((row) => ({ row, verb: words.live.wasCreated })),
    ...deleted.map((row) => ({ row, verb: words.live.wasDeleted })),
  ];
  return (
    <div class="hint">
      {causes.slice(0, SHOWN_CAUSES).map(({ row, verb }, place) => (
        <div key={place}>
          {words.live.because(<CauseName row={row} />, verb)}
        </div>
      ))}
      {objectTypes.length > 0 && <div>{words.live.typesChanged(objectTypes)}</div>}
      {causes.length > SHOWN_CAUSES && <div>{words.live.moreCauses(causes.length - SHOWN_CAUSES)}</div>}
    </div>
  );
}

function CauseName({ row }: { row: CauseRow }) {
  return "relation" in row ? <WarrantWords warrant={row} /> : <ObjectLink object={row} />;
}
