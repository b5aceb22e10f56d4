import { writeObject } from "../names";
import { showDistinctRelation, showRelation } from "../openfga_names";
import { writeRow, type QueryRow } from "../query_row";
import { link } from "../route";
import { ObjectLink, WarrantWords } from "./names";
import type { ReadLines } from "./export_table";
import { Pin } from "./pin";
import { Table } from "./table";

interface Properties {
  rows: QueryRow[];
  /** The object, or the subject, that all rows are about; undefined if it is not known. */
  fixed?: string;
  /** Whether the rows are subjects that have relations on `fixed`. */
  areSubjects: boolean;
  context?: string;
  readLines?: ReadLines;
}

/** Shows the rows of a query, each with the reason that the service reports. */
export function QueryTable({ rows, fixed, areSubjects, context, readLines }: Properties) {
  return (
    <Table
      label="Results"
      headings={[areSubjects ? "Subject" : "Object", "Relation", "How", "Because"]}
      hasActions
      readLines={readLines}
    >
      {rows.map((row) => (
        <tr key={`${writeRow(row)}#${row.relation}`}>
          <td>
            <ObjectLink object={row} />
            {row.subjectRelation && `#${showRelation(row.subjectRelation)}`}
          </td>
          <td>
            <b>{showDistinctRelation(row.relation)}</b>
          </td>
          <td>{row.isImplicit ? "by rules" : "by warrant"}</td>
          <td>{row.warrant ? <WarrantWords warrant={row.warrant} /> : "nothing excludes it"}</td>
          <td class="row-actions">
            {fixed && row.objectId !== "*" && (
              <a
                href={link("why", {
                  subject: areSubjects ? writeRow(row) : fixed,
                  relation: row.relation,
                  object: areSubjects ? fixed : writeObject(row),
                  context,
                })}
              >
                Why
                <span class="sr">
                  {" "}
                  {writeRow(row)} {row.relation}
                </span>
              </a>
            )}
            {fixed && row.objectId !== "*" && (
              <Pin
                subject={areSubjects ? writeRow(row) : fixed}
                relation={row.relation}
                object={areSubjects ? fixed : writeObject(row)}
                context={context}
              />
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
