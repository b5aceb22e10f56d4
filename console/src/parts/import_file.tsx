import { useRef, useState } from "preact/hooks";
import { Refused } from "../api";
import { importLines, readLines, type Progress } from "../import_lines";
import * as words from "../words";
import { Confirm } from "./confirm";

const MOST_BYTES = 67_108_864;

interface Properties {
  onDone: (message: string) => void;
  onClose: () => void;
}

/** Represents the dialog that imports a file and shows how far it is. */
export function ImportFile({ onDone, onClose }: Properties) {
  const [file, setFile] = useState<File>();
  const [progress, setProgress] = useState<Progress>();
  const isStopped = useRef(false);

  async function start() {
    if (!file) throw new Refused(400, "invalid", words.importing.noFile);
    if (file.size > MOST_BYTES) {
      throw new Refused(400, "invalid", words.importing.tooLarge);
    }
    setProgress(undefined);
    const done = await importLines(readLines(await file.text()), setProgress, () => isStopped.current);
    const end = done.done < done.of ? words.importing.stopped(done.done, done.of) : words.importing.imported(done.of);
    onDone(words.importing.result(end, done.created, done.unchanged));
  }

  return (
    <Confirm
      title={words.importing.title}
      action={words.actions.import}
      onConfirm={start}
      onClose={() => {
        isStopped.current = true;
        onClose();
      }}
    >
      <div class="field">
        <label for="import-file">{words.importing.file}</label>
        <input id="import-file" type="file" required onChange={(event) => setFile(event.currentTarget.files?.[0])} />
        <span class="hint">
          {words.importing.advice}
        </span>
      </div>
      {progress && (
        <div class="field">
          <label for="import-progress">
            {words.importing.progress(progress.done, progress.of)}
          </label>
          <progress id="import-progress" max={progress.of} value={progress.done} />
        </div>
      )}
    </Confirm>
  );
}
