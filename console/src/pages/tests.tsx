import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, read } from "../api";
import { describeEffects, listChanges, listRequirements, pathLinks, type Explanation } from "../explanation";
import { save } from "../export";
import { useLoaded } from "../loading";
import { readCheck, writeObject, writeSubject } from "../names";
import { Confirm } from "../parts/confirm";
import { Mark } from "../parts/icons";
import { Busy, Empty, Fault } from "../parts/notice";
import { Path } from "../parts/path";
import { Tree } from "../parts/tree";
import { addEverything, addModel, MOST_WARRANTS, testFile } from "../pinned";
import { link } from "../route";
import { objectTypes } from "../schema";

const PAUSE_MS = 300;
const MOST_BYTES = 4_194_304;

interface Result {
  name: string;
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
  return (
    <div>
      <div class="heading">
        <h1>Tests</h1>
        <FileActions text={text} />
      </div>
      {text ? <Editor text={text} /> : <FirstTest />}
    </div>
  );
}

function FileActions({ text }: { text: string }) {
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
    return "Saved. The command magistrate model test runs this file.";
  }

  async function saveEverything() {
    const file = await addEverything(text);
    save("playground.test.yaml", "application/yaml", file.text);
    const cut = file.isCut ? `; a file has ${MOST_WARRANTS} at most, so the others are missing` : "";
    return `Saved with ${file.warrants} warrants${cut}. The command magistrate playground opens this file.`;
  }

  async function open(file: File | undefined) {
    if (!file) return "";
    if (file.size > MOST_BYTES) throw new Refused(400, "invalid", "The file is larger than 4 MiB");
    testFile.value = await file.text();
    return `Opened ${file.name}.`;
  }

  return (
    <>
      <div class="actions">
        <input
          ref={chooser}
          type="file"
          class="sr"
          tabIndex={-1}
          aria-label="Test file"
          accept=".yaml,.yml,.json"
          onChange={(event) => {
            const field = event.currentTarget;
            void attempt(() => open(field.files?.[0])).then(() => (field.value = ""));
          }}
        />
        <button type="button" class="quiet" onClick={() => chooser.current?.click()}>
          Open a file…
        </button>
        {text && (
          <>
            <button type="button" class="quiet" onClick={() => attempt(saveTests)}>
              Download
            </button>
            <button type="button" class="quiet" onClick={() => setClearing(true)}>
              Clear…
            </button>
          </>
        )}
        <button type="button" class="quiet" onClick={() => attempt(saveEverything)}>
          Download with all warrants
        </button>
      </div>
      <p class="hint" role="status">
        {note}
      </p>
      {fault && <Fault fault={fault} />}
      {isClearing && (
        <Confirm
          title="Remove all tests?"
          action="Remove"
          isDangerous
          onConfirm={() => {
            testFile.value = "";
            return Promise.resolve();
          }}
          onClose={() => setClearing(false)}
        >
          <p>They are in this tab alone. Download them first if you need them again.</p>
        </Confirm>
      )}
    </>
  );
}

function Editor({ text }: { text: string }) {
  const [checked, setChecked] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setChecked(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const loaded = useLoaded((signal) => read<Run>("v2/model/test", { text: checked, signal }), [checked]);
  return (
    <div class="tests">
      <div class="field">
        <label for="tests">Test file</label>
        <textarea
          id="tests"
          class="code"
          rows={24}
          wrap="off"
          spellcheck={false}
          value={text}
          onInput={(event) => (testFile.value = event.currentTarget.value)}
        />
        <span class="hint">
          Without <code>model</code>, the model of the service is tested. Stored warrants do not count, only those under{" "}
          <code>setup</code>. The file is kept in this tab until you close it or sign out.
        </span>
      </div>
      <section class="card results" aria-label="Results" aria-live="polite" aria-busy={loaded.isLoading}>
        {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
        {!loaded.value && !loaded.fault && <Busy what="Running the tests" />}
        {loaded.value && <Results run={loaded.value} />}
      </section>
    </div>
  );
}

function Results({ run }: { run: Run }) {
  if (run.results.length === 0) return <p>There are no tests in the file yet.</p>;
  const failed = run.results.filter((one) => !one.passed);
  const passed = run.results.filter((one) => one.passed);
  return (
    <>
      <p class="sentence-line">
        <Mark tone={run.failed ? "no" : "yes"}>{run.failed ? "Failed" : "Passed"}</Mark>{" "}
        <b>
          {run.passed} passed, {run.failed} failed
        </b>
      </p>
      {failed.length > 0 && <ResultList results={failed} />}
      {passed.length > 0 && (
        <details>
          <summary>What passed</summary>
          <ResultList results={passed} />
        </details>
      )}
    </>
  );
}

function ResultList({ results }: { results: Result[] }) {
  return (
    <ul class="test-list">
      {results.map((one, place) => (
        <TestResult key={place} result={one} />
      ))}
    </ul>
  );
}

function TestResult({ result }: { result: Result }) {
  const { name, passed, failure, explanation } = result;
  return (
    <li>
      <Mark tone={passed ? "yes" : "no"}>{passed ? "Passed" : "Failed"}</Mark> <span class="name">{name}</span>
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
      <summary>Why it is {explanation.decision}</summary>
      {isAllowed && <Path links={pathLinks(explanation.path ?? [])} label="What allows it" />}
      {!isAllowed && listRequirements(explanation).map((one, place) => <p key={place}>{one.sentence}</p>)}
      {suggestion && (
        <>
          <p class="hint">This would allow it:</p>
          <ul class="changes">
            {listChanges(suggestion).map((change) => (
              <li key={change.verb + change.what}>
                <span class={`verb ${change.verb}`}>{change.verb}</span> <code>{change.what}</code>
              </li>
            ))}
          </ul>
          <p class="hint effects">{describeEffects(suggestion)}</p>
        </>
      )}
      <details>
        <summary>Every step</summary>
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
            The same check of what is stored
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
    <Empty title="There are no tests yet.">
      <p>
        A test is a check with the answer that you expect. <a href={link("why")}>Explain a check</a> or{" "}
        <a href={link("queries")}>run a query</a>, and pin what must stay as it is: each pinned check comes with the warrants
        that it depends on. The tests are run at each change of the file, with the current model.
      </p>
      <p>
        <button type="button" class="primary" onClick={start}>
          Start with an example
        </button>
      </p>
    </Empty>
  );
}
