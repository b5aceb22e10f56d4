import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, signedOutBecause, signIn } from "../api";
import { Fault } from "../parts/notice";
import * as words from "../words";

const FORM_OF_KEY = /^[\x21-\x7e]+$/;

export function SignIn() {
  const [given, setGiven] = useState("");
  const [fault, setFault] = useState<Refused>();
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  async function submit(event: Event) {
    event.preventDefault();
    const text = given.trim();
    if (!FORM_OF_KEY.test(text)) {
      setFault(new Refused(401, "unauthorized", words.signIn.notAKey));
      return;
    }
    setBusy(true);
    try {
      await signIn(text);
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setFault(refused);
      setBusy(false);
    }
  }

  return (
    <section class="sign-in card">
      <h1>{words.signIn.title}</h1>
      <p class="lead">{words.signIn.purpose}</p>
      {signedOutBecause.value && !fault && (
        <div class="notice" role="status">
          <p>{signedOutBecause.value}</p>
        </div>
      )}
      {fault && <Fault fault={fault} />}
      <form onSubmit={submit} onInput={() => setFault(undefined)}>
        <div class="field">
          <label for="key">{words.signIn.key}</label>
          <input
            id="key"
            ref={field}
            type="password"
            autocomplete="current-password"
            spellcheck={false}
            required
            value={given}
            onInput={(event) => setGiven(event.currentTarget.value)}
          />
        </div>
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? words.signIn.isBusy : words.signIn.title}
        </button>
      </form>
      <p class="hint">
        {words.signIn.advice}
      </p>
      <pre>magistrate keys create console --scope read --scope query --scope events</pre>
      <p class="hint">{words.signIn.keyStays}</p>
    </section>
  );
}
