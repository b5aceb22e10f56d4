import { useState } from "preact/hooks";
import { mayModel, mayWrite, Refused } from "../api";
import { loadExample } from "../example";
import { Fault } from "./notice";

/** Loads an example by one click if the key may, and names the command otherwise. */
export function ExampleButton() {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<Refused>();

  async function load() {
    setBusy(true);
    try {
      await loadExample();
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setFault(refused);
    }
    setBusy(false);
  }

  if (!mayModel.value || !mayWrite.value) return <pre>magistrate serve --example document-sharing</pre>;
  return (
    <>
      <button type="button" class="primary" disabled={isBusy} onClick={load}>
        Load the example
      </button>
      {fault && <Fault fault={fault} />}
    </>
  );
}
