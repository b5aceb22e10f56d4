import { read } from "../api";
import type { Proposal } from "../explanation";
import { useLoaded } from "../loading";
import { writeObject, writeSubject, type ObjectName, type Subject } from "../names";
import { showDistinctRelation, showObject, showSubject } from "../openfga_names";
import type { Page } from "../schema";
import * as words from "../words";
import { useHold } from "./confirm";
import { Icon } from "./icons";
import { Busy, Fault } from "./notice";

export interface AccessChange extends ObjectName {
  change: "gained" | "lost";
  relation: string;
  subject: Subject;
  conditional?: boolean;
}

const MOST_ROWS = 25;
const SHOWN_ROWS = 5;

export function loadEffect(proposal: Proposal, signal: AbortSignal): Promise<Page<AccessChange>> {
  return read<Page<AccessChange>>("v2/difference", { body: { proposal, limit: MOST_ROWS }, signal });
}

/** Shows what access a proposal would change, besides the check that it is about. */
export function Effect({ proposal, suggestedFor }: { proposal: Proposal; suggestedFor?: string }) {
  const loaded = useLoaded((signal) => loadEffect(proposal, signal), [JSON.stringify(proposal)]);
  useHold(loaded.isLoading);
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <Busy what={words.effects.comparing} />;
  const rows = loaded.value.results.filter((row) => writeAccess(row) !== suggestedFor);
  return <AccessChanges rows={rows} hasMore={loaded.value.nextCursor !== undefined} isBesides={suggestedFor !== undefined} />;
}

export function writeAccess(row: AccessChange): string {
  return `${writeObject(row)}#${row.relation}@${writeSubject(row.subject)}`;
}

interface Properties {
  rows: AccessChange[];
  hasMore: boolean;
  isBesides?: boolean;
}

export function AccessChanges({ rows, hasMore, isBesides = false }: Properties) {
  if (rows.length === 0) {
    return <p class="effect-title">{isBesides ? words.effects.nothingElse : words.effects.noAccess}</p>;
  }
  return (
    <div class="effect">
      <p class="effect-title">
        {words.effects.title(rows.length, hasMore, isBesides)}
      </p>
      <AccessRows rows={rows.slice(0, SHOWN_ROWS)} />
      {rows.length > SHOWN_ROWS && (
        <details>
          <summary>{hasMore ? words.actions.showMore : words.why.showMore(rows.length - SHOWN_ROWS)}</summary>
          <AccessRows rows={rows.slice(SHOWN_ROWS)} />
        </details>
      )}
    </div>
  );
}

export function AccessRows({ rows }: { rows: AccessChange[] }) {
  return (
    <ul class="access">
      {rows.map((row) => (
        <li key={row.change + writeAccess(row) + String(row.conditional)} class={row.change}>
          <span class="sign">
            <Icon name={row.change === "gained" ? "plus" : "no"} />
            {words.verbs[row.change]}
          </span>
          <span>
            {words.effects.row(<span class="name">{showSubject(row.subject)}</span>, showDistinctRelation(row.relation), <span class="name">{showObject(row)}</span>, row.conditional ?? false)}
          </span>
        </li>
      ))}
    </ul>
  );
}
