import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { ExportTable, type ReadLines } from "./export_table";
import { Scroller } from "./scroller";
import * as words from "../words";

interface Properties {
  label: string;
  headings: string[];
  /** Whether there is a last column with links and buttons. */
  hasActions?: boolean;
  /** Reads all rows for an export, where the table shows one of several pages. */
  readLines?: ReadLines;
  /** The rows. */
  children: ComponentChildren;
}

/** Represents a table that scrolls by itself, also by keyboard, where the screen is narrow, and that can be saved. */
export function Table({ label, headings, hasActions, readLines, children }: Properties) {
  const table = useRef<HTMLTableElement>(null);
  return (
    <div class="exported">
      <Scroller label={label}>
        <table ref={table}>
          <thead>
            <tr>
              {headings.map((heading) => (
                <th scope="col" key={heading}>
                  {heading}
                </th>
              ))}
              {hasActions && (
                <th scope="col" class="actions-heading">
                  <span class="sr">{words.tables.actions}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </Scroller>
      <ExportTable label={label} table={table} readLines={readLines} />
    </div>
  );
}
