/** Writes the warrants and objects of a file, a chunk of lines in each request. */

import { Refused, write } from "./api";
import { readCheck, type Warrant } from "./names";
import * as words from "./words";

const CHUNK = 500;
const POLICY = /^(.*?)\[(.*)\]$/s;

interface ObjectBody {
  objectType: string;
  objectId: string;
  meta?: unknown;
}

/** Has what a line of a file says, and its number. */
export interface Line {
  number: number;
  warrant?: Warrant;
  object?: ObjectBody;
}

export interface Progress {
  done: number;
  of: number;
  created: number;
  unchanged: number;
}

interface Written {
  created: number;
  unchanged: number;
}

/** Returns the lines of a file: warrants in written form, or JSON as the lists of the API have it; or one JSON array of
 * these. Raises Refused with the number of the first line that is neither. */
export function readLines(text: string): Line[] {
  if (text.trimStart().startsWith("[")) {
    const values = parse(text, 0);
    if (Array.isArray(values)) return values.map((value, place) => readValue(value, place + 1));
  }
  return text.split("\n").flatMap((line, place) => {
    const content = line.trim();
    if (content === "" || content.startsWith("#")) return [];
    if (content.startsWith("{")) return [readValue(parse(content, place + 1), place + 1)];
    return [{ number: place + 1, warrant: readWritten(content, place + 1) }];
  });
}

function parse(text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refuse(line, words.importing.notJson);
  }
}

/** Returns the warrant of a written form, with its policy. Raises Refused with the line. */
export function readWritten(content: string, line: number): Warrant {
  const [, key = content, policy] = POLICY.exec(content) ?? [];
  const warrant = readCheck(key);
  if (!warrant) throw refuse(line, words.importing.notAWarrant);
  return policy ? { ...warrant, policy } : warrant;
}

function readValue(value: unknown, line: number): Line {
  if (typeof value === "string") return { number: line, warrant: readWritten(value, line) };
  if (typeof value === "object" && value !== null) {
    if ("relation" in value) return { number: line, warrant: value as Warrant };
    if ("objectId" in value) return { number: line, object: value as ObjectBody };
    if ("relations" in value) throw refuse(line, words.importing.isType);
  }
  throw refuse(line, words.importing.neither);
}

function refuse(line: number, message: string): Refused {
  return new Refused(400, "invalid", line > 0 ? words.importing.line(line, message) : message);
}

/** Writes all lines in order. Raises Refused with the line of the first fault; the chunks before it are written, and
 * writing them again changes nothing. */
export async function importLines(
  lines: Line[],
  report: (progress: Progress) => void,
  isStopped: () => boolean,
): Promise<Progress> {
  const progress = { done: 0, of: lines.length, created: 0, unchanged: 0 };
  report({ ...progress });
  while (progress.done < lines.length && !isStopped()) {
    const chunk = lines.slice(progress.done, progress.done + CHUNK);
    const written = await writeChunk(chunk);
    progress.done += chunk.length;
    progress.created += written.created;
    progress.unchanged += written.unchanged;
    report({ ...progress });
  }
  return progress;
}

async function writeChunk(chunk: Line[]): Promise<Written> {
  const warrants = chunk.filter((line) => line.warrant);
  const objects = chunk.filter((line) => line.object);
  const create = {
    ...(warrants.length > 0 ? { warrants: warrants.map((line) => line.warrant) } : {}),
    ...(objects.length > 0 ? { objects: objects.map((line) => line.object) } : {}),
  };
  try {
    return await write<Written>("v2/writes", { body: { create } });
  } catch (fault) {
    if (!(fault instanceof Refused)) throw fault;
    const place = /(warrants|objects)\[(\d+)\]/.exec(fault.parameter);
    const line = place && (place[1] === "warrants" ? warrants : objects)[Number(place[2])];
    if (!line) throw fault;
    throw new Refused(fault.status, fault.code, words.importing.line(line.number, fault.message));
  }
}
