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
import * as words from "../words";

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
      <h1>{words.pages.queries}</h1>
      <form
        class="card query"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <CompletedField
          label={words.terms.query}
          placeholder={words.queries.example}
          value={given.q}
          complete={completeQuery}
          onInput={(text) => setGiven((present) => ({ ...present, q: text }))}
          isRequired
          hint={
            <>
              {words.queries.grammar}
            </>
          }
        />
        <details open={given.context !== ""}>
          <summary>{words.why.context}</summary>
          <div class="field">
            <label for="context">{words.why.jsonObject}</label>
            <input
              id="context"
              type="text"
              class="code"
              spellcheck={false}
              placeholder={words.examples.context}
              value={given.context}
              onInput={(event) => setGiven({ ...given, context: event.currentTarget.value })}
            />
          </div>
        </details>
        <div class="actions">
          <button type="submit" class="primary">
            {words.queries.run}
          </button>
          {!findObstacle(SAVE) && (
            <ChangeButton needs={SAVE} class="quiet" disabled={given.q.trim() === ""} onClick={() => setSaving(true)}>
              {words.queries.saveIt}
            </ChangeButton>
          )}
          <span class="hint" role="status">
            {note}
          </span>
        </div>
      </form>
      {isSaving && (
        <SaveQuery fields={{ name: "", description: "", ...given }} onClose={() => setSaving(false)} onDone={(name) => finish(words.queries.savedAs(name))} />
      )}
      {saved.fault && <Fault fault={saved.fault} retry={saved.reload} />}
      {!q && saved.value && <SavedQueries saved={saved.value} onDone={finish} />}
      {!q && <Examples />}
      {loaded.fault && !isEdited && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {q && !loaded.value && !loaded.fault && <Busy what={words.queries.searching} />}
      {loaded.value?.results.length === 0 && (
        <Empty title={words.queries.nothing}>
          <p>{words.queries.nothingAdvice}</p>
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
    setNote(words.actions.readingRows);
    try {
      const { rows, isCut } = await readRows(q, context, MOST_EXPORTED, at);
      save("results.json", "application/json", `${JSON.stringify(rows, null, 2)}\n`);
      setNote(words.actions.savedRows(rows.length, isCut));
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setNote("");
      setFault(refused);
    }
  }

  return (
    <>
      <div class="heading">
        <h2>{words.queries.results}</h2>
        <div class="actions">
          <span class="hint" role="status">
            {note}
          </span>
          <button type="button" class="quiet" onClick={exportJson}>
            {words.actions.exportJson}
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
          [words.copyAs.command]: () => {
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
      <Empty title={words.queries.noModel}>
        <p>
          {words.queries.noModelAdvice(link("model"))}
        </p>
        <ExampleButton />
      </Empty>
    );
  }
  const queries = [
    [`select ${type.type} where user:ann is *`, words.queries.startWithType(type.type)],
    [`select * where user:ann is *`, words.queries.startWithAll],
    [`select explicit ${type.type} where user:ann is ${relation}`, words.queries.startWithExplicit],
  ];
  return (
    <Empty title={words.queries.listObjects}>
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
