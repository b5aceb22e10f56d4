/** Defines the rows of queries (docs/query-language.md). */

import { writeObject, type Warrant } from "./names";

export interface QueryRow {
  objectType: string;
  objectId: string;
  /** The relation of a group, if the query selects groups. */
  subjectRelation?: string;
  relation: string;
  isImplicit: boolean;
  warrant: Warrant | null;
  meta?: Record<string, unknown>;
}

/** Writes the object of a row, or its group: `team:eng#member`. */
export function writeRow(row: QueryRow): string {
  return writeObject(row) + (row.subjectRelation ? `#${row.subjectRelation}` : "");
}
