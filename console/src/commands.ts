/** Finds what the command palette offers for a text: pages, actions, checks, queries, also saved ones, objects and relations. */

import { findObstacle, onlyTypes, read, signOut, type Need } from "./api";
import { describeMeta, type StoredObject } from "./completion";
import { readCheck, readObject, writeObject, writeSubject } from "./names";
import { asOf, go } from "./route";
import { findSaved, parametersOf, type SavedQuery } from "./saved_queries";
import { objectTypes, type Page } from "./schema";
import { changeTheme } from "./theme";

export interface Command {
  name: string;
  hint: string;
  run: () => void;
}

const MOST_OBJECTS = 8;
const MOST_SAVED = 8;
const MOST_COMMANDS = 40;

interface Entry extends Command {
  needs?: Need;
  isChange?: boolean;
}

const PAGE_ENTRIES: Entry[] = [
  { name: "Why", hint: "explain a check", run: () => go("why") },
  { name: "Objects", hint: "page", run: () => go("data") },
  { name: "Warrants", hint: "page", run: () => go("data", { show: "warrants" }) },
  { name: "Queries", hint: "page", run: () => go("queries"), needs: { scope: "query" } },
  { name: "History", hint: "page", run: () => go("history"), needs: { scope: "events" } },
  { name: "Live", hint: "changes as they are made", run: () => go("live"), needs: { scope: "events" } },
  { name: "Model", hint: "page", run: () => go("model"), needs: { scope: "read", ofAllTypes: true } },
  { name: "Tests", hint: "page", run: () => go("tests"), needs: { scope: "read", ofAllTypes: true } },
  { name: "Keys", hint: "page of the service", run: () => go("service") },
  { name: "Your key", hint: "page of the service", run: () => go("service", { show: "own" }) },
  { name: "Integrations", hint: "APIs, gateways and agents", run: () => go("service", { show: "integrations" }) },
  { name: "Sessions", hint: "page of the service", run: () => go("service", { show: "sessions" }) },
  { name: "Webhooks", hint: "page of the service", run: () => go("service", { show: "webhooks" }) },
  { name: "Metrics", hint: "page of the service", run: () => go("service", { show: "metrics" }) },
];
const ACTIONS: Entry[] = [
  { name: "New warrant", hint: "action", run: () => go("data", { show: "warrants", open: "warrant" }), needs: { scope: "write" }, isChange: true },
  { name: "New object", hint: "action", run: () => go("data", { open: "object" }), needs: { scope: "write" }, isChange: true },
  { name: "Import a file", hint: "action", run: () => go("data", { open: "file" }), needs: { scope: "write" }, isChange: true },
  { name: "Change the colours", hint: "action", run: changeTheme },
  { name: "Sign out", hint: "action", run: () => signOut() },
];

/** Returns commands for a text, the likeliest first. */
export async function findCommands(text: string, readSaved: () => Promise<SavedQuery[]>, signal: AbortSignal): Promise<Command[]> {
  const wanted = text.trim();
  const named = listFixed(wanted);
  const typed = listTyped(wanted);
  const relations = wanted ? listRelationCommands(wanted) : [];
  const [stored, saved] = await Promise.all([wanted ? findStored(wanted, signal) : [], findSavedCommands(wanted, readSaved)]);
  const known = new Set(stored.map((one) => one.name));
  const fixed = wanted ? [...saved, ...stored, ...named] : [...named, ...saved];
  return [...typed.filter((one) => !known.has(one.name)), ...fixed, ...relations].slice(0, MOST_COMMANDS);
}

function listFixed(text: string): Command[] {
  const wanted = text.toLowerCase();
  const allowed = [...PAGE_ENTRIES, ...ACTIONS].filter(
    ({ needs, isChange }) => (!needs || !findObstacle(needs)) && !(isChange && asOf.value !== undefined),
  );
  const found = allowed.filter(({ name }) => name.toLowerCase().includes(wanted));
  return found.toSorted((one, other) => Number(other.name.toLowerCase().startsWith(wanted)) - Number(one.name.toLowerCase().startsWith(wanted)));
}

/** Returns what a text is by its form: a check, a query, or an object. */
function listTyped(text: string): Command[] {
  const check = readCheck(text);
  if (check) {
    const { subject, relation } = check;
    return [{ name: text, hint: "explain this check", run: () => go("why", { subject: writeSubject(subject), relation, object: writeObject(check) }) }];
  }
  if (/^select\s/i.test(text) && !findObstacle({ scope: "query" })) {
    return [{ name: text, hint: "run this query", run: () => go("queries", { q: text }) }];
  }
  const object = readObject(text);
  return object ? [{ name: writeObject(object), hint: "object or subject", run: () => go("object", { name: writeObject(object) }) }] : [];
}

async function findSavedCommands(text: string, readSaved: () => Promise<SavedQuery[]>): Promise<Command[]> {
  const found = findSaved(await readSaved(), text).slice(0, MOST_SAVED);
  return found.map((saved) => ({ name: saved.name, hint: "saved query", run: () => go("queries", parametersOf(saved)) }));
}

function listRelationCommands(text: string): Command[] {
  if (findObstacle({ scope: "read", ofAllTypes: true })) return [];
  const names = (objectTypes.value ?? []).flatMap(({ type, relations }) => [type, ...Object.keys(relations).map((one) => `${type}#${one}`)]);
  return names
    .filter((name) => name.includes(text))
    .toSorted((one, other) => Number(other.startsWith(text)) - Number(one.startsWith(text)))
    .map((name) => ({ name, hint: "in the model", run: () => go("model", { of: name }) }));
}

async function findStored(text: string, signal: AbortSignal): Promise<Command[]> {
  const at = text.indexOf(":");
  const type = at >= 0 ? text.slice(0, at) : onlyTypes.value?.[0];
  const query = { objectType: type, q: at >= 0 ? text.slice(at + 1) : text, limit: MOST_OBJECTS, asOf: asOf.value };
  const { results } = await read<Page<StoredObject>>("v2/objects", { query, signal });
  return results.map((object) => {
    const name = writeObject(object);
    return { name, hint: describeMeta(object.meta) ?? "object or subject", run: () => go("object", { name }) };
  });
}
