/** Loads the examples of `magistrate serve --example NAME` into a store without a model. */

import agentsTests from "../../src/magistrate/examples/agents/model.test.yaml?raw";
import agents from "../../src/magistrate/examples/agents/model.txt?raw";
import hostingTests from "../../src/magistrate/examples/code-hosting/model.test.yaml?raw";
import hosting from "../../src/magistrate/examples/code-hosting/model.txt?raw";
import sharingTests from "../../src/magistrate/examples/document-sharing/model.test.yaml?raw";
import sharing from "../../src/magistrate/examples/document-sharing/model.txt?raw";
import tenantsTests from "../../src/magistrate/examples/multi-tenant-rbac/model.test.yaml?raw";
import tenants from "../../src/magistrate/examples/multi-tenant-rbac/model.txt?raw";
import { read, write } from "./api";
import type { ExampleName } from "./examples";
import { readCheck, type WarrantKey } from "./names";
import { loadObjectTypes } from "./schema";

const SETUP = /warrants:\n((?:\s+- .*\n)+)/;
const ELEMENT = /- '?(.*?)'?$/gm;
const WRITTEN = /^(.*?)(?:\[(.*)\])?$/;

const FILES: Record<ExampleName, { model: string; tests: string }> = {
  "document-sharing": { model: sharing, tests: sharingTests },
  "multi-tenant-rbac": { model: tenants, tests: tenantsTests },
  "code-hosting": { model: hosting, tests: hostingTests },
  agents: { model: agents, tests: agentsTests },
};

/** Writes an example, whose types take the place of all others if it is the whole model. */
export async function loadExample(name: ExampleName, isWhole: boolean): Promise<void> {
  const { model, tests } = FILES[name];
  const { objectTypes } = await read<{ objectTypes: { type: string; relations: unknown }[] }>("v2/model/convert", { text: model, accept: "application/json" });
  // An example may leave out its users, whose type a store begins with.
  if (isWhole && !objectTypes.some(({ type }) => type === "user")) objectTypes.unshift({ type: "user", relations: {} });
  await write("v2/object-types", { method: "PUT", query: isWhole ? { replace: "true" } : {}, body: objectTypes });
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
