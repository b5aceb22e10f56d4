import { useState } from "preact/hooks";
import { Refused } from "../api";
import { writeWithPolicy } from "../explanation";
import { useLoaded } from "../loading";
import { readModel } from "../model/stored";
import { writeObject } from "../names";
import { readReversal, revertModel } from "../revision_reader";
import { writeActions, type Action } from "../revert";
import { loadObjectTypes } from "../schema";
import { writeIfSame } from "../stored_object";
import type { Revision } from "../timeline";
import * as words from "../words";
import { Confirm } from "./confirm";
import { Effect } from "./effect";
import { Busy, Fault } from "./notice";
import { ReviewDialog } from "./review";

interface Properties {
  revision: Revision;
  /** Finds the token of the revision before it. */
  findBefore: (signal: AbortSignal) => Promise<string>;
  onDone: (message: string) => void;
  onClose: () => void;
}

const CHANGED = words.revert.changed;

/** Represents the dialog that reverts the warrants and objects of a revision, or some of them, and says before what access
 * that changes. */
export function RevertDialog({ revision, findBefore, onDone, onClose }: Properties) {
  const { token } = revision;
  const loaded = useLoaded(async (signal) => {
    const before = await findBefore(signal);
    return { before, seen: await readReversal(before, token, signal) };
  }, [token]);
  const [excluded, setExcluded] = useState<Set<string>>(new Set());
  const found = loaded.value;
  const actions = found?.seen.value.actions ?? [];
  const chosen = actions.filter((action) => !excluded.has(nameOf(action)));
  const naming = found?.seen.value.naming ?? new Map<string, string[]>();

  async function revert() {
    if (!found) return;
    const body = writeActions(chosen, naming);
    await writeIfSame(found.seen, () => readReversal(found.before, token), withoutEmpty(body), CHANGED);
    onDone(words.revert.done(chosen.length));
  }

  function toggle(name: string) {
    const changed = new Set(excluded);
    if (!changed.delete(name)) changed.add(name);
    setExcluded(changed);
  }

  return (
    <Confirm title={words.revert.title} action={words.actions.revert} isReady={chosen.length > 0} onConfirm={revert} onClose={onClose}>
      {loaded.fault && <Fault fault={loaded.fault} />}
      {!found && !loaded.fault && <Busy what={words.revert.comparing} />}
      {found && actions.length === 0 && <p>{words.revert.nothing}</p>}
      {actions.length > 0 && (
        <fieldset class="choices reversal">
          <legend>{words.revert.advice}</legend>
          {actions.map((action) => (
            <label key={nameOf(action)}>
              <input type="checkbox" checked={!excluded.has(nameOf(action))} onChange={() => toggle(nameOf(action))} />
              <span class={`verb ${action.verb}`}>{words.verbs[action.verb]}</span>
              <span>
                <code>{nameOf(action)}</code>
                {action.note && <span class="hint"> {action.note}</span>}
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {found && <Kept kept={found.seen.value.kept} />}
      {chosen.length > 0 && <EffectOf actions={chosen} />}
    </Confirm>
  );
}

function nameOf({ what }: Action): string {
  return "warrant" in what ? writeWithPolicy(what.warrant) : writeObject(what.object);
}

function EffectOf({ actions }: { actions: Action[] }) {
  const { delete: deleted, create } = writeActions(actions, new Map());
  if (deleted.warrants.length + create.warrants.length === 0) return null;
  return <Effect proposal={{ create: create.warrants, delete: deleted.warrants }} />;
}

function Kept({ kept }: { kept: { name: string; reason: string }[] }) {
  if (kept.length === 0) return null;
  return (
    <details>
      <summary>
        {words.revert.kept(kept.length)}
      </summary>
      <ul class="kept">
        {kept.map(({ name, reason }) => (
          <li key={name}>
            <code>{name}</code> {reason}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Returns a write without empty lists. */
function withoutEmpty(body: ReturnType<typeof writeActions>): object {
  const filled = (lists: Record<string, unknown[]>) =>
    Object.fromEntries(Object.entries(lists).filter(([, elements]) => elements.length > 0));
  const parts = { delete: filled(body.delete), create: filled(body.create) };
  return Object.fromEntries(Object.entries(parts).filter(([, lists]) => Object.keys(lists).length > 0));
}

/** Represents the dialog that gives the definitions of a revision back to the model, after it has shown what that changes. */
export function RevertModelDialog({ revision, findBefore, onDone, onClose }: Properties) {
  const loaded = useLoaded(async (signal) => {
    const text = await revertModel(revision.events, await findBefore(signal), signal);
    return { text, base: await readModel(signal) };
  }, [revision.token]);
  if (loaded.value) {
    return (
      <ReviewDialog
        {...loaded.value}
        onSaved={() => {
          onDone(words.revert.sameModel);
          void loadObjectTypes();
        }}
        onClose={onClose}
      />
    );
  }
  return (
    <Confirm title={words.revert.modelTitle} action={words.actions.save} isReady={false} onConfirm={refuse} onClose={onClose}>
      {loaded.fault ? <Fault fault={loaded.fault} /> : <Busy what={words.model.reading} />}
    </Confirm>
  );
}

function refuse(): Promise<void> {
  return Promise.reject(new Refused(400, "invalid", words.revert.notRead));
}
