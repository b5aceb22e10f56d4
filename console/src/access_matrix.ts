/** Arranges the rows of a query as matrices: a line for each subject or object, a column for each relation. */

import { writeWarrant, type Warrant } from "./names";
import { writeRow, type QueryRow } from "./query_row";

/** The prefix of relations that permit something, as in `can-read`. */
const PERMISSION = "can-";

export interface MatrixLine {
  /** The subject, or the object, in written form. */
  name: string;
  row: QueryRow;
  /** What it has, by relation. */
  cells: Map<string, QueryRow>;
}

/** Holds the access to objects of one type. */
export interface Matrix {
  objectType: string;
  /** The relations that are shown, in the order of the model, and those that are folded away. */
  relations: string[];
  folded: string[];
  lines: MatrixLine[];
}

/** Holds the lines whose cells have one reason. */
export interface ReasonGroup {
  /** The warrant that gives the relations; null: nothing excludes them. */
  reason: Warrant | null;
  lines: MatrixLine[];
}

/** Returns a matrix for each type of object, in the order of the rows. `typeOf` returns the type of the object of a row,
 * and `relationsOf` the relations of a type in the order of the model. */
export function arrangeAccess(
  rows: QueryRow[],
  typeOf: (row: QueryRow) => string,
  relationsOf: (type: string) => string[],
): Matrix[] {
  return [...groupBy(rows, typeOf)].map(([objectType, ofType]) => {
    const present = new Set(ofType.map((row) => row.relation));
    const ordered = [...relationsOf(objectType), ...present].filter((relation) => present.has(relation));
    const relations = [...new Set(ordered)];
    const shown = chooseRelations(relations, ofType);
    return {
      objectType,
      relations: relations.filter((relation) => shown.has(relation)),
      folded: relations.filter((relation) => !shown.has(relation)),
      lines: buildLines(ofType),
    };
  });
}

/** Returns the relations that say the most: permissions, and what warrants give. Without a permission, all. */
function chooseRelations(relations: string[], rows: QueryRow[]): Set<string> {
  const permissions = relations.filter((relation) => relation.startsWith(PERMISSION));
  if (permissions.length === 0) return new Set(relations);
  return new Set([...permissions, ...rows.filter((row) => !row.isImplicit).map((row) => row.relation)]);
}

function buildLines(rows: QueryRow[]): MatrixLine[] {
  return [...groupBy(rows, writeRow)].map(([name, own]) => ({
    name,
    row: own[0]!,
    cells: new Map(own.map((row) => [row.relation, row])),
  }));
}

/** Returns the lines that contain a text. */
export function filterLines(lines: MatrixLine[], text: string): MatrixLine[] {
  const wanted = text.trim().toLowerCase();
  return wanted ? lines.filter((line) => line.name.toLowerCase().includes(wanted)) : lines;
}

/** Returns the lines by the warrant that gives each cell, those with the most cells first. A line whose relations have
 * several reasons is in several groups, each with its own cells. */
export function groupByReason(lines: MatrixLine[], relations: string[]): ReasonGroup[] {
  const cells = lines.flatMap((line) => [...line.cells.values()].filter((row) => relations.includes(row.relation)));
  const groups = [...groupBy(cells, (row) => (row.warrant ? writeWarrant(row.warrant) : ""))];
  groups.sort(([, one], [, other]) => other.length - one.length);
  return groups.map(([, own]) => ({ reason: own[0]!.warrant, lines: buildLines(own) }));
}

/** Returns how many lines have a relation. */
export function countCells(lines: MatrixLine[], relation: string): number {
  return lines.filter((line) => line.cells.has(relation)).length;
}

/** Returns the elements of each key, in the order of the first of each. */
function groupBy<T>(elements: T[], keyOf: (element: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const element of elements) {
    const group = groups.get(keyOf(element));
    if (group) group.push(element);
    else groups.set(keyOf(element), [element]);
  }
  return groups;
}
