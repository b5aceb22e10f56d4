/** Loads the example that the empty service is taught with. */

import { types, warrants } from "../../src/magistrate/examples/document-sharing.json";
import { write } from "./api";
import { readCheck, type WarrantKey } from "./names";
import { loadObjectTypes } from "./schema";

const WRITTEN = /^(.*?)(?:\[(.*)\])?$/;

export async function loadExample(): Promise<void> {
  const objectTypes = Object.entries(types).map(([type, relations]) => ({ type, relations }));
  await write("v2/object-types", { method: "PUT", body: objectTypes });
  await write("v2/writes", { body: { create: { warrants: warrants.map(readWarrant) } } });
  await loadObjectTypes();
}

/** Returns a warrant that is written like a check, perhaps with a policy in brackets behind it. */
function readWarrant(text: string): WarrantKey {
  const [, written = "", policy] = WRITTEN.exec(text) ?? [];
  const warrant = readCheck(written);
  if (!warrant) throw new Error(`the example has a warrant that cannot be read: ${text}`);
  return policy ? { ...warrant, policy } : warrant;
}
