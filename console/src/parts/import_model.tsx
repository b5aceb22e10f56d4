import { useState } from "preact/hooks";
import { Refused } from "../api";
import { importModel, type ImportedModel } from "../model/stored";
import { Confirm } from "./confirm";

/** The service reads no longer text of a model. */
const MOST_CHARACTERS = 1_048_576;

interface Properties {
  onImported: (model: ImportedModel) => void;
  onClose: () => void;
}

/** Represents the dialog that converts a model of OpenFGA or SpiceDB, and puts it into the editor. */
export function ImportModel({ onImported, onClose }: Properties) {
  const [text, setText] = useState("");
  const [leavesOut, setLeavesOut] = useState(false);

  async function open(file: File | undefined) {
    if (file) setText((await file.text()).slice(0, MOST_CHARACTERS + 1));
  }

  async function convert() {
    if (text.trim() === "") throw new Refused(400, "invalid", "Paste a model, or choose a file");
    if (text.length > MOST_CHARACTERS) {
      throw new Refused(400, "invalid", "The model has more than 1,048,576 characters; use the command magistrate model convert");
    }
    onImported(await importModel(text, leavesOut));
  }

  return (
    <Confirm title="Import a model" action="Convert" onConfirm={convert} onClose={onClose}>
      <div class="field">
        <label for="model-file">File</label>
        <input id="model-file" type="file" onChange={(event) => void open(event.currentTarget.files?.[0])} />
      </div>
      <div class="field">
        <label for="foreign-model">Or paste the model</label>
        <textarea
          id="foreign-model"
          class="code"
          rows={12}
          spellcheck={false}
          aria-describedby="foreign-model-hint"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <span class="hint" id="foreign-model-hint">
          A model of OpenFGA, in its language or as JSON, a schema of SpiceDB, or a model of this service. It is put into the
          editor; nothing is saved yet.
        </span>
      </div>
      <label class="choice">
        <input type="checkbox" checked={leavesOut} onChange={(event) => setLeavesOut(event.currentTarget.checked)} />
        Leave out what cannot be expressed here, with all that depends on it
      </label>
    </Confirm>
  );
}
