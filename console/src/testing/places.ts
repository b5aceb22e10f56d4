/** Finds where in a test file something is that the service reports. */

import type { ModelFault } from "../model/faults";

/** The column of what concerns a whole line: the end of any line is before it. */
export const WHOLE_LINE = Number.MAX_SAFE_INTEGER;
const MEMBER = /^([a-z_]+):/;

/** Returns what the service says is wrong with the file, with its place; undefined if it is not known. */
export function findFault(message: string, text: string): ModelFault | undefined {
  const place = findPlace(message, text.split("\n"));
  return place && { ...place, code: "", message: message.split("\n", 1)[0] ?? message };
}

function findPlace(message: string, lines: string[]): { line: number; column: number } | undefined {
  const inYaml = /\(line (\d+), column (\d+)\)$/.exec(message);
  if (inYaml) return { line: Number(inYaml[1]), column: Number(inYaml[2]) };
  const inModel = /^model:(\d+):(\d+):/.exec(message);
  const model = lines.findIndex((line) => /^model:\s*[|>]/.test(line)) + 1;
  if (inModel && model > 0) {
    return { line: model + Number(inModel[1]), column: countBlanks(lines[model] ?? "") + Number(inModel[2]) };
  }
  const element = /^(tests|setup\.warrants)\[(\d+)\]/.exec(message);
  const named = /^the file: '([a-z_]+)'/.exec(message)?.[1] ?? /^[a-z_]+/.exec(message)?.[0];
  const line = (element && listElements(lines, element[1] ?? "")[Number(element[2])]) ?? findMember(lines, named ?? "");
  return line ? { line, column: WHOLE_LINE } : undefined;
}

/** Returns the lines, from 1, at which the elements of a list begin; none if they share lines. */
export function listElements(lines: string[], list: string): number[] {
  const [member = "", inner] = list.split(".");
  let start = findMember(lines, member);
  let depth = 0;
  if (start && inner !== undefined) {
    const below = lines.slice(start);
    const place = below.findIndex((line) => MEMBER.test(line.trimStart()) && line.trimStart().startsWith(`${inner}:`));
    if (place < 0 || below.slice(0, place).some((line) => MEMBER.test(line))) return [];
    depth = countBlanks(below[place] ?? "");
    start += place + 1;
  }
  if (!start) return [];
  const found: number[] = [];
  let indent: number | undefined;
  for (const [place, line] of lines.slice(start).entries()) {
    const blanks = countBlanks(line);
    const content = line.trimStart();
    if (content === "" || content.startsWith("#")) continue;
    const isElement = /^-(?:\s|$)/.test(content);
    if (blanks < depth || (blanks === depth && !isElement)) break;
    if (isElement && (indent === undefined || blanks === indent)) {
      indent = blanks;
      found.push(start + place + 1);
    }
  }
  return found;
}

/** Returns the line, from 1, of a member of the file, or 0. */
function findMember(lines: string[], name: string): number {
  return lines.findIndex((line) => MEMBER.exec(line)?.[1] === name) + 1;
}

function countBlanks(line: string): number {
  return line.length - line.trimStart().length;
}
