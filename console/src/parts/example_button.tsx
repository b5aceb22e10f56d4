import { useState } from "preact/hooks";
import { findObstacle, Refused } from "../api";
import { EXAMPLES, type ExampleEntry } from "../examples";
import * as words from "../words";
import { Fault } from "./notice";
import { GuardedButton } from "./permission";

interface Properties {
  example?: ExampleEntry;
  /** Whether it takes the place of the types that there are. */
  isWhole?: boolean;
  onDone?: () => void;
}

/** Loads an example by one click if the key may, and names the command otherwise. */
export function ExampleButton({ example = EXAMPLES[0], isWhole = false, onDone }: Properties) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<Refused>();

  async function load() {
    setBusy(true);
    if (!example) return;
    try {
      const { loadExample } = await import("../pages");
      await loadExample(example.name, isWhole);
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
        {words.samples.load(example?.title)}
      </GuardedButton>
      {obstacle && (
        <p class="hint">
          {words.samples.notAllowed(obstacle, example?.name)}
        </p>
      )}
      {fault && <Fault fault={fault} />}
    </>
  );
}
