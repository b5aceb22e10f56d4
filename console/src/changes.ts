/** Represents what a write did, as histories list it. */

import { writeObject, writeWarrant, type ObjectName, type WarrantKey } from "./names";
import * as words from "./words";

export interface Change {
  verb: "created" | "updated" | "deleted" | "expired";
  /** A warrant, an object, or what is neither, such as an object type. */
  what: { warrant: WarrantKey } | { object: ObjectName } | { kind: string; name: string };
}

export function describeChange({ verb, what }: Change): string {
  if ("warrant" in what) return words.history.change(words.verbs[verb], writeWarrant(what.warrant));
  return words.history.change(words.verbs[verb], "object" in what ? writeObject(what.object) : `${what.kind} ${what.name}`);
}
