import { useState } from "preact/hooks";
import { importLines, type Line, type Progress } from "../import_lines";
import { remainder, type Remainder } from "../model/whole_file";
import { writeWithPolicy } from "../explanation";
import { testFile } from "../pinned";
import { go } from "../route";
import * as words from "../words";
import { Confirm } from "./confirm";
import { Effect } from "./effect";
import { Notice } from "./notice";
import { ChangeButton } from "./permission";

/** The service compares no larger proposal. */
const MOST_COMPARED = 1000;
const SHOWN = 100;

interface Properties {
  rest: Remainder;
  /** Whether the model of the file is still to be saved. */
  isModelFirst: boolean;
}

/** Shows what a converted file has besides its model, and writes it once the model is saved. */
export function ImportRest({ rest, isModelFirst }: Properties) {
  const [isConfirming, setConfirming] = useState(false);
  const [done, setDone] = useState("");
  const { warrants, testCount } = rest;

  function openTests() {
    testFile.value = rest.tests;
    go("tests");
  }

  return (
    <Notice>
      <p>
        {words.importModel.rest(warrants.length, testCount, isModelFirst)}
      </p>
      {done && <p>{done}</p>}
      {warrants.length > 0 && (
        <details>
          <summary>{words.importModel.showWarrants}</summary>
          <WarrantLines warrants={warrants} />
        </details>
      )}
      <div class="actions">
        {warrants.length > 0 && !done && (
          <ChangeButton needs={{ scope: "write" }} class="primary" disabled={isModelFirst} onClick={() => setConfirming(true)}>
            {words.importModel.importWarrants(warrants.length)}
          </ChangeButton>
        )}
        {testCount > 0 && (
          <button type="button" class="quiet" onClick={openTests}>
            {testFile.value ? words.importModel.replaceTests : words.importModel.openTests}
          </button>
        )}
        <button type="button" class="quiet" onClick={() => (remainder.value = undefined)}>
          {done ? words.importModel.isDone : words.importModel.discard}
        </button>
      </div>
      {isConfirming && <ImportWarrants warrants={warrants} onDone={setDone} onClose={() => setConfirming(false)} />}
    </Notice>
  );
}

interface DialogProperties {
  warrants: Line[];
  onDone: (message: string) => void;
  onClose: () => void;
}

function ImportWarrants({ warrants, onDone, onClose }: DialogProperties) {
  const [progress, setProgress] = useState<Progress>();
  const create = warrants.flatMap(({ warrant }) => warrant ?? []);

  async function start() {
    const { created, unchanged } = await importLines(warrants, setProgress, () => false);
    onDone(words.importing.result(words.importModel.imported, created, unchanged));
  }

  return (
    <Confirm title={words.importModel.importTitle(create.length)} action={words.actions.import} onConfirm={start} onClose={onClose}>
      <WarrantLines warrants={warrants} />
      {create.length > MOST_COMPARED ? (
        <p class="hint">{words.importModel.tooMany(MOST_COMPARED)}</p>
      ) : (
        <Effect proposal={{ create, delete: [] }} />
      )}
      {progress && <progress aria-label={words.importModel.progress} max={progress.of} value={progress.done} />}
    </Confirm>
  );
}

function WarrantLines({ warrants }: { warrants: Line[] }) {
  return (
    <>
      <ul class="changes">
        {warrants.slice(0, SHOWN).map(({ number, warrant }) => (
          <li key={number}>
            <span class="verb create">{words.verbs.create}</span> <code>{warrant && writeWithPolicy(warrant)}</code>
          </li>
        ))}
      </ul>
      {warrants.length > SHOWN && <p class="hint">{words.tables.andMore(warrants.length - SHOWN)}</p>}
    </>
  );
}
