import type { ChangedLine } from "../model/changed_lines";

const SIGN_WORDS = { "+": "added: ", "-": "removed: ", " ": "" };

/** Shows which lines of a text differ from those of another one. */
export function ChangedLines({ lines }: { lines: ChangedLine[] }) {
  return (
    <div class="changed-lines" tabIndex={0} role="region" aria-label="Changed lines">
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
