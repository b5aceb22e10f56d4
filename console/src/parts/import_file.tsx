import { useRef, useState } from "preact/hooks";
import { Refused } from "../api";
import { importLines, readLines, type Progress } from "../import_lines";
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
    if (!file) throw new Refused(400, "invalid", "Choose a file first");
    if (file.size > MOST_BYTES) {
      throw new Refused(400, "invalid", "The file is larger than 64 MiB; the command magistrate import takes files of any size");
    }
    setProgress(undefined);
    const done = await importLines(readLines(await file.text()), setProgress, () => isStopped.current);
    const end = done.done < done.of ? `Stopped after ${done.done} of ${done.of} lines` : `Imported ${done.of} lines`;
    onDone(`${end}: ${done.created} were new, ${done.unchanged} were there already.`);
  }

  return (
    <Confirm
      title="Import a file"
      action="Import"
      onConfirm={start}
      onClose={() => {
        isStopped.current = true;
        onClose();
      }}
    >
      <div class="field">
        <label for="import-file">File</label>
        <input id="import-file" type="file" required onChange={(event) => setFile(event.currentTarget.files?.[0])} />
        <span class="hint">
          A line for each warrant, <code>document:plan#viewer@user:ann</code>, or JSON: warrants and objects as the lists of the
          API have them. 500 lines are written at a time, all or none. If a line is wrong, correct it and import the file again:
          what is there already stays as it is.
        </span>
      </div>
      {progress && (
        <div class="field">
          <label for="import-progress">
            {progress.done} of {progress.of} lines
          </label>
          <progress id="import-progress" max={progress.of} value={progress.done} />
        </div>
      )}
    </Confirm>
  );
}
