import { useRef, useState } from "preact/hooks";
import { countCells, filterLines, groupByReason, type Matrix, type MatrixLine } from "../access_matrix";
import { writeObject } from "../names";
import { showDistinctRelation, showRelation, showType } from "../openfga_names";
import { link } from "../route";
import { ExportTable } from "./export_table";
import { ObjectLink, WarrantWords } from "./names";
import { Time } from "./time";
import type { QueryRow } from "../query_row";
import * as words from "../words";
import { Scroller } from "./scroller";

interface Properties {
  matrix: Matrix;
  /** The object, or the subject, that all lines are about. */
  fixed: string;
  /** Whether the lines are subjects that have relations on `fixed`. */
  areSubjects: boolean;
  context: string;
  /** Shows only the lines with this text in their names. */
  filter: string;
  isGrouped: boolean;
}

/** Shows who has which relations, and how. Each mark leads to its explanation. */
export function AccessMatrix({ matrix, filter, isGrouped, ...about }: Properties) {
  const table = useRef<HTMLTableElement>(null);
  const [isUnfolded, setUnfolded] = useState(false);
  const relations = isUnfolded ? [...matrix.relations, ...matrix.folded] : matrix.relations;
  const lines = filterLines(matrix.lines, filter);
  const label = about.areSubjects ? words.access.who : words.access.to(matrix.objectType);
  return (
    <section class="matrix">
      <div class="heading">
        {!about.areSubjects && <h2>{showType(matrix.objectType)}</h2>}
        <p class="hint">
          {words.access.shown(lines.length, matrix.lines.length, about.areSubjects)}
        </p>
        {matrix.folded.length > 0 && (
          <button type="button" class="linklike" aria-expanded={isUnfolded} onClick={() => setUnfolded(!isUnfolded)}>
            {isUnfolded ? words.access.fewer : words.access.moreRelations(matrix.folded.length, matrix.folded.map(showDistinctRelation).join(", "))}
          </button>
        )}
      </div>
      <Scroller label={label}>
        <table ref={table}>
          <thead>
            <tr>
              <th scope="col">{about.areSubjects ? words.terms.subject : words.terms.object}</th>
              {relations.map((relation) => (
                <th scope="col" key={relation} data-text={showDistinctRelation(relation)}>
                  {showDistinctRelation(relation)} <span class="count">{countCells(lines, relation)}</span>
                </th>
              ))}
            </tr>
          </thead>
          {isGrouped ? (
            groupByReason(lines, relations).map(({ reason, lines: own }) => (
              <tbody key={reason ? JSON.stringify(reason) : ""}>
                <tr>
                  <th scope="rowgroup" colSpan={relations.length + 1} class="reason">
                    {reason ? <WarrantWords warrant={reason} /> : words.access.nothingExcludes}
                  </th>
                </tr>
                <Lines lines={own} relations={relations} {...about} />
              </tbody>
            ))
          ) : (
            <tbody>
              <Lines lines={lines} relations={relations} {...about} />
            </tbody>
          )}
        </table>
      </Scroller>
      <ExportTable label={label} table={table} />
    </section>
  );
}

interface LinesProperties extends Pick<Properties, "fixed" | "areSubjects" | "context"> {
  lines: MatrixLine[];
  relations: string[];
}

function Lines({ lines, relations, ...about }: LinesProperties) {
  return (
    <>
      {lines.map((line) => (
        <tr key={line.name}>
          <th scope="row">
            <ObjectLink object={line.row} />
            {line.row.subjectRelation && `#${showRelation(line.row.subjectRelation)}`}
          </th>
          {relations.map((relation) => (
            <td key={relation} data-text={describeCell(line.cells.get(relation))}>
              <Cell row={line.cells.get(relation)} name={line.name} {...about} />
            </td>
          ))}
        </tr>
      ))}
    </>
  );
}

interface CellProperties extends Pick<Properties, "fixed" | "areSubjects" | "context"> {
  row: QueryRow | undefined;
  name: string;
}

function Cell({ row, name, fixed, areSubjects, context }: CellProperties) {
  if (!row) return <span class="sr">{words.access.no}</span>;
  const { policy, expiresAt } = row.warrant ?? {};
  const mark = (
    <>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="5" class={row.isImplicit ? "ring" : "dot"} />
      </svg>
      <span class="sr">
        {words.access.cell(row.relation, name, row.isImplicit)}
      </span>
      {policy && <span class="condition"> {words.access.if}</span>}
      {expiresAt && (
        <span class="condition">
          {" "}
          {words.tables.until(<Time time={expiresAt} />)}
        </span>
      )}
    </>
  );
  if (row.objectId === "*") return <span class="cell">{mark}</span>;
  const check = areSubjects ? { subject: name, object: fixed } : { subject: fixed, object: writeObject(row) };
  return (
    <a
      class="cell"
      title={policy && words.explanation.ifPolicy(policy)}
      href={link("why", { ...check, relation: row.relation, context })}
    >
      {mark}
    </a>
  );
}

/** Says in a file what a mark means: how the access is given, under which condition, and until when. */
function describeCell(row: QueryRow | undefined): string {
  if (!row) return "";
  const { policy, expiresAt } = row.warrant ?? {};
  return words.access.exported(row.isImplicit, policy, expiresAt);
}

/** Explains the marks. */
export function MatrixLegend() {
  return (
    <ul class="legend">
      {(["dot", "ring"] as const).map((mark) => (
        <li key={mark}>
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <circle cx="8" cy="8" r="5" class={mark} />
          </svg>
          {mark === "dot" ? words.terms.byWarrant : words.terms.byRules}
        </li>
      ))}
      <li>
        {words.access.ifPolicy}
      </li>
    </ul>
  );
}
