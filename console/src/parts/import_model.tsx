import { useState } from "preact/hooks";
import { Refused } from "../api";
import { importModel, type ImportedModel } from "../model/stored";
import { joinFiles } from "../model/whole_file";
import * as words from "../words";
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
    if (text.trim() === "") throw new Refused(400, "invalid", words.importModel.nothing);
    const joined = joinFiles(text, relationships);
    if (joined.length > MOST_CHARACTERS) {
      throw new Refused(400, "invalid", words.importModel.tooLong);
    }
    onImported(await importModel(joined, leavesOut));
  }

  return (
    <Confirm title={words.importModel.title} action={words.importModel.convert} onConfirm={convert} onClose={onClose}>
      <div class="field">
        <label for="model-file">{words.importing.file}</label>
        <input id="model-file" type="file" onChange={(event) => void open(event.currentTarget.files?.[0], setText)} />
      </div>
      <div class="field">
        <label for="foreign-model">{words.importModel.paste}</label>
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
          {words.importModel.advice}
        </span>
      </div>
      <details>
        <summary>{words.importModel.otherFile}</summary>
        <div class="field">
          <label for="relationships-file">{words.importModel.relationships}</label>
          <input
            id="relationships-file"
            type="file"
            onChange={(event) => void open(event.currentTarget.files?.[0], setRelationships)}
          />
        </div>
        <div class="field">
          <label for="foreign-relationships">{words.importModel.pasteRelationships}</label>
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
            {words.importModel.relationshipsAdvice}
          </span>
        </div>
      </details>
      <label class="choice">
        <input type="checkbox" checked={leavesOut} onChange={(event) => setLeavesOut(event.currentTarget.checked)} />
        {words.importModel.leaveOut}
      </label>
    </Confirm>
  );
}
