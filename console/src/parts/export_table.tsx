import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../api";
import { readTable, save, toCsv, type Lines } from "../export";
import * as words from "../words";
import { Fault } from "./notice";

/** Has the lines of a list, or its first ones. */
export interface ExportedLines {
  lines: Lines;
  /** Whether the list has others. */
  isCut: boolean;
}

/** Reads the lines of all pages of a list. */
export type ReadLines = (signal: AbortSignal) => Promise<ExportedLines>;

interface Properties {
  label: string;
  table: RefObject<HTMLTableElement | null>;
  /** Reads what is saved; absent: what the table shows is saved. */
  readLines?: ReadLines;
}

/** Saves a table as CSV. */
export function ExportTable({ label, table, readLines }: Properties) {
  const [fault, setFault] = useState<Refused>();
  const [note, setNote] = useState("");
  const [isReading, setReading] = useState(false);
  const aborter = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => aborter.current?.abort(), []);

  async function readExported(): Promise<ExportedLines> {
    if (!readLines) return { lines: table.current ? readTable(table.current) : [], isCut: false };
    aborter.current = new AbortController();
    return readLines(aborter.current.signal);
  }

  async function saveLines() {
    if (isReading) return;
    setFault(undefined);
    setNote(readLines ? words.actions.readingRows : "");
    setReading(true);
    try {
      const { lines, isCut } = await readExported();
      save(`${label.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv`, "text/csv", toCsv(lines));
      setNote(words.actions.savedRows(lines.length - 1, isCut));
    } catch (thrown) {
      if (aborter.current?.signal.aborted) return;
      if (!(thrown instanceof Refused)) throw thrown;
      setNote("");
      setFault(thrown);
    } finally {
      setReading(false);
    }
  }

  return (
    <div class="export">
      <span class="hint" role="status">
        {note}
      </span>
      <button type="button" class="quiet" aria-disabled={isReading} onClick={saveLines}>
        {words.actions.exportCsv(label)}
      </button>
      {fault && <Fault fault={fault} />}
    </div>
  );
}
