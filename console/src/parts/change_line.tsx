import type { Change } from "../changes";
import * as words from "../words";
import { Icon } from "./icons";
import { ObjectLink, WarrantWords } from "./names";

const SIGNS = { created: "plus", updated: "model", deleted: "no", expired: "history" } as const;

/** Shows what a write did to one thing, with links to what it is about. */
export function ChangeLine({ change: { verb, what } }: { change: Change }) {
  return (
    <li class={verb}>
      <span class="sign">
        <Icon name={SIGNS[verb]} />
        {words.verbs[verb]}
      </span>
      {"warrant" in what ? (
        <span>
          {words.history.warrant(<WarrantWords warrant={what.warrant} />)}
        </span>
      ) : "object" in what ? (
        <span>
          {words.history.object(<ObjectLink object={what.object} />)}
        </span>
      ) : (
        <span>
          {what.kind} <span class="name">{what.name}</span>
        </span>
      )}
    </li>
  );
}

const SHOWN_CHANGES = 3;

interface Properties {
  changes: Change[];
  /** How many there are, if not all are among them. */
  count?: number;
}

/** Shows the first changes of a write, and the others on demand. */
export function ChangeLines({ changes, count = changes.length }: Properties) {
  return (
    <>
      <ul class="events">
        {changes.slice(0, SHOWN_CHANGES).map((change, place) => (
          <ChangeLine key={place} change={change} />
        ))}
      </ul>
      {count > SHOWN_CHANGES && (
        <details>
          <summary>{words.history.more(count - SHOWN_CHANGES)}</summary>
          <ul class="events">
            {changes.slice(SHOWN_CHANGES).map((change, place) => (
              <ChangeLine key={place} change={change} />
            ))}
          </ul>
          {count > changes.length && <p class="hint">{words.history.notListed(count - changes.length)}</p>}
        </details>
      )}
    </>
  );
}
