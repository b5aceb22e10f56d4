import { useState } from "preact/hooks";
import { findObstacle } from "../api";
import { deleteSavedQuery, fieldsOf, linkSaved, SAVE, saveQuery, type SavedFields, type SavedQuery } from "../saved_queries";
import * as words from "../words";
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
        <h2>{words.savedQueries.title}</h2>
      </div>
      <Table label={words.savedQueries.title} headings={[words.terms.name, words.terms.query, words.savedQueries.saved]} hasActions={mayChange}>
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
              {words.terms.by(<Time time={one.createdAt} />, one.createdBy)}
            </td>
            {mayChange && (
              <td class="row-actions">
                <ChangeButton needs={SAVE} class="quiet" onClick={() => setOpen({ edit: one })}>
                  {words.savedQueries.edit(one.name)}
                </ChangeButton>
                <ChangeButton needs={SAVE} class="quiet" onClick={() => setOpen({ remove: one })}>
                  {words.savedQueries.delete(one.name)}
                </ChangeButton>
              </td>
            )}
          </tr>
        ))}
      </Table>
      {open && "edit" in open && (
        <SaveQuery id={open.edit.id} fields={fieldsOf(open.edit)} onClose={close} onDone={(name) => onDone(words.savedQueries.changed(name))} />
      )}
      {open && "remove" in open && <DeleteQuery saved={open.remove} onClose={close} onDone={(name) => onDone(words.savedQueries.deleted(name))} />}
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
    <Confirm title={id === undefined ? words.savedQueries.saveTitle : words.savedQueries.editTitle} action={words.actions.save} isReady={isReady} onConfirm={save} onClose={onClose}>
      {id === undefined && <p>{words.savedQueries.all}</p>}
      {field("name", words.terms.name, 100)}
      {field("description", words.savedQueries.description, 2000)}
      {field("q", words.terms.query, 4096, true)}
      {field("context", words.savedQueries.context, 4096, true)}
    </Confirm>
  );
}

function DeleteQuery({ saved, onDone, onClose }: DialogProperties & { saved: SavedQuery }) {
  async function remove() {
    await deleteSavedQuery(saved);
    onDone(saved.name);
  }
  return (
    <Confirm title={words.savedQueries.deleteTitle} action={words.actions.delete} isDangerous onConfirm={remove} onClose={onClose}>
      <p>
        {words.savedQueries.deleteAdvice(saved.name)}
      </p>
    </Confirm>
  );
}
