import { useState } from "preact/hooks";
import { findObstacle, Refused } from "../api";
import { loadExample } from "../example";
import { Fault } from "./notice";
import { GuardedButton } from "./permission";

/** Loads an example by one click if the key may, and names the command otherwise. */
export function ExampleButton({ onDone }: { onDone?: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<Refused>();

  async function load() {
    setBusy(true);
    try {
      await loadExample();
      onDone?.();
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setFault(refused);
    }
    setBusy(false);
  }

  const obstacle = findObstacle({ scope: "model", ofAllTypes: true }) ?? findObstacle({ scope: "write" });
  return (
    <>
      <GuardedButton obstacle={obstacle} class="primary" disabled={isBusy} onClick={load}>
        Load the example
      </GuardedButton>
      {obstacle && (
        <p class="hint">
          {obstacle}. Whoever runs the service can load it: <code>magistrate serve --example document-sharing</code>
        </p>
      )}
      {fault && <Fault fault={fault} />}
    </>
  );
}
