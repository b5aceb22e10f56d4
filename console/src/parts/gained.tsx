import { useEffect, useState } from "preact/hooks";
import { read } from "../api";
import { useLoaded } from "../loading";
import type { Page } from "../schema";
import * as words from "../words";
import { AccessRows, type AccessChange } from "./effect";
import { Busy, Fault } from "./notice";

const PAGE_SIZE = 50;

/** Shows who gained and who lost access between two revisions. */
export function Gained({ before, token }: { before: string; token: string }) {
  const [rows, setRows] = useState<AccessChange[]>([]);
  const [cursor, setCursor] = useState<string>();
  const loaded = useLoaded(
    (signal) => {
      const query = { from: before, to: token, limit: PAGE_SIZE, nextCursor: cursor };
      return read<Page<AccessChange>>("v2/difference", { query, signal });
    },
    [before, token, cursor],
  );
  useEffect(() => {
    const found = loaded.value;
    if (found) setRows((present) => [...present, ...found.results]);
  }, [loaded.value]);
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <Busy what={words.effects.comparing} />;
  if (loaded.value.results.length === 0 && rows.length === 0) return <p class="hint">{words.effects.nobody}</p>;
  return (
    <>
      <AccessRows rows={rows} />
      {loaded.value.nextCursor && (
        <button type="button" class="quiet" disabled={loaded.isLoading} onClick={() => setCursor(loaded.value?.nextCursor)}>
          {words.actions.showMore}
        </button>
      )}
    </>
  );
}
