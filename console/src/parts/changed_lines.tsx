import type { ChangedLine } from "../model/changed_lines";
import * as words from "../words";

const SIGN_WORDS = { "+": words.history.added, "-": words.history.removed, " ": "" };

/** Shows which lines of a text differ from those of another one. */
export function ChangedLines({ lines }: { lines: ChangedLine[] }) {
  return (
    <div class="changed-lines" tabIndex={0} role="region" aria-label={words.history.changedLines}>
      {lines.map(({ sign, text }, place) => (
        <div key={place} class={sign === "+" ? "added" : sign === "-" ? "removed" : undefined}>
          <span aria-hidden="true">{sign} </span>
          <span class="sr">{SIGN_WORDS[sign]}</span>
          {text}
        </div>
      ))}
    </div>
  );
}
