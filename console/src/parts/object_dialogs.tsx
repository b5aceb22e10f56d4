import { useRef, useState } from "preact/hooks";
import { Refused, write } from "../api";
import { completeType, type StoredObject } from "../completion";
import { writeWithPolicy } from "../explanation";
import { useLoaded } from "../loading";
import { keyOf, writeObject, type ObjectName, type Warrant } from "../names";
import { go } from "../route";
import { MOST_WARRANTS, pathOf, readMeta, readNaming, readStored, renameObject, sayChanged, writeIfSame } from "../stored_object";
import * as words from "../words";
import { Confirm } from "./confirm";
import { Effect } from "./effect";
import { CompletedField } from "./field";
import { Busy, Fault } from "./notice";

/** A write of a new name deletes and creates each warrant, and the object. */
const MOST_MOVED = MOST_WARRANTS / 2 - 1;
const SHOWN_WARRANTS = 5;

interface MetaProperties {
  text: string;
  onInput: (text: string) => void;
}

function MetaField({ text, onInput }: MetaProperties) {
  return (
    <div class="field">
      <label for="meta">{words.terms.meta}</label>
      <textarea
        id="meta"
        class="code"
        rows={Math.min(Math.max(text.split("\n").length, 4), 14)}
        spellcheck={false}
        placeholder={words.examples.meta}
        aria-describedby="meta-hint"
        value={text}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <span class="hint" id="meta-hint">
        {words.objects.meta}
      </span>
    </div>
  );
}

/** Represents the dialog that creates an object, and leads to its page. */
export function NewObject({ type = "", onClose }: { type?: string; onClose: () => void }) {
  const [given, setGiven] = useState({ type, id: "", meta: "" });
  const created = useRef<ObjectName | undefined>(undefined);

  async function create() {
    const meta = readMeta(given.meta);
    const objectType = given.type.trim();
    const objectId = given.id.trim();
    if (objectId) {
      const object = { objectType, objectId };
      await writeNew(object, meta);
      created.current = object;
    } else {
      created.current = await write<StoredObject>("v2/objects", { body: { objectType, meta } });
    }
  }

  return (
    <Confirm
      title={words.objects.create}
      action={words.actions.create}
      isReady={given.type.trim() !== ""}
      onConfirm={create}
      onClose={() => {
        onClose();
        if (created.current) go("object", { name: writeObject(created.current) });
      }}
    >
      <CompletedField
        label={words.terms.type}
        placeholder={words.examples.type}
        value={given.type}
        complete={completeType}
        onInput={(text) => setGiven((present) => ({ ...present, type: text }))}
        isRequired
      />
      <div class="field">
        <label for="object-id">{words.terms.id}</label>
        <input
          id="object-id"
          type="text"
          class="code"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          placeholder={words.examples.id}
          aria-describedby="object-id-hint"
          value={given.id}
          onInput={(event) => setGiven({ ...given, id: event.currentTarget.value })}
        />
        <span class="hint" id="object-id-hint">
          {words.objects.emptyId}
        </span>
      </div>
      <MetaField text={given.meta} onInput={(meta) => setGiven({ ...given, meta })} />
    </Confirm>
  );
}

async function writeNew(object: ObjectName, meta: Record<string, unknown>): Promise<void> {
  try {
    await write("v2/writes", { body: { preconditions: [{ absent: object }], create: { objects: [{ ...object, meta }] } } });
  } catch (fault) {
    if (!(fault instanceof Refused) || fault.code !== "precondition_failed") throw fault;
    throw new Refused(400, "exists", words.objects.exists(writeObject(object)));
  }
}

interface DialogProperties {
  object: ObjectName;
  onDone: (message: string) => void;
  onClose: () => void;
}

export function EditMeta({ object, onDone, onClose }: DialogProperties) {
  const [text, setText] = useState<string>();
  const loaded = useLoaded((signal) => readStored(object, signal), [writeObject(object)]);
  const seen = loaded.value;
  const shown = text ?? (seen ? JSON.stringify(seen.value.meta ?? {}, null, 2) : "");

  async function save() {
    if (!seen) return;
    const body = { create: { objects: [{ ...object, meta: readMeta(shown) }] } };
    await writeIfSame(seen, () => readStored(object), body, sayChanged(object));
    onDone(words.objects.savedMeta(writeObject(object)));
  }

  return (
    <Confirm title={words.objects.metaOf(writeObject(object))} action={words.actions.save} isReady={seen !== undefined} onConfirm={save} onClose={onClose}>
      {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {!seen && !loaded.fault && <Busy what={words.objects.reading} />}
      {seen && <MetaField text={shown} onInput={setText} />}
    </Confirm>
  );
}

/** Represents the dialog that deletes an object, and says before which warrants end with it and who loses access. */
export function DeleteObject({ object, onDone, onClose }: DialogProperties) {
  const name = writeObject(object);
  const loaded = useLoaded((signal) => readNaming(object, signal), [name]);
  const seen = loaded.value;

  async function remove() {
    if (!seen) return;
    if (seen.value.isCut) await write(pathOf(object), { method: "DELETE" });
    else await writeIfSame(seen, () => readNaming(object), { delete: { objects: [object] } }, sayChanged(object));
    onDone(words.objects.deleted(name));
  }

  return (
    <Confirm title={words.objects.deleteTitle(name)} action={words.actions.delete} isDangerous isReady={seen !== undefined} onConfirm={remove} onClose={onClose}>
      {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {!seen && !loaded.fault && <Busy what={words.objects.findingEnds} />}
      {seen && (
        <>
          <Named warrants={seen.value.warrants} isCut={seen.value.isCut} verb="delete" />
          {seen.value.isCut ? (
            <p>{words.objects.tooMany}</p>
          ) : (
            seen.value.warrants.length > 0 && <Effect proposal={{ create: [], delete: seen.value.warrants.map(keyOf) }} />
          )}
          <p class="hint">{words.objects.wildcards(object.objectType)}</p>
        </>
      )}
    </Confirm>
  );
}

interface NamedProperties {
  warrants: Warrant[];
  isCut: boolean;
  verb: "delete" | "move";
}

function Named({ warrants, isCut, verb }: NamedProperties) {
  if (warrants.length === 0) return <p>{words.objects.notNamed}</p>;
  return (
    <>
      <p>
        {words.objects.ends(warrants.length, isCut, verb === "move")}
      </p>
      <ul class="changes">
        {warrants.slice(0, SHOWN_WARRANTS).map((warrant) => (
          <li key={writeWithPolicy(warrant)}>
            <span class={`verb ${verb}`}>{words.verbs[verb]}</span> <code>{writeWithPolicy(warrant)}</code>
          </li>
        ))}
        {warrants.length > SHOWN_WARRANTS && <li class="hint">{words.tables.andMore(warrants.length - SHOWN_WARRANTS)}</li>}
      </ul>
    </>
  );
}

interface RenamingProperties {
  object: ObjectName;
  onClose: () => void;
}

/** Represents the dialog that gives an object another id, in one write with all warrants that name it. */
export function RenameObject({ object, onClose }: RenamingProperties) {
  const name = writeObject(object);
  const [id, setId] = useState(object.objectId);
  const [isShown, setShown] = useState(false);
  const isDone = useRef(false);
  const loaded = useLoaded((signal) => readForRename(object, signal), [name]);
  const seen = loaded.value;
  const wanted = id.trim();
  const isLarge = seen !== undefined && seen.value.naming.warrants.length > MOST_MOVED;
  const body = seen && renameObject(seen.value.stored, seen.value.naming.warrants, wanted);
  const isOther = wanted !== "" && wanted !== object.objectId;

  async function rename() {
    if (!seen || !body) return;
    const target = { objectType: object.objectType, objectId: wanted };
    await requireAbsent(target);
    await writeIfSame(seen, () => readForRename(object), body, sayChanged(object));
    isDone.current = true;
  }

  return (
    <Confirm
      title={words.objects.renameTitle(name)}
      action={words.actions.rename}
      isReady={isOther && seen !== undefined && !isLarge}
      onConfirm={rename}
      onClose={() => {
        onClose();
        if (isDone.current) go("object", { name: `${object.objectType}:${wanted}` });
      }}
    >
      {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {!seen && !loaded.fault && <Busy what={words.objects.findingNames} />}
      <div class="field">
        <label for="new-id">{words.objects.newId}</label>
        <input
          id="new-id"
          type="text"
          class="code"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          required
          value={id}
          onInput={(event) => {
            setId(event.currentTarget.value);
            setShown(false);
          }}
        />
      </div>
      {seen && isLarge && (
        <p>
          {words.objects.tooManyToRename(MOST_MOVED)}
        </p>
      )}
      {seen && body && !isLarge && (
        <>
          <Named warrants={seen.value.naming.warrants} isCut={false} verb="move" />
          {isShown ? (
            <Effect proposal={{ create: body.create.warrants, delete: body.delete.warrants }} />
          ) : (
            seen.value.naming.warrants.length > 0 && (
              <button type="button" class="quiet" disabled={!isOther} onClick={() => setShown(true)}>
                {words.warrants.whatWouldChange}
              </button>
            )
          )}
          <p class="hint">
            {words.objects.oneWrite(seen.value.naming.warrants.some((one) => one.policy?.includes("expiresIn")))}
          </p>
        </>
      )}
    </Confirm>
  );
}

/** Reads the object first: what is read after it may be newer, and then the write is refused. */
async function readForRename(object: ObjectName, signal?: AbortSignal) {
  const stored = await readStored(object, signal);
  const naming = await readNaming(object, signal);
  return { value: { stored: stored.value, naming: naming.value }, token: stored.token };
}

async function requireAbsent(target: ObjectName): Promise<void> {
  try {
    await readStored(target);
  } catch (fault) {
    if (fault instanceof Refused && fault.status === 404) return;
    throw fault;
  }
  throw new Refused(400, "exists", words.objects.exists(writeObject(target)));
}
