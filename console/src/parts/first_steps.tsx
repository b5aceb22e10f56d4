import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { onlyTypes, read } from "../api";
import { EXAMPLES } from "../examples";
import { useLoaded } from "../loading";
import type { Warrant } from "../names";
import { link } from "../route";
import { objectTypes, schemaFault, type Page } from "../schema";
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
  if (types === undefined) return <Busy what="Reading the model" />;
  const hasWarrants = loaded.value ? loaded.value.results.length > 0 : loaded.fault ? true : undefined;
  if (hasTypes && hasWarrants === undefined) return <Busy what="Reading warrants" />;
  const isUntouched = hasWarrants === false && types.map(({ type }) => type).toSorted().join() === OF_WARRANT.join();
  const hasModel = hasTypes && !isUntouched;
  if (hasModel && hasWarrants && localStorage.getItem(STORED)) return <Choose />;
  return (
    <>
      {hasModel && hasWarrants && <Choose />}
      <section class="card" aria-label="First steps">
        <ol class="steps">
          <Step title="A model" isDone={hasModel}>
            {hasModel ? (
              <p>
                It has {types.length} {types.length === 1 ? "type" : "types"}. See or change them on the page <a href={link("model")}>Model</a>.
              </p>
            ) : (
              <Beginnings isUntouched={isUntouched} onLoaded={() => setTurn((count) => count + 1)} />
            )}
          </Step>
          <Step title="A first warrant" isDone={hasModel && hasWarrants === true}>
            <p>
              A warrant gives a subject a relation on an object, as in: user:kim is viewer of document:roadmap. It creates both.
            </p>
            {hasTypes && (
              <p>
                <a href={link("data", { show: "warrants", open: "warrant" })}>Write a warrant</a>, or{" "}
                <a href={link("data", { open: "file" })}>import a file</a> of them.
              </p>
            )}
          </Step>
          <Step title="A first check" isDone={false}>
            <p>Choose a subject, a relation and an object above. The answer comes with its reason.</p>
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
        {isDone && <span class="sr">: done</span>}
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
        {isUntouched ? (
          <strong>This service has only the six types that it begins with, those of Warrant.</strong>
        ) : (
          <strong>This service has no model yet.</strong>
        )}{" "}
        A model says which types of objects there are and what their relations mean. Begin with an example
        {isUntouched && ", which takes their place"}:
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
        Or <a href={link("model")}>write a model</a> of your own, or{" "}
        <a href={link("model", { open: "import" })}>import one from OpenFGA or SpiceDB</a>.
      </p>
      <details>
        <summary>Move from OpenFGA, SpiceDB or Warrant with all relationships</summary>
        <p>Whoever runs the service imports a model with its relationships, and sees what is translated, and how:</p>
        <pre>
          {[
            "magistrate import --from-openfga model.fga tuples.csv --database-url sqlite:///magistrate.db",
            "magistrate import --from-spicedb schema.zed relationships.txt --database-url sqlite:///magistrate.db",
            "magistrate import --from-warrant URL --database-url sqlite:///magistrate.db",
          ].join("\n")}
        </pre>
        <p>Or try a file with its tests, in memory:</p>
        <pre>magistrate playground store.fga.yaml</pre>
      </details>
    </>
  );
}

function Choose() {
  const types = (objectTypes.value ?? []).filter((type) => Object.keys(type.relations).length > 0);
  return (
    <Empty title="Choose a subject, a relation and an object.">
      <p>
        The answer comes with its path: the warrants and rules that it follows from. A denial comes with the smallest changes
        that would allow it.
      </p>
      <ul class="starts">
        {types.slice(0, SHOWN_TYPES).map((type) => (
          <li key={type.type}>
            <Icon name="why" />
            <a href={link("data", { type: type.type })}>
              Objects of type <b>{type.type}</b>
            </a>
          </li>
        ))}
      </ul>
    </Empty>
  );
}
