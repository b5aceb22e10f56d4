import { useLayoutEffect, useState } from "preact/hooks";
import { adjust } from "../route";
import * as words from "../words";

/** Tries policies with a context: what they read is in the URL, like all that a page shows. */
export function ContextField({ context }: { context: string }) {
  const [given, setGiven] = useState(context);
  useLayoutEffect(() => setGiven(context), [context]);
  return (
    <details open={context !== ""}>
      <summary>{words.why.tryContext}</summary>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          adjust({ context: given.trim() || undefined, next: undefined, prev: undefined });
        }}
      >
        <div class="field">
          <label for="context">{words.why.jsonObject}</label>
          <input
            id="context"
            type="text"
            class="code"
            spellcheck={false}
            placeholder={words.examples.context}
            value={given}
            onInput={(event) => setGiven(event.currentTarget.value)}
          />
        </div>
        <button type="submit" class="quiet">
          {words.why.tryIt}
        </button>
      </form>
    </details>
  );
}
