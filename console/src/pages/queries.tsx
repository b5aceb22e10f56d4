import { useLayoutEffect, useState } from "preact/hooks";
import { MOST_EXPORTED } from "../all_pages";
import { findObstacle, Refused } from "../api";
import { writeCurl, writeQueryCommand } from "../commands_elsewhere";
import { save, writeQueryLines } from "../export";
import { useLoaded } from "../loading";
import { ExampleButton } from "../parts/example_button";
import { CopyAs, describeService } from "../parts/copy_as";
import { CompletedField } from "../parts/field";
import { Busy, Empty, Fault } from "../parts/notice";
import { Pager } from "../parts/pager";
import { ChangeButton } from "../parts/permission";
import { QueryTable } from "../parts/query_table";
import { SavedQueries, SaveQuery } from "../parts/saved_queries";
import { readRows, runQuery } from "../query";
import type { QueryRow } from "../query_row";
import { completeQuery } from "../query_completion";
import { readAbout } from "../query_grammar";
import { go, link, route } from "../route";
import { listSavedQueries, SAVE } from "../saved_queries";
import { objectTypes, type Page } from "../schema";

const PAGE_SIZE = 50;

export function QueriesPage() {
  const { q = "", context = "", next, prev, at } = route.value.parameters;
  const [given, setGiven] = useState({ q, context });
  const [isSaving, setSaving] = useState(false);
  const [note, setNote] = useState("");
  useLayoutEffect(() => {
    setGiven({ q, context });
    setNote("");
  }, [q, context]);
  const loaded = useLoaded(
    q ? (signal) => runQuery(q, context, { limit: PAGE_SIZE, nextCursor: next, prevCursor: prev, asOf: at }, signal) : undefined,
    [q, context, next, prev, at],
  );
  const saved = useLoaded(q ? undefined : listSavedQueries, [q]);
  function finish(sentence: string) {
    setNote(sentence);
    saved.reload();
  }
  // What was wrong with the query before says nothing about the one that is being written.
  const isEdited = given.q !== q || given.context !== context;
  const run = () => go("queries", { q: given.q.trim(), context: given.context.trim() });
  return (
    <div>
      <h1>Queries</h1>
      <form
        class="card query"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <CompletedField
          label="Query"
          placeholder="select document where user:ann is viewer"
          value={given.q}
          complete={completeQuery}
          onInput={(text) => setGiven((present) => ({ ...present, q: text }))}
          isRequired
          hint={
            <>
              <code>select TYPES where TYPE:ID is RELATIONS</code> finds objects,{" "}
              <code>select RELATIONS of type TYPES for TYPE:ID</code> finds subjects.
            </>
          }
        />
        <details open={given.context !== ""}>
          <summary>Context for policies</summary>
          <div class="field">
            <label for="context">JSON object</label>
            <input
              id="context"
              type="text"
              class="code"
              spellcheck={false}
              placeholder='{"network": "office"}'
              value={given.context}
              onInput={(event) => setGiven({ ...given, context: event.currentTarget.value })}
            />
          </div>
        </details>
        <div class="actions">
          <button type="submit" class="primary">
            Run
          </button>
          {!findObstacle(SAVE) && (
            <ChangeButton needs={SAVE} class="quiet" disabled={given.q.trim() === ""} onClick={() => setSaving(true)}>
              Save…
            </ChangeButton>
          )}
          <span class="hint" role="status">
            {note}
          </span>
        </div>
      </form>
      {isSaving && (
        <SaveQuery fields={{ name: "", description: "", ...given }} onClose={() => setSaving(false)} onDone={(name) => finish(`Saved as ${name}.`)} />
      )}
      {saved.fault && <Fault fault={saved.fault} retry={saved.reload} />}
      {!q && saved.value && <SavedQueries saved={saved.value} onDone={finish} />}
      {!q && <Examples />}
      {loaded.fault && !isEdited && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {q && !loaded.value && !loaded.fault && <Busy what="Searching" />}
      {loaded.value?.results.length === 0 && (
        <Empty title="Nothing has that.">
          <p>A row is here exactly when a check of it is allowed.</p>
        </Empty>
      )}
      {loaded.value && loaded.value.results.length > 0 && <Results page={loaded.value} q={q} context={context} at={at} />}
    </div>
  );
}

interface ResultsProperties {
  page: Page<QueryRow>;
  q: string;
  context: string;
  at?: string;
}

function Results({ page, q, context, at }: ResultsProperties) {
  const [fault, setFault] = useState<Refused>();
  const [note, setNote] = useState("");
  const { name, areSubjects } = readAbout(q);

  async function exportJson() {
    setFault(undefined);
    setNote("Reading all rows…");
    try {
      const { rows, isCut } = await readRows(q, context, MOST_EXPORTED, at);
      save("results.json", "application/json", `${JSON.stringify(rows, null, 2)}\n`);
      setNote(isCut ? `Saved the first ${rows.length} rows: an export has no more.` : `Saved ${rows.length} rows.`);
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setNote("");
      setFault(refused);
    }
  }

  return (
    <>
      <div class="heading">
        <h2>Results</h2>
        <div class="actions">
          <span class="hint" role="status">
            {note}
          </span>
          <button type="button" class="quiet" onClick={exportJson}>
            Export JSON
          </button>
        </div>
      </div>
      {fault && <Fault fault={fault} />}
      <QueryTable
        rows={page.results}
        fixed={name}
        areSubjects={areSubjects}
        context={context}
        readLines={async (signal) => {
          const { rows, isCut } = await readRows(q, context, MOST_EXPORTED, at, signal);
          return { lines: writeQueryLines(rows), isCut };
        }}
      />
      <Pager page={page} />
      <CopyAs
        forms={{
          curl: () => writeCurl(describeService(), "v2/query", { q, context: context ? JSON.parse(context) : undefined, asOf: at }),
          "a command": () => {
            const values = context ? (JSON.parse(context) as Record<string, unknown>) : undefined;
            return writeQueryCommand(describeService(), q, values, at);
          },
        }}
      />
    </>
  );
}

/** Teaches the language with the names of this service. */
function Examples() {
  const type = objectTypes.value?.filter((one) => Object.keys(one.relations).length > 1).at(-1);
  const relation = type ? Object.keys(type.relations)[0] : undefined;
  if (!type || !relation) {
    return (
      <Empty title="There is nothing to query yet: the model has no relations.">
        <p>
          Write relations into the <a href={link("model")}>model</a>, or start with an example: documents in folders, shared with
          people and groups.
        </p>
        <ExampleButton />
      </Empty>
    );
  }
  const queries = [
    [`select ${type.type} where user:ann is *`, `which objects of type ${type.type} ann has any relation on`],
    [`select * where user:ann is *`, "everything that ann has access to"],
    [`select explicit ${type.type} where user:ann is ${relation}`, "only what warrants give, without rules"],
  ];
  return (
    <Empty title="List objects, or subjects.">
      <ul class="starts">
        {queries.map(([q = "", meaning]) => (
          <li key={q}>
            <button type="button" class="linklike" onClick={() => go("queries", { q })}>
              <code>{q}</code>
            </button>
            <span class="hint">{meaning}</span>
          </li>
        ))}
      </ul>
    </Empty>
  );
}
