import { useLayoutEffect, useState } from "preact/hooks";
import { adjust } from "../route";

/** Tries policies with a context: what they read is in the URL, like all that a page shows. */
export function ContextField({ context }: { context: string }) {
  const [given, setGiven] = useState(context);
  useLayoutEffect(() => setGiven(context), [context]);
  return (
    <details open={context !== ""}>
      <summary>Try a context for policies</summary>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          adjust({ context: given.trim() || undefined, next: undefined, prev: undefined });
        }}
      >
        <div class="field">
          <label for="context">JSON object</label>
          <input
            id="context"
            type="text"
            class="code"
            spellcheck={false}
            placeholder='{"network": "office"}'
            value={given}
            onInput={(event) => setGiven(event.currentTarget.value)}
          />
        </div>
        <button type="submit" class="quiet">
          Try it
        </button>
      </form>
    </details>
  );
}
