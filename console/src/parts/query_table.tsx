import { writeObject } from "../names";
import { showDistinctRelation, showRelation } from "../openfga_names";
import { writeRow, type QueryRow } from "../query_row";
import { link } from "../route";
import * as words from "../words";
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
      label={words.queries.results}
      headings={[areSubjects ? words.terms.subject : words.terms.object, words.terms.relation, words.tables.how, words.tables.because]}
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
          <td>{row.isImplicit ? words.terms.byRules : words.terms.byWarrant}</td>
          <td>{row.warrant ? <WarrantWords warrant={row.warrant} /> : words.tables.nothingExcludes}</td>
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
                {words.tables.why(`${writeRow(row)} ${row.relation}`)}
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
