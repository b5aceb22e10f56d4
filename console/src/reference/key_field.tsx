import { useState } from "preact/hooks";
import { Refused, key, send, signOut, storeKey } from "../api";
import * as words from "../words";

/** Takes the key that requests are sent with, unless the console has one in this tab. It goes to this service alone. */
export function KeyField() {
  const [given, setGiven] = useState("");
  const [fault, setFault] = useState("");
  if (key.value !== null) {
    return (
      <p class="actions">
        <span>{words.reference.hasKey}</span>
        <button type="button" class="quiet" onClick={() => signOut()}>
          {words.reference.discardKey}
        </button>
      </p>
    );
  }
  const submit = async (event: Event) => {
    event.preventDefault();
    setFault("");
    try {
      await send("v2/object-types", { query: { limit: 1 }, key: given.trim() });
    } catch (error) {
      // A key without the scope of this request may have that of another one.
      if (!(error instanceof Refused) || error.status !== 403) {
        setFault(error instanceof Refused ? words.reference.failure(error.message, error.advice) : String(error));
        return;
      }
    }
    storeKey(given.trim());
  };
  return (
    <form class="filters" onSubmit={submit}>
      <div class="field">
        <label for="key">{words.reference.key}</label>
        <input id="key" type="password" autocomplete="off" required value={given} onInput={(event) => setGiven(event.currentTarget.value)} />
      </div>
      <button type="submit" class="primary">
        {words.reference.useKey}
      </button>
      {fault && (
        <p class="notice fault" role="alert">
          {fault}
        </p>
      )}
    </form>
  );
}
