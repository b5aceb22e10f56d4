/** Loads the example that an empty service is taught with: the one of `magistrate serve --example document-sharing`. */

import tests from "../../src/magistrate/examples/document-sharing/model.test.yaml?raw";
import model from "../../src/magistrate/examples/document-sharing/model.txt?raw";
import { read, write } from "./api";
import { readCheck, type WarrantKey } from "./names";
import { loadObjectTypes } from "./schema";

const SETUP = /warrants:\n((?:\s+- .*\n)+)/;
const ELEMENT = /- '?(.*?)'?$/gm;
const WRITTEN = /^(.*?)(?:\[(.*)\])?$/;

export async function loadExample(): Promise<void> {
  const { objectTypes } = await read<{ objectTypes: unknown[] }>("v2/model/convert", { text: model, accept: "application/json" });
  await write("v2/object-types", { method: "PUT", body: objectTypes });
  const [, written = ""] = SETUP.exec(tests) ?? [];
  const warrants = [...written.matchAll(ELEMENT)].map(([, text = ""]) => readWarrant(text));
  await write("v2/writes", { body: { create: { warrants } } });
  await loadObjectTypes();
}

/** Returns a warrant that is written like a check, perhaps with a policy in brackets behind it. */
function readWarrant(text: string): WarrantKey {
  const [, written = "", policy] = WRITTEN.exec(text) ?? [];
  const warrant = readCheck(written);
  if (!warrant) throw new Error(`the example has a warrant that cannot be read: ${text}`);
  return policy ? { ...warrant, policy } : warrant;
}
