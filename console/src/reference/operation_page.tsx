import { useMemo, useState } from "preact/hooks";
import { key } from "../api";
import * as words from "../words";
import { type ApiDocument, type Operation, describeType, listBounds, resolve, sketchValue } from "./document";
import { KeyField } from "./key_field";
import { Prose } from "./prose";
import { Method } from "./reference";
import { type Draft, type Shown, buildTarget, listMissing, listSnippets, sendDraft } from "./request";
import { SchemaView } from "./schema_view";

interface Props {
  api: ApiDocument;
  operation: Operation;
}

/** Returns the request that the form begins with: the example, or else values of the right form. */
function draftOf({ api, operation }: Props): Draft {
  const content = operation.requestBody?.content["application/json"];
  const value = content && (content.example ?? sketchValue(api, content.schema));
  const parameters = operation.parameters.map(({ name, example }) => [name, example ?? ""]);
  return { parameters: Object.fromEntries(parameters), body: value === undefined ? "" : JSON.stringify(value, null, 2) };
}

export function OperationPage({ api, operation }: Props) {
  const content = operation.requestBody?.content["application/json"];
  const answer = operation.responses["200"]?.content?.["application/json"];
  return (
    <div class="operation">
      <h1>{operation.summary}</h1>
      <p class="target">
        <Method name={operation.method} /> <code>{operation.path}</code>
      </p>
      <p><Prose text={operation.description} /></p>
      <div class="columns">
        <div>
          {operation.parameters.length > 0 && <Parameters api={api} operation={operation} />}
          {content && (
            <section class="card" aria-labelledby="body">
              <h2 id="body">{words.reference.body}</h2>
              <p class="hint">{describeType(api, content.schema)}</p>
              <SchemaView api={api} schema={content.schema} />
            </section>
          )}
          <section class="card" aria-labelledby="answers">
            <h2 id="answers">{words.reference.answers}</h2>
            <dl class="members">
              {Object.entries(operation.responses).map(([status, { description }]) => (
                <>
                  <dt key={status}><code>{status}</code></dt>
                  <dd><span><Prose text={description} /></span></dd>
                </>
              ))}
            </dl>
            {answer && (
              <>
                <h3>{words.reference.members}</h3>
                <SchemaView api={api} schema={answer.schema} />
              </>
            )}
          </section>
        </div>
        <Attempt api={api} operation={operation} />
      </div>
    </div>
  );
}

function Parameters({ api, operation }: Props) {
  return (
    <section class="card" aria-labelledby="parameters">
      <h2 id="parameters">{words.reference.parameters}</h2>
      <dl class="members">
        {operation.parameters.map((parameter) => (
          <>
            <dt key={parameter.name}>
              <code>{parameter.name}</code> {parameter.required && <span class="bound">{words.reference.required}</span>}
            </dt>
            <dd>
              <span>
                {words.reference.parameter(describeType(api, parameter.schema), parameter.in === "header" ? "headers" : parameter.in)}
              </span>
              {listBounds(resolve(api, parameter.schema)).map((text) => (
                <span key={text} class="bound">{text}</span>
              ))}
              {parameter.description && <p class="hint"><Prose text={parameter.description} /></p>}
            </dd>
          </>
        ))}
      </dl>
    </section>
  );
}

/** A form that sends the request, and the same request for other clients. */
function Attempt({ api, operation }: Props) {
  const [draft, setDraft] = useState(() => draftOf({ api, operation }));
  const [shown, setShown] = useState<Shown | string>();
  const [isSending, setSending] = useState(false);
  const root = useMemo(() => api.servers?.[0]?.url ?? new URL(".", location.href).href.replace(/\/$/, ""), [api]);
  const missing = listMissing(operation, draft);
  const change = (name: string, value: string) =>
    setDraft({ ...draft, parameters: { ...draft.parameters, [name]: value } });

  const submit = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    try {
      setShown(await sendDraft(operation, draft, key.value ?? ""));
    } catch {
      setShown(words.reference.failure(words.refusals.noAnswer, words.refusals.checkService));
    }
    setSending(false);
  };

  return (
    <div class="attempt">
      <section class="card" aria-labelledby="try">
        <h2 id="try">{words.reference.tryIt}</h2>
        <KeyField />
        <form onSubmit={submit}>
          {operation.parameters.map(({ name, required, schema }) => (
            <div key={name} class="field">
              <label for={`value-${name}`}>{name}</label>
              <input
                id={`value-${name}`}
                class="code"
                required={required}
                placeholder={describeType(api, schema)}
                value={draft.parameters[name]}
                onInput={(event) => change(name, event.currentTarget.value)}
              />
            </div>
          ))}
          {operation.requestBody && (
            <div class="field">
              <label for="draft">{words.reference.body}</label>
              <textarea
                id="draft"
                class="code"
                rows={Math.min(24, draft.body.split("\n").length + 1)}
                spellcheck={false}
                value={draft.body}
                onInput={(event) => setDraft({ ...draft, body: event.currentTarget.value })}
              />
            </div>
          )}
          <div class="actions">
            <button type="submit" class="primary" disabled={key.value === null || missing.length > 0 || isSending}>
              {words.reference.send}
            </button>
            {key.value === null && <span class="hint">{words.reference.noKey}</span>}
          </div>
        </form>
        <div aria-live="polite">{shown !== undefined && <Result shown={shown} />}</div>
      </section>
      <Snippets snippets={listSnippets(operation, draft, `${root}/`)} target={buildTarget(operation, draft)} />
    </div>
  );
}

function Result({ shown }: { shown: Shown | string }) {
  if (typeof shown === "string") return <p class="notice fault">{shown}</p>;
  return (
    <div class="answered">
      <p>
        <span class={`mark ${shown.status < 400 ? "yes" : "no"}`}>{shown.status}</span>{" "}
        <span class="hint">{words.reference.duration(Math.round(shown.milliseconds))}</span>
      </p>
      {shown.headers.map(([name, value]) => (
        <p key={name} class="hint name">{name}: {value}</p>
      ))}
      {shown.text && <pre tabIndex={0} aria-label={words.reference.answer}>{shown.text}</pre>}
    </div>
  );
}

function Snippets({ snippets, target }: { snippets: Record<string, string>; target: string }) {
  const [language, setLanguage] = useState("curl");
  return (
    <section class="card" aria-labelledby="snippets">
      <h2 id="snippets">{words.reference.elsewhere}</h2>
      <div class="field">
        <label for="language">{words.reference.language}</label>
        <select id="language" value={language} onChange={(event) => setLanguage(event.currentTarget.value)}>
          {Object.keys(snippets).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
      <pre tabIndex={0} aria-label={`${language}, ${target}`}>{snippets[language]}</pre>
    </section>
  );
}
