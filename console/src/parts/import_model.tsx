import { useState } from "preact/hooks";
import { Refused } from "../api";
import { importModel, type ImportedModel } from "../model/stored";
import { joinFiles } from "../model/whole_file";
import { Confirm } from "./confirm";

/** The service reads no longer text of a model. */
const MOST_CHARACTERS = 1_048_576;

interface Properties {
  onImported: (model: ImportedModel) => void;
  onClose: () => void;
}

/** Represents the dialog that converts a model of OpenFGA or SpiceDB, puts it into the editor, and keeps the relationships
 * and tests that come with it for what follows. */
export function ImportModel({ onImported, onClose }: Properties) {
  const [text, setText] = useState("");
  const [relationships, setRelationships] = useState("");
  const [leavesOut, setLeavesOut] = useState(false);

  async function open(file: File | undefined, set: (text: string) => void) {
    if (file) set((await file.text()).slice(0, MOST_CHARACTERS + 1));
  }

  async function convert() {
    if (text.trim() === "") throw new Refused(400, "invalid", "Paste a model, or choose a file");
    const joined = joinFiles(text, relationships);
    if (joined.length > MOST_CHARACTERS) {
      throw new Refused(400, "invalid", "The text has more than 1,048,576 characters; use the command magistrate import");
    }
    onImported(await importModel(joined, leavesOut));
  }

  return (
    <Confirm title="Import a model" action="Convert" onConfirm={convert} onClose={onClose}>
      <div class="field">
        <label for="model-file">File</label>
        <input id="model-file" type="file" onChange={(event) => void open(event.currentTarget.files?.[0], setText)} />
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
          A model of OpenFGA, in its language or as JSON, a schema of SpiceDB, or a model of this service. A store file of
          OpenFGA or a validation file of SpiceDB brings its relationships and tests. The model is put into the editor; nothing
          is saved yet.
        </span>
      </div>
      <details>
        <summary>Relationships from another file</summary>
        <div class="field">
          <label for="relationships-file">File of relationships</label>
          <input
            id="relationships-file"
            type="file"
            onChange={(event) => void open(event.currentTarget.files?.[0], setRelationships)}
          />
        </div>
        <div class="field">
          <label for="foreign-relationships">Or paste the relationships</label>
          <textarea
            id="foreign-relationships"
            class="code"
            rows={6}
            spellcheck={false}
            aria-describedby="foreign-relationships-hint"
            value={relationships}
            onInput={(event) => setRelationships(event.currentTarget.value)}
          />
          <span class="hint" id="foreign-relationships-hint">
            Tuples of OpenFGA in YAML or JSON, or relationships of SpiceDB, one in each line. They are converted with the model
            above, because their names depend on it.
          </span>
        </div>
      </details>
      <label class="choice">
        <input type="checkbox" checked={leavesOut} onChange={(event) => setLeavesOut(event.currentTarget.checked)} />
        Leave out what cannot be expressed here, with all that depends on it
      </label>
    </Confirm>
  );
}
