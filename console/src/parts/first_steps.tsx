import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { onlyTypes, read } from "../api";
import { EXAMPLES } from "../examples";
import { useLoaded } from "../loading";
import type { Warrant } from "../names";
import { link } from "../route";
import { objectTypes, schemaFault, type Page } from "../schema";
import * as words from "../words";
import { ExampleButton } from "./example_button";
import { Icon } from "./icons";
import { Busy, Empty, Fault } from "./notice";

const STORED = "magistrate.has-checked";
const SHOWN_TYPES = 6;
/** The types with which a store begins that programs written for Warrant use (docs/stores.md). */
const OF_WARRANT = ["feature", "permission", "pricing-tier", "role", "tenant", "user"];

/** Remembers that a check was explained in this browser, and nothing about it. */
export function noteFirstCheck(): void {
  localStorage.setItem(STORED, "true");
}

/** Leads from an empty store to the first check; later it says what this page does. */
export function FirstSteps() {
  const types = objectTypes.value;
  const [turn, setTurn] = useState(0);
  const hasTypes = types !== undefined && types.length > 0;
  const loaded = useLoaded(
    types ? (signal) => read<Page<Warrant>>("v2/warrants", { query: { limit: 1, objectType: onlyTypes.value?.[0] }, signal }) : undefined,
    [types, turn],
  );
  if (schemaFault.value) return <Fault fault={schemaFault.value} />;
  if (types === undefined) return <Busy what={words.model.reading} />;
  const hasWarrants = loaded.value ? loaded.value.results.length > 0 : loaded.fault ? true : undefined;
  if (hasTypes && hasWarrants === undefined) return <Busy what={words.data.readingWarrants} />;
  const isUntouched = hasWarrants === false && types.map(({ type }) => type).toSorted().join() === OF_WARRANT.join();
  const hasModel = hasTypes && !isUntouched;
  if (hasModel && hasWarrants && localStorage.getItem(STORED)) return <Choose />;
  return (
    <>
      {hasModel && hasWarrants && <Choose />}
      <section class="card" aria-label={words.firstSteps.title}>
        <ol class="steps">
          <Step title={words.firstSteps.model} isDone={hasModel}>
            {hasModel ? (
              <p>
                {words.firstSteps.modelAdvice(types.length, link("model"))}
              </p>
            ) : (
              <Beginnings isUntouched={isUntouched} onLoaded={() => setTurn((count) => count + 1)} />
            )}
          </Step>
          <Step title={words.firstSteps.warrant} isDone={hasModel && hasWarrants === true}>
            <p>
              {words.firstSteps.warrantAdvice}
            </p>
            {hasTypes && (
              <p>
                {words.firstSteps.writeWarrant(link("data", { show: "warrants", open: "warrant" }), link("data", { open: "file" }))}
              </p>
            )}
          </Step>
          <Step title={words.firstSteps.check} isDone={false}>
            <p>{words.firstSteps.checkAdvice}</p>
          </Step>
        </ol>
      </section>
    </>
  );
}

function Step({ title, isDone, children }: { title: string; isDone: boolean; children: ComponentChildren }) {
  return (
    <li>
      <span class={isDone ? "tick done" : "tick"}>{isDone && <Icon name="yes" />}</span>
      <h2>
        {title}
        {isDone && <span class="sr">{words.firstSteps.done}</span>}
      </h2>
      {children}
    </li>
  );
}

/** Offers the ways to a first model. */
function Beginnings({ isUntouched, onLoaded }: { isUntouched: boolean; onLoaded: () => void }) {
  return (
    <>
      <p>
        {words.firstSteps.begin(isUntouched)}
      </p>
      <ul class="examples">
        {EXAMPLES.map((example) => (
          <li key={example.name} class="card">
            <h3>{example.title}</h3>
            <p class="chain">
              {example.types.map((type, place) => (
                <>
                  {place > 0 && <span aria-hidden="true">→</span>}
                  <span class="name">{type}</span>
                </>
              ))}
            </p>
            <p class="hint">{example.meaning}</p>
            <div class="actions small">
              <ExampleButton example={example} isWhole={isUntouched} onDone={onLoaded} />
            </div>
          </li>
        ))}
      </ul>
      <p>
        {words.firstSteps.ownModel(link("model"), link("model", { open: "import" }))}
      </p>
      <details>
        <summary>{words.firstSteps.move}</summary>
        <p>{words.firstSteps.moveAdvice}</p>
        <pre>
          {[
            "magistrate import --from-openfga model.fga tuples.csv --database-url sqlite:///magistrate.db",
            "magistrate import --from-spicedb schema.zed relationships.txt --database-url sqlite:///magistrate.db",
            "magistrate import --from-warrant URL --database-url sqlite:///magistrate.db",
          ].join("\n")}
        </pre>
        <p>{words.firstSteps.tryFile}</p>
        <pre>magistrate playground store.fga.yaml</pre>
      </details>
    </>
  );
}

function Choose() {
  const types = (objectTypes.value ?? []).filter((type) => Object.keys(type.relations).length > 0);
  return (
    <Empty title={words.firstSteps.choose}>
      <p>
        {words.firstSteps.chooseAdvice}
      </p>
      <ul class="starts">
        {types.slice(0, SHOWN_TYPES).map((type) => (
          <li key={type.type}>
            <Icon name="why" />
            <a href={link("data", { type: type.type })}>
              {words.firstSteps.objectsOf(type.type)}
            </a>
          </li>
        ))}
      </ul>
    </Empty>
  );
}
