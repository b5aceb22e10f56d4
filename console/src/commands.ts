/** Finds what the command palette offers for a text: pages, actions, checks, queries, also saved ones, objects and relations. */

import { findObstacle, onlyTypes, read, signOut, type Need } from "./api";
import { describeMeta, type StoredObject } from "./completion";
import { readCheck, readObject, writeObject, writeSubject } from "./names";
import { asOf, go } from "./route";
import { findSaved, parametersOf, type SavedQuery } from "./saved_queries";
import { objectTypes, type Page } from "./schema";
import { changeTheme } from "./theme";
import * as words from "./words";

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
  { name: words.pages.why, hint: words.palette.explainACheck, run: () => go("why") },
  { name: words.pages.objects, hint: words.palette.page, run: () => go("data") },
  { name: words.pages.warrants, hint: words.palette.page, run: () => go("data", { show: "warrants" }) },
  { name: words.pages.queries, hint: words.palette.page, run: () => go("queries"), needs: { scope: "query" } },
  { name: words.pages.history, hint: words.palette.page, run: () => go("history"), needs: { scope: "events" } },
  { name: words.pages.live, hint: words.palette.live, run: () => go("live"), needs: { scope: "events" } },
  { name: words.pages.model, hint: words.palette.page, run: () => go("model"), needs: { scope: "read", ofAllTypes: true } },
  { name: words.pages.tests, hint: words.palette.page, run: () => go("tests"), needs: { scope: "read", ofAllTypes: true } },
  { name: words.pages.keys, hint: words.palette.servicePage, run: () => go("service") },
  { name: words.pages.ownKey, hint: words.palette.servicePage, run: () => go("service", { show: "own" }) },
  { name: words.pages.integrations, hint: words.palette.integrations, run: () => go("service", { show: "integrations" }) },
  { name: words.pages.sessions, hint: words.palette.servicePage, run: () => go("service", { show: "sessions" }) },
  { name: words.pages.webhooks, hint: words.palette.servicePage, run: () => go("service", { show: "webhooks" }) },
  { name: words.pages.metrics, hint: words.palette.servicePage, run: () => go("service", { show: "metrics" }) },
];
const ACTIONS: Entry[] = [
  { name: words.warrants.create, hint: words.palette.action, run: () => go("data", { show: "warrants", open: "warrant" }), needs: { scope: "write" }, isChange: true },
  { name: words.objects.create, hint: words.palette.action, run: () => go("data", { open: "object" }), needs: { scope: "write" }, isChange: true },
  { name: words.importing.title, hint: words.palette.action, run: () => go("data", { open: "file" }), needs: { scope: "write" }, isChange: true },
  { name: words.shell.changeColours, hint: words.palette.action, run: changeTheme },
  { name: words.shell.signOut, hint: words.palette.action, run: () => signOut() },
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
    return [{ name: text, hint: words.palette.explainThisCheck, run: () => go("why", { subject: writeSubject(subject), relation, object: writeObject(check) }) }];
  }
  if (/^select\s/i.test(text) && !findObstacle({ scope: "query" })) {
    return [{ name: text, hint: words.palette.runThisQuery, run: () => go("queries", { q: text }) }];
  }
  const object = readObject(text);
  return object ? [{ name: writeObject(object), hint: words.palette.objectOrSubject, run: () => go("object", { name: writeObject(object) }) }] : [];
}

async function findSavedCommands(text: string, readSaved: () => Promise<SavedQuery[]>): Promise<Command[]> {
  const found = findSaved(await readSaved(), text).slice(0, MOST_SAVED);
  return found.map((saved) => ({ name: saved.name, hint: words.palette.savedQuery, run: () => go("queries", parametersOf(saved)) }));
}

function listRelationCommands(text: string): Command[] {
  if (findObstacle({ scope: "read", ofAllTypes: true })) return [];
  const names = (objectTypes.value ?? []).flatMap(({ type, relations }) => [type, ...Object.keys(relations).map((one) => `${type}#${one}`)]);
  return names
    .filter((name) => name.includes(text))
    .toSorted((one, other) => Number(other.startsWith(text)) - Number(one.startsWith(text)))
    .map((name) => ({ name, hint: words.palette.inModel, run: () => go("model", { of: name }) }));
}

async function findStored(text: string, signal: AbortSignal): Promise<Command[]> {
  const at = text.indexOf(":");
  const type = at >= 0 ? text.slice(0, at) : onlyTypes.value?.[0];
  const query = { objectType: type, q: at >= 0 ? text.slice(at + 1) : text, limit: MOST_OBJECTS, asOf: asOf.value };
  const { results } = await read<Page<StoredObject>>("v2/objects", { query, signal });
  return results.map((object) => {
    const name = writeObject(object);
    return { name, hint: describeMeta(object.meta) ?? words.palette.objectOrSubject, run: () => go("object", { name }) };
  });
}
