import { useState } from "preact/hooks";
import { findObstacle } from "../api";
import { deleteSavedQuery, fieldsOf, linkSaved, SAVE, saveQuery, type SavedFields, type SavedQuery } from "../saved_queries";
import { Confirm } from "./confirm";
import { ChangeButton } from "./permission";
import { Table } from "./table";
import { Time } from "./time";

interface ListProperties {
  saved: SavedQuery[];
  /** Is called with a sentence when one was changed or deleted. */
  onDone: (sentence: string) => void;
}

/** Represents the dialog that is open. */
type Open = { edit: SavedQuery } | { remove: SavedQuery } | undefined;

/** Lists the queries that all who use the store share. */
export function SavedQueries({ saved, onDone }: ListProperties) {
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const mayChange = !findObstacle(SAVE);
  if (saved.length === 0) return null;
  return (
    <section>
      <div class="heading">
        <h2>Saved queries</h2>
      </div>
      <Table label="Saved queries" headings={["Name", "Query", "Saved"]} hasActions={mayChange}>
        {saved.map((one) => (
          <tr key={one.id}>
            <td>
              <a class="name" href={linkSaved(one)}>
                {one.name}
              </a>
              {one.description && <div class="hint">{one.description}</div>}
            </td>
            <td>
              <code>{one.q}</code>
              {one.context && <div class="hint name">{JSON.stringify(one.context)}</div>}
            </td>
            <td class="time">
              <Time time={one.createdAt} /> by {one.createdBy}
            </td>
            {mayChange && (
              <td class="row-actions">
                <ChangeButton needs={SAVE} class="quiet" onClick={() => setOpen({ edit: one })}>
                  Edit
                  <span class="sr"> {one.name}</span>
                </ChangeButton>
                <ChangeButton needs={SAVE} class="quiet" onClick={() => setOpen({ remove: one })}>
                  Delete
                  <span class="sr"> {one.name}</span>
                </ChangeButton>
              </td>
            )}
          </tr>
        ))}
      </Table>
      {open && "edit" in open && (
        <SaveQuery id={open.edit.id} fields={fieldsOf(open.edit)} onClose={close} onDone={(name) => onDone(`Changed ${name}.`)} />
      )}
      {open && "remove" in open && <DeleteQuery saved={open.remove} onClose={close} onDone={(name) => onDone(`Deleted ${name}.`)} />}
    </section>
  );
}

interface DialogProperties {
  /** Is called with the name. */
  onDone: (name: string) => void;
  onClose: () => void;
}

interface Properties extends DialogProperties {
  /** Identifies the one that is changed; absent: a new one is saved. */
  id?: string;
  fields: SavedFields;
}

/** Represents the dialog in which a query gets a name. */
export function SaveQuery({ id, fields, onDone, onClose }: Properties) {
  const [given, setGiven] = useState(fields);
  const isReady = given.name.trim() !== "" && given.q.trim() !== "";

  async function save() {
    const { name } = await saveQuery(given, id);
    onDone(name);
  }

  function field(name: keyof SavedFields, label: string, mostCharacters: number, isCode = false) {
    return (
      <div class="field">
        <label for={`saved-${name}`}>{label}</label>
        <input
          id={`saved-${name}`}
          type="text"
          class={isCode ? "code" : undefined}
          autocomplete="off"
          spellcheck={!isCode}
          maxLength={mostCharacters}
          required={name === "name" || name === "q"}
          value={given[name]}
          onInput={(event) => setGiven({ ...given, [name]: event.currentTarget.value })}
        />
      </div>
    );
  }

  return (
    <Confirm title={id === undefined ? "Save the query" : "Edit the saved query"} action="Save" isReady={isReady} onConfirm={save} onClose={onClose}>
      {id === undefined && <p>All who use the console of this store can open it by its name.</p>}
      {field("name", "Name", 100)}
      {field("description", "What it is for (optional)", 2000)}
      {field("q", "Query", 4096, true)}
      {field("context", "Context for policies, a JSON object (optional)", 4096, true)}
    </Confirm>
  );
}

function DeleteQuery({ saved, onDone, onClose }: DialogProperties & { saved: SavedQuery }) {
  async function remove() {
    await deleteSavedQuery(saved);
    onDone(saved.name);
  }
  return (
    <Confirm title="Delete the saved query?" action="Delete" isDangerous onConfirm={remove} onClose={onClose}>
      <p>
        Nobody finds <span class="name">{saved.name}</span> any more. Links to it go on working: they contain the query.
      </p>
    </Confirm>
  );
}
