import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { read, Refused } from "../api";
import { save } from "../export";
import { useLoaded } from "../loading";
import type { CodeEditor } from "../model/code_editor";
import type { ModelFault, Validation } from "../model/faults";
import { formatModel, readModel, type ImportedModel, type StoredModel } from "../model/stored";
import { Mark } from "../parts/icons";
import { remainder } from "../model/whole_file";
import { ImportModel } from "../parts/import_model";
import { ImportRest } from "../parts/import_rest";
import { Busy, Fault, Notice } from "../parts/notice";
import { ChangeButton, Obstacle } from "../parts/permission";
import { ReviewDialog } from "../parts/review";
import { adjust, asOf, route } from "../route";
import { loadObjectTypes } from "../schema";
import * as words from "../words";

const PAUSE_MS = 300;
const MODEL = { scope: "model", ofAllTypes: true } as const;
const START = `version 1.0

type user

type document
    relation owner [user]

    relation viewer [user]
    inherit viewer if
        relation owner
`;

/** What was written and not saved: it stays when another page is opened, until the tab is closed. */
const draft = signal<{ text: string; base: StoredModel } | undefined>(undefined);

/** Shows the model as text and as a graph, validates changes, and saves them after showing what they would do. */
export function ModelPage() {
  const loaded = useLoaded((aborted) => readModel(aborted, asOf.value), [asOf.value]);
  const [done, setDone] = useState("");
  return (
    <div class="model">
      <h1>{words.pages.model}</h1>
      {done && (
        <Notice>
          <p>{done}</p>
        </Notice>
      )}
      {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {loaded.value === undefined && !loaded.fault && <Busy what={words.model.reading} />}
      {loaded.value !== undefined && (
        <Editor
          stored={loaded.value}
          key={`${asOf.value ?? ""} ${loaded.value.text}`}
          onSaved={() => {
            draft.value = undefined;
            setDone(words.model.saved);
            loaded.reload();
            void loadObjectTypes();
          }}
          onChange={() => setDone("")}
        />
      )}
    </div>
  );
}

interface EditorProperties {
  stored: StoredModel;
  onSaved: () => void;
  onChange: () => void;
}

function Editor({ stored, onSaved, onChange }: EditorProperties) {
  const isPast = asOf.value !== undefined;
  const isEmpty = !/^type /m.test(stored.text);
  const first = isEmpty ? START : stored.text;
  const kept = isPast ? undefined : draft.peek();
  const base = useRef(kept?.base ?? stored);
  const [text, setText] = useState(kept?.text ?? first);
  const [settled, setSettled] = useState(text);
  const [isReviewing, setReviewing] = useState(false);
  const [isImporting, setImporting] = useState(false);
  const [imported, setImported] = useState<ImportedModel>();
  const [fault, setFault] = useState<Refused>();
  const editor = useRef<CodeEditor | undefined>(undefined);
  const isChanged = text !== first;

  const workbench = useLoaded(loadWorkbench, []);
  // The first steps lead to an open dialog; the parameter is not kept, so that it opens once.
  const { open: wanted } = route.value.parameters;
  useEffect(() => {
    if (!wanted) return;
    setImporting(wanted === "import" && !isPast);
    adjust({ open: undefined });
  }, [wanted]);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const validation = useLoaded((aborted) => read<Validation>("v2/model/validate", { text: settled, signal: aborted }), [settled]);
  const found = validation.value;
  const isSettled = settled === text && !validation.isLoading;

  function change(changed: string) {
    setText(changed);
    setFault(undefined);
    onChange();
    if (!isPast) draft.value = changed === first ? undefined : { text: changed, base: base.current };
  }

  function show(model: ImportedModel) {
    setImported(model);
    remainder.value = model.rest;
    // The editor may not be loaded yet; it begins with the text then.
    if (editor.current) editor.current.setText(model.text);
    else change(model.text);
  }

  function reset() {
    setImported(undefined);
    remainder.value = undefined;
    base.current = stored;
    editor.current?.setText(first);
  }

  async function format() {
    try {
      editor.current?.setText(await formatModel(text));
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setFault(refused);
    }
  }

  const Workbench = workbench.value;
  return (
    <>
      <div class="actions">
        <ChangeButton
          needs={MODEL}
          class="primary"
          disabled={!(isChanged || isEmpty) || !isSettled || !found?.valid}
          onClick={() => setReviewing(true)}
        >
          {words.model.review}
        </ChangeButton>
        {!isPast && (
          <button type="button" class="quiet" disabled={!isSettled || !found?.valid} onClick={format}>
            {words.model.format}
          </button>
        )}
        {isChanged && !isPast && (
          <button type="button" class="quiet" onClick={reset}>
            {words.model.backToStored}
          </button>
        )}
        {!isPast && (
          <button type="button" class="quiet" onClick={() => setImporting(true)}>
            {words.model.importIt}
          </button>
        )}
        <button type="button" class="quiet" onClick={() => save("model.txt", "text/plain", text)}>
          {words.actions.download}
        </button>
        <Obstacle needs={MODEL}>{words.model.cannotSave}</Obstacle>
      </div>
      {fault && <Fault fault={fault} />}
      {imported && <ImportNotes notes={imported.notes} />}
      {remainder.value && !isPast && <ImportRest rest={remainder.value} isModelFirst={isChanged} />}
      {workbench.fault && <Fault fault={workbench.fault} />}
      {Workbench ? (
        <Workbench
          first={text}
          settled={settled}
          found={found}
          isReadOnly={isPast}
          start={route.value.parameters.of}
          onText={change}
          onReady={(made) => (editor.current = made)}
        />
      ) : (
        !workbench.fault && <Busy what={words.model.loadingEditor} />
      )}
      <section class="faults card" aria-label={words.model.validation} aria-live="polite">
        {validation.fault && <Fault fault={validation.fault} retry={validation.reload} />}
        {!found && !validation.fault && <Busy what={words.model.validating} />}
        {found && <Verdict found={found} />}
        {found && <FaultList title={words.model.errors} faults={found.errors} onChoose={(one) => editor.current?.goTo(one.line, one.column)} />}
        {found && <FaultList title={words.model.warnings} faults={found.warnings} onChoose={(one) => editor.current?.goTo(one.line, one.column)} />}
      </section>
      {isReviewing && (
        <ReviewDialog text={text} base={base.current} onSaved={onSaved} onClose={() => setReviewing(false)} />
      )}
      {isImporting && <ImportModel onImported={show} onClose={() => setImporting(false)} />}
    </>
  );
}

function ImportNotes({ notes }: { notes: string[] }) {
  return (
    <Notice>
      <p>{words.model.isInEditor}</p>
      {notes.length > 0 && (
        <ul>
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </Notice>
  );
}

/** Loads the editor and the graph, which only this page needs. */
async function loadWorkbench() {
  try {
    return (await import("../model/workbench")).Workbench;
  } catch {
    throw new Refused(0, "unreachable", words.model.editorNotLoaded);
  }
}

function Verdict({ found }: { found: Validation }) {
  return (
    <p class="sentence-line">
      <Mark tone={found.valid ? "yes" : "no"}>{found.valid ? words.model.valid : words.model.notValid}</Mark>{" "}
      {found.valid && found.warnings.length === 0 && words.model.noFaults}
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
              {words.model.place(fault.line, fault.column)}
            </button>
            <span>{fault.message}</span>
            {fault.suggestion && !fault.message.includes(fault.suggestion) && (
              <span class="hint">{words.model.write(fault.suggestion)}</span>
            )}
            <code class="hint">{fault.code}</code>
          </li>
        ))}
      </ul>
    </>
  );
}
