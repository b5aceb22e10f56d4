import { useState } from "preact/hooks";
import type { Service } from "../commands_elsewhere";
import { store } from "../route";
import * as words from "../words";

/** Returns the service that the console comes from. */
export function describeService(): Service {
  return { url: new URL(".", location.href).href.replace(/\/(console\/?)?$/, ""), store };
}

/** Offers what the page shows for use elsewhere: each form by its name. The key is not in it. */
export function CopyAs({ forms }: { forms: Record<string, () => string> }) {
  const [shown, setShown] = useState(Object.keys(forms)[0] ?? "");
  const [note, setNote] = useState("");
  const text = forms[shown]?.() ?? "";

  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      setNote(words.actions.copied);
    } catch {
      setNote(words.copyAs.notAllowed); // without https
    }
  }

  return (
    <details class="copy-as">
      <summary>{words.copyAs.title(Object.keys(forms).join(", "))}</summary>
      <div class="actions small">
        {Object.keys(forms).map((name) => (
          <button
            key={name}
            type="button"
            class="quiet"
            aria-pressed={name === shown}
            onClick={() => {
              setShown(name);
              setNote("");
            }}
          >
            {name}
          </button>
        ))}
        <button type="button" class="quiet" onClick={copy}>
          {words.actions.copy}
        </button>
        <span class="hint" role="status">
          {note}
        </span>
      </div>
      <pre>{text}</pre>
    </details>
  );
}
