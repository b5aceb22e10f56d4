import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refused, read } from "../api";
import { describeEffects, listChanges, listRequirements, pathLinks, type Explanation } from "../explanation";
import { save } from "../export";
import { useLoaded } from "../loading";
import type { CodeEditor } from "../model/code_editor";
import type { ModelFault } from "../model/faults";
import { readCheck, writeObject, writeSubject } from "../names";
import { Confirm } from "../parts/confirm";
import { Mark } from "../parts/icons";
import { Busy, Empty, Fault } from "../parts/notice";
import { Path } from "../parts/path";
import { Tree } from "../parts/tree";
import { addEverything, addModel, MOST_WARRANTS, testFile } from "../pinned";
import { link } from "../route";
import { objectTypes } from "../schema";
import { findFault, listElements, WHOLE_LINE } from "../testing/places";
import * as words from "../words";

const PAUSE_MS = 300;
const MOST_BYTES = 4_194_304;

interface Result {
  name: string;
  /** The place of the test in the file, from 0. */
  test: number;
  passed: boolean;
  failure?: string;
  explanation?: Explanation;
}

interface Run {
  passed: number;
  failed: number;
  results: Result[];
}

export function TestsPage() {
  const text = testFile.value;
  // Somebody who deletes all of the text goes on in the editor.
  const [isOpen, setOpen] = useState(text !== "");
  useEffect(() => setOpen(isOpen || text !== ""), [text]);
  return (
    <div>
      <div class="heading">
        <h1>{words.pages.tests}</h1>
        <FileActions text={text} onClear={() => setOpen(false)} />
      </div>
      {text || isOpen ? <Editor text={text} /> : <FirstTest />}
    </div>
  );
}

function FileActions({ text, onClear }: { text: string; onClear: () => void }) {
  const [fault, setFault] = useState<Refused>();
  const [note, setNote] = useState("");
  const [isClearing, setClearing] = useState(false);
  const chooser = useRef<HTMLInputElement>(null);

  async function attempt(work: () => Promise<string>) {
    setFault(undefined);
    setNote("");
    try {
      setNote(await work());
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setFault(refused);
    }
  }

  async function saveTests() {
    save("model.test.yaml", "application/yaml", await addModel(text));
    return words.tests.saved;
  }

  async function saveEverything() {
    const file = await addEverything(text);
    save("playground.test.yaml", "application/yaml", file.text);
    return words.tests.savedAll(file.warrants, file.isCut ? MOST_WARRANTS : undefined);
  }

  async function open(file: File | undefined) {
    if (!file) return "";
    if (file.size > MOST_BYTES) throw new Refused(400, "invalid", words.tests.tooLarge);
    testFile.value = await file.text();
    return words.tests.opened(file.name);
  }

  return (
    <>
      <div class="actions">
        <input
          ref={chooser}
          type="file"
          class="sr"
          tabIndex={-1}
          aria-label={words.tests.file}
          accept=".yaml,.yml,.json"
          onChange={(event) => {
            const field = event.currentTarget;
            void attempt(() => open(field.files?.[0])).then(() => (field.value = ""));
          }}
        />
        <button type="button" class="quiet" onClick={() => chooser.current?.click()}>
          {words.tests.open}
        </button>
        {text && (
          <>
            <button type="button" class="quiet" onClick={() => attempt(saveTests)}>
              {words.actions.download}
            </button>
            <button type="button" class="quiet" onClick={() => setClearing(true)}>
              {words.tests.clear}
            </button>
          </>
        )}
        <button type="button" class="quiet" onClick={() => attempt(saveEverything)}>
          {words.tests.downloadAll}
        </button>
      </div>
      <p class="hint" role="status">
        {note}
      </p>
      {fault && <Fault fault={fault} />}
      {isClearing && (
        <Confirm
          title={words.tests.removeTitle}
          action={words.actions.remove}
          isDangerous
          onConfirm={() => {
            testFile.value = "";
            onClear();
            return Promise.resolve();
          }}
          onClose={() => setClearing(false)}
        >
          <p>{words.tests.removeAdvice}</p>
        </Confirm>
      )}
    </>
  );
}

function Editor({ text }: { text: string }) {
  const [checked, setChecked] = useState(text);
  const editor = useRef<CodeEditor | undefined>(undefined);
  const loadedEditor = useLoaded(loadEditor, []);
  useEffect(() => {
    const timer = setTimeout(() => setChecked(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const isEmpty = checked.trim() === "";
  const loaded = useLoaded(isEmpty ? undefined : (signal) => read<Run>("v2/model/test", { text: checked, signal }), [checked]);
  const { value: run, fault: refused } = loaded;
  const lines = useMemo(() => listElements(checked.split("\n"), "tests"), [checked]);
  const fault = useMemo(() => refused && findFault(refused.message, checked), [refused]);
  const faults = useMemo(() => (fault ? [fault] : []), [fault]);
  const failures = useMemo(() => (refused || !run ? [] : run.results.flatMap((one) => listFailures(one, lines))), [run, refused]);
  const goTo = (line: number, column?: number) => editor.current?.goTo(line, column);
  const TestsEditor = loadedEditor.value;
  return (
    <div class="tests">
      <div class="field">
        {TestsEditor ? (
          <TestsEditor
            text={text}
            faults={faults}
            failures={failures}
            onText={(changed) => (testFile.value = changed)}
            onReady={(made) => (editor.current = made)}
          />
        ) : (
          <div class="editor">{!loadedEditor.fault && <Busy what={words.model.loadingEditor} />}</div>
        )}
        {loadedEditor.fault && <Fault fault={loadedEditor.fault} />}
        <span class="hint">
          {words.tests.editorAdvice}
        </span>
      </div>
      <section class="card results" aria-label={words.queries.results} aria-live="polite" aria-busy={loaded.isLoading}>
        {refused && <Fault fault={refused} retry={loaded.reload} />}
        {fault && (
          <button type="button" class="linklike" onClick={() => goTo(fault.line, fault.column)}>
            {words.tests.line(fault.line)}
          </button>
        )}
        {isEmpty && <p>{words.tests.noTestsInFile}</p>}
        {!isEmpty && !run && !refused && <Busy what={words.tests.running} />}
        {run && <Results run={run} lines={lines} goTo={goTo} />}
      </section>
    </div>
  );
}

/** Loads the editor, which only this page needs. */
async function loadEditor() {
  try {
    return (await import("../testing/tests_editor")).TestsEditor;
  } catch {
    throw new Refused(0, "unreachable", words.model.editorNotLoaded);
  }
}

/** Returns a result as what is wrong with the line of its test, if it failed and has one. */
function listFailures({ test, failure }: Result, lines: number[]): ModelFault[] {
  const line = lines[test];
  return failure && line ? [{ line, column: WHOLE_LINE, code: "", message: failure }] : [];
}

interface ResultsProperties {
  run: Run;
  /** The line of each test. */
  lines: number[];
  goTo: (line: number) => void;
}

function Results({ run, lines, goTo }: ResultsProperties) {
  if (run.results.length === 0) return <p>{words.tests.noTestsInFile}</p>;
  const failed = run.results.filter((one) => !one.passed);
  const passed = run.results.filter((one) => one.passed);
  const list = (results: Result[]) => (
    <ul class="test-list">
      {results.map((one, place) => (
        <TestResult key={place} result={one} line={lines[one.test]} goTo={goTo} />
      ))}
    </ul>
  );
  return (
    <>
      <p class="sentence-line">
        <Mark tone={run.failed ? "no" : "yes"}>{run.failed ? words.tests.failed : words.tests.passed}</Mark>{" "}
        <b>
          {words.tests.counts(run.passed, run.failed)}
        </b>
      </p>
      {failed.length > 0 && list(failed)}
      {passed.length > 0 && (
        <details>
          <summary>{words.tests.whatPassed}</summary>
          {list(passed)}
        </details>
      )}
    </>
  );
}

interface ResultProperties {
  result: Result;
  line: number | undefined;
  goTo: (line: number) => void;
}

function TestResult({ result, line, goTo }: ResultProperties) {
  const { name, passed, failure, explanation } = result;
  return (
    <li>
      <Mark tone={passed ? "yes" : "no"}>{passed ? words.tests.passed : words.tests.failed}</Mark> <span class="name">{name}</span>{" "}
      {line && (
        <button type="button" class="linklike" onClick={() => goTo(line)}>
          {words.tests.line(line)}
        </button>
      )}
      {failure && <p class="failure">{failure}</p>}
      {explanation && <Reason explanation={explanation} />}
    </li>
  );
}

function Reason({ explanation }: { explanation: Explanation }) {
  const isAllowed = explanation.decision === "allowed";
  const suggestion = explanation.wouldAllow?.[0];
  const check = readCheck(explanation.check);
  return (
    <details>
      <summary>{words.tests.why(explanation.decision === "allowed")}</summary>
      {isAllowed && <Path links={pathLinks(explanation.path ?? [])} label={words.why.whatAllows} />}
      {!isAllowed && listRequirements(explanation).map((one, place) => <p key={place}>{one.sentence}</p>)}
      {suggestion && (
        <>
          <p class="hint">{words.tests.wouldAllow}</p>
          <ul class="changes">
            {listChanges(suggestion).map((change) => (
              <li key={change.verb + change.what}>
                <span class={`verb ${change.verb}`}>{words.verbs[change.verb]}</span> <code>{change.what}</code>
              </li>
            ))}
          </ul>
          <p class="hint effects">{describeEffects(suggestion)}</p>
        </>
      )}
      <details>
        <summary>{words.why.everyStep}</summary>
        <Tree root={explanation.because} />
      </details>
      {check && (
        <p>
          <a
            href={link("why", {
              subject: writeSubject(check.subject),
              relation: check.relation,
              object: writeObject(check),
            })}
          >
            {words.tests.sameCheck}
          </a>
        </p>
      )}
    </details>
  );
}

/** Teaches where tests come from. */
function FirstTest() {
  const type = objectTypes.value?.find((one) => Object.keys(one.relations).length > 0);
  const relation = type && Object.keys(type.relations).at(-1);
  const start = () => {
    const check = JSON.stringify(`${type?.type ?? "document"}:example#${relation ?? "viewer"}@user:nobody`);
    testFile.value = `setup:\n  warrants: []\ntests:\n  - {name: somebody else, check: ${check}, expect: false}\n`;
  };
  return (
    <Empty title={words.tests.noTests}>
      <p>
        {words.tests.noTestsAdvice(link("why"), link("queries"))}
      </p>
      <p>
        <button type="button" class="primary" onClick={start}>
          {words.tests.startWithExample}
        </button>
      </p>
    </Empty>
  );
}
