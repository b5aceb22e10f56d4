import { read } from "../api";
import type { Proposal } from "../explanation";
import { useLoaded } from "../loading";
import { writeObject, writeSubject, type ObjectName, type Subject } from "../names";
import { showDistinctRelation, showObject, showSubject } from "../openfga_names";
import type { Page } from "../schema";
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
  if (!loaded.value) return <Busy what="Comparing access" />;
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
    return <p class="effect-title">{isBesides ? "It changes nothing else." : "It changes no access."}</p>;
  }
  return (
    <div class="effect">
      <p class="effect-title">
        {isBesides ? "What else it changes" : "What it changes"} ({hasMore ? `more than ${rows.length}` : rows.length}):
      </p>
      <AccessRows rows={rows.slice(0, SHOWN_ROWS)} />
      {rows.length > SHOWN_ROWS && (
        <details>
          <summary>{hasMore ? "Show more" : `Show ${rows.length - SHOWN_ROWS} more`}</summary>
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
            {row.change}
          </span>
          <span>
            <span class="name">{showSubject(row.subject)}</span> <b>{showDistinctRelation(row.relation)}</b> on{" "}
            <span class="name">{showObject(row)}</span>
            {row.conditional && <span class="hint"> if the context allows it</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}
