import { useEffect, useRef, useState } from "preact/hooks";
import { read, send } from "../api";
import { useLoaded } from "../loading";
import { Mark } from "../parts/icons";
import { Busy, Fault } from "../parts/notice";
import { asOf } from "../route";

interface ModelFault {
  line: number;
  column: number;
  code: string;
  message: string;
  suggestion?: string;
}

interface Validation {
  valid: boolean;
  errors: ModelFault[];
  warnings: ModelFault[];
}

const PAUSE_MS = 300;
const START = `version 1.0

type user

type document
    relation owner [user]
    relation viewer [user]
    inherit viewer if
        relation owner
`;

/** Shows the model as text, and tries changes of it: what is written here is validated, not stored. */
export function ModelPage() {
  const loaded = useLoaded(
    async (signal) => (await send("v2/model", { accept: "text/plain", query: { asOf: asOf.value }, signal })).text(),
    [asOf.value],
  );
  return (
    <div class="wide model">
      <h1>Model</h1>
      <p class="lead">
        The types of objects, what their relations mean, and who may be given them. Try changes here: they are validated as you
        type, and nothing is stored.
      </p>
      {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {loaded.value === undefined && !loaded.fault && <Busy what="Reading the model" />}
      {loaded.value !== undefined && <Editor stored={loaded.value} key={loaded.value} />}
    </div>
  );
}

function Editor({ stored }: { stored: string }) {
  const isEmpty = !/^type /m.test(stored);
  const [text, setText] = useState(isEmpty ? START : stored);
  const [checked, setChecked] = useState(text);
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const timer = setTimeout(() => setChecked(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);

  const validation = useLoaded(
    (signal) => read<Validation>("v2/model/validate", { text: checked, signal }),
    [checked],
  );
  const found = validation.value;
  const lines = text.split("\n");
  const bad = new Set(found?.errors.map((one) => one.line));
  const doubtful = new Set(found?.warnings.map((one) => one.line));

  function goTo(fault: ModelFault) {
    const start = lines.slice(0, fault.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    const place = Math.min(start + Math.max(fault.column - 1, 0), text.length);
    area.current?.focus();
    area.current?.setSelectionRange(place, place);
    if (area.current) {
      const height = area.current.scrollHeight / Math.max(lines.length, 1);
      area.current.scrollTop = Math.max((fault.line - 4) * height, 0);
    }
  }

  return (
    <div class="editor-and-faults">
      <div class="editor">
        <div class="gutter" aria-hidden="true" ref={gutter}>
          {lines.map((_, place) => (
            <span key={place} class={bad.has(place + 1) ? "bad" : doubtful.has(place + 1) ? "doubtful" : undefined}>
              {place + 1}
            </span>
          ))}
        </div>
        <textarea
          ref={area}
          aria-label="Model"
          spellcheck={false}
          wrap="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      <section class="faults card" aria-label="Validation" aria-live="polite">
        {validation.fault && <Fault fault={validation.fault} retry={validation.reload} />}
        {!found && !validation.fault && <Busy what="Validating" />}
        {found && <Verdict found={found} />}
        {found && <FaultList title="Errors" faults={found.errors} onChoose={goTo} />}
        {found && <FaultList title="Warnings" faults={found.warnings} onChoose={goTo} />}
        {text !== stored && !isEmpty && (
          <button type="button" class="quiet" onClick={() => setText(stored)}>
            Back to the stored model
          </button>
        )}
      </section>
    </div>
  );
}

function Verdict({ found }: { found: Validation }) {
  return (
    <p class="sentence-line">
      <Mark tone={found.valid ? "yes" : "no"}>{found.valid ? "Valid" : "Not valid"}</Mark>{" "}
      {found.valid && found.warnings.length === 0 && "The model has no faults."}
    </p>
  );
}

interface FaultListProperties {
  title: string;
  faults: ModelFault[];
  onChoose: (fault: ModelFault) => void;
}

function FaultList({ title, faults, onChoose }: FaultListProperties) {
  if (faults.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul class="fault-list">
        {faults.map((fault, place) => (
          <li key={place}>
            <button type="button" class="linklike" onClick={() => onChoose(fault)}>
              Line {fault.line}, column {fault.column}
            </button>
            <span>{fault.message}</span>
            {fault.suggestion && !fault.message.includes(fault.suggestion) && (
              <span class="hint">Write {fault.suggestion}.</span>
            )}
            <code class="hint">{fault.code}</code>
          </li>
        ))}
      </ul>
    </>
  );
}
