/** Reads and writes the model of the service, and finds what a change of it would do (docs/models.md). */

import { read, Refused, send, write } from "../api";
import type { Warrant } from "../names";
import type { AccessChange } from "../parts/effect";
import type { Page } from "../schema";
import { compareLines, type ChangedLine } from "./changed_lines";
import { readWholeFile, type Remainder } from "./whole_file";

const TEXT = "text/plain";
const MOST_ROWS = 100;

export interface StoredModel {
  text: string;
  /** Names the revision of the model: a write with it is refused if the model has changed since. */
  token: string;
}

export interface NameChanges {
  created: string[];
  changed: string[];
  deleted: string[];
}

interface Plan {
  objectTypes: NameChanges;
  policies: NameChanges;
  stranded: Warrant[];
  more: boolean;
}

/** Holds what saving a model would change, compared with the newest model. */
export interface Review {
  newest: StoredModel;
  /** Undefined if the texts are too long to compare. */
  lines: ChangedLine[] | undefined;
  plan: Plan;
  /** The access that would be gained and lost, or why it is not known. */
  access: Page<AccessChange> | Refused;
}

export async function readModel(signal: AbortSignal, asOf?: string): Promise<StoredModel> {
  const answer = await send("v2/model", { accept: TEXT, query: { asOf }, signal });
  return { text: await answer.text(), token: answer.headers.get("Service-Token") ?? "" };
}

/** Returns the text in the usual layout. Raises Refused if it has errors. */
export async function formatModel(text: string): Promise<string> {
  return (await send("v2/model/convert", { text, accept: TEXT })).text();
}

export interface ImportedModel {
  text: string;
  /** Say which names changed, and what was left out. */
  notes: string[];
  /** What the file has besides a model. */
  rest?: Remainder;
}

const NOTE = /299 - "([^"]*)"/g;

/** Converts a model of OpenFGA or SpiceDB, or a file with relationships and tests as well, or a model of this service. Raises Refused if it has errors. */
export async function importModel(text: string, leavesOut: boolean): Promise<ImportedModel> {
  const query = leavesOut ? { leaveOut: "true" } : {};
  const answer = await send("v2/model/convert", { text, accept: TEXT, query });
  const notes = [...(answer.headers.get("Warning") ?? "").matchAll(NOTE)].map(([, note = ""]) => note);
  const { model, rest } = readWholeFile(await answer.text());
  return { text: model, notes, rest };
}

export async function reviewModel(text: string, signal: AbortSignal): Promise<Review> {
  const model = sortModel(await read<Model>("v2/model/convert", { text, accept: "application/json", signal }));
  const [newest, plan, access, stored] = await Promise.all([
    readModel(signal),
    read<Plan>("v2/model/plan", { text, signal }),
    compareAccess(model, signal),
    send("v2/model/convert", { body: model, accept: TEXT, signal }).then((answer) => answer.text()),
  ]);
  return { newest, plan, access, lines: compareLines(newest.text, stored) };
}

interface Model {
  objectTypes: { type: string }[];
  policies: { name: string }[];
}

/** Returns a model in the order in which the service returns it, so that the order is no difference. */
function sortModel({ objectTypes, policies }: Model): Model {
  const compare = (one: string, other: string) => Number(one > other) - Number(one < other);
  return {
    objectTypes: objectTypes.toSorted((one, other) => compare(one.type, other.type)),
    policies: policies.toSorted((one, other) => compare(one.name, other.name)),
  };
}

async function compareAccess(model: Model, signal: AbortSignal): Promise<Page<AccessChange> | Refused> {
  try {
    const body = { proposal: { ...model, replace: true }, limit: MOST_ROWS };
    return await read<Page<AccessChange>>("v2/difference", { body, signal });
  } catch (fault) {
    if (fault instanceof Refused && fault.status === 400) return fault; // too much to compare: the plan still says the rest
    throw fault;
  }
}

/** Makes the text the model of the service. Raises Refused with the status 412 if the model is not that of the token any
 * more. */
export async function saveModel(text: string, token: string, keepsStranded: boolean): Promise<void> {
  const query = keepsStranded ? { keepExisting: "true" } : {};
  await write("v2/model", { method: "PUT", text, query, headers: { "If-Match": `"${token}"` } });
}
