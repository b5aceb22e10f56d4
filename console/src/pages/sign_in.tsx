import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, signedOutBecause, signIn } from "../api";
import { Fault } from "../parts/notice";

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
      setFault(new Refused(401, "unauthorized", "This is not an API key: it has blanks or letters that no key has."));
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
      <h1>Sign in</h1>
      <p class="lead">See who may do what on this service, understand why, and change it safely.</p>
      {signedOutBecause.value && !fault && (
        <div class="notice" role="status">
          <p>{signedOutBecause.value}</p>
        </div>
      )}
      {fault && <Fault fault={fault} />}
      <form onSubmit={submit} onInput={() => setFault(undefined)}>
        <div class="field">
          <label for="key">API key</label>
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
          {isBusy ? "Signing in…" : "Sign in"}
        </button>
      </form>
      <p class="hint">
        The service printed a key when it first started. A key with the scopes <code>read</code>, <code>query</code> and{" "}
        <code>events</code> shows everything and changes nothing:
      </p>
      <pre>magistrate keys create console --scope read --scope query --scope events</pre>
      <p class="hint">The key stays in this tab and is discarded when you close it.</p>
    </section>
  );
}
