import { useEffect, useState } from "preact/hooks";
import { findObstacle, Refused } from "../api";
import { pinCheck } from "../pinned";
import { asOf, link } from "../route";
import { readObject, readSubject } from "../names";
import * as words from "../words";
import { GuardedButton } from "./permission";

const EXPLAIN = { scope: "read", ofAllTypes: true } as const;

interface Properties {
  subject: string;
  relation: string;
  object: string;
  /** The text of a JSON object. */
  context?: string;
}

/** Makes a test of a check: the answer that it has now is the one that is expected from now on. */
export function Pin({ subject, relation, object, context = "" }: Properties) {
  const [state, setState] = useState<"" | "busy" | "pinned">("");
  const [fault, setFault] = useState("");
  const name = `${object}#${relation}@${subject}`;
  useEffect(() => setState(""), [name, context]);

  async function pin() {
    const named = readObject(object);
    const who = readSubject(subject);
    if (!named || !who) return;
    setState("busy");
    setFault("");
    try {
      const values = context ? (JSON.parse(context) as Record<string, unknown>) : undefined;
      await pinCheck({ object: named, relation, subject: who, context: values }, asOf.value);
      setState("pinned");
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setState("");
      setFault(refused.message);
    }
  }

  return (
    <span class="pin" role="status">
      {state === "pinned" ? (
        <a href={link("tests")}>
          {words.pins.isPinned(name)}
        </a>
      ) : (
        <GuardedButton obstacle={findObstacle(EXPLAIN)} class="quiet" disabled={state === "busy"} onClick={pin}>
          {words.pins.pin(name)}
        </GuardedButton>
      )}
      {fault && <span class="hint">{fault}</span>}
    </span>
  );
}
