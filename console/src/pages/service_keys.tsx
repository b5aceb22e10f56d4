import { useState } from "preact/hooks";
import { readAllPages } from "../all_pages";
import { read, Refused, write } from "../api";
import { writeKeyLines } from "../export";
import type { IssuedKey, Key } from "../keys";
import { useLoaded } from "../loading";
import { Confirm } from "../parts/confirm";
import type { ReadLines } from "../parts/export_table";
import { Icon } from "../parts/icons";
import { Busy, Empty, Fault, Notice } from "../parts/notice";
import { Pager } from "../parts/pager";
import { Secret } from "../parts/secret";
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { link, route, store } from "../route";
import { listTypes, type Page, type PageQuery } from "../schema";
import { SCOPES } from "../scopes";
import * as words from "../words";

const PAGE_SIZE = 50;

/** Represents the dialog that is open. */
type Open = "create" | { revoke: Key } | { rotate: Key } | undefined;

function readPage(query: PageQuery, signal: AbortSignal): Promise<Page<Key>> {
  return read<Page<Key>>("v2/keys", { query: { ...query }, signal });
}

const readLines: ReadLines = async (signal) => {
  const { rows, isCut } = await readAllPages((page) => readPage(page, signal));
  return { lines: writeKeyLines(rows), isCut };
};

export function Keys() {
  const { next, prev } = route.value.parameters;
  const [turn, setTurn] = useState(0);
  const [open, setOpen] = useState<Open>();
  const [issued, setIssuedKey] = useState<IssuedKey>();
  const [done, setDone] = useState("");
  const loaded = useLoaded(
    (signal) => readPage({ limit: PAGE_SIZE, nextCursor: next, prevCursor: prev }, signal),
    [next, prev, turn],
  );
  const close = () => setOpen(undefined);
  function finish(message: string, key?: IssuedKey) {
    setIssuedKey(key);
    setDone(message);
    setTurn((count) => count + 1);
  }
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <Busy what={words.keys.reading} />;
  return (
    <>
      <div class="actions">
        <button type="button" class="primary" onClick={() => setOpen("create")}>
          <Icon name="plus" />
          {words.keys.create}
        </button>
      </div>
      <p class="hint">
        {words.keys.belong(store, link("service", { show: "own" }))}
      </p>
      {issued && <Secret what={words.keys.secretOf(issued.name)} text={issued.key} onClose={() => setIssuedKey(undefined)} />}
      {done && !issued && (
        <Notice>
          <p>{done}</p>
        </Notice>
      )}
      {loaded.value.results.length === 0 ? (
        <Empty title={words.keys.none}>
          <p>
            {words.keys.noneAdvice}
          </p>
        </Empty>
      ) : (
        <KeyTable keys={loaded.value.results} onOpen={setOpen} />
      )}
      <Pager page={loaded.value} />
      {open === "create" && <CreateKey onDone={finish} onClose={close} />}
      {typeof open === "object" && "revoke" in open && <RevokeKey of={open.revoke} onDone={finish} onClose={close} />}
      {typeof open === "object" && "rotate" in open && <RotateKey of={open.rotate} onDone={finish} onClose={close} />}
    </>
  );
}

function KeyTable({ keys, onOpen }: { keys: Key[]; onOpen: (open: Open) => void }) {
  return (
    <Table
      label={words.pages.keys}
      headings={[words.terms.name, words.keys.beginsWith, words.keys.scopes, words.terms.objectTypes, words.terms.created, words.keys.lastUsed, words.keys.expires]}
      hasActions
      readLines={readLines}
    >
      {keys.map((one) => (
        <tr key={one.id}>
          <td class="name">{one.name}</td>
          <td>
            <code>{one.prefix}…</code>
          </td>
          <td>
            <details class="meaning">
              <summary>{one.scopes.join(", ")}</summary>
              <ul>
                {one.scopes.map((scope) => (
                  <li key={scope}>
                    <b>{scope}</b>: {SCOPES[scope] ?? words.keys.unknownScope}
                  </li>
                ))}
              </ul>
            </details>
          </td>
          <td>{one.objectTypes?.join(", ") ?? words.terms.all}</td>
          <td class="time">
            {words.terms.by(<Time time={one.createdAt} />, one.createdBy)}
          </td>
          <td class="time">{one.lastUsedAt ? <Time time={one.lastUsedAt} /> : words.terms.never}</td>
          <td class="time">{one.expiresAt ? <Time time={one.expiresAt} /> : words.terms.never}</td>
          <td class="row-actions">
            <button type="button" class="quiet" onClick={() => onOpen({ rotate: one })}>
              {words.keys.rotate(one.name)}
            </button>
            <button type="button" class="quiet" onClick={() => onOpen({ revoke: one })}>
              {words.keys.revoke(one.name)}
            </button>
          </td>
        </tr>
      ))}
    </Table>
  );
}

interface DialogProperties {
  onDone: (message: string, key?: IssuedKey) => void;
  onClose: () => void;
}

function CreateKey({ onDone, onClose }: DialogProperties) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>(["check"]);
  const [types, setTypes] = useState<string[]>([]);
  const [expires, setExpires] = useState("");

  async function create() {
    if (scopes.length === 0) throw new Refused(400, "invalid", words.keys.noScope);
    const body = {
      name: name.trim(),
      scopes,
      ...(types.length > 0 ? { objectTypes: types } : {}),
      ...(expires ? { expiresAt: new Date(expires).toISOString() } : {}),
    };
    const issued = await write<IssuedKey>("v2/keys", { body });
    onDone(words.keys.created(issued.name), issued);
  }

  return (
    <Confirm title={words.keys.create} action={words.actions.create} onConfirm={create} onClose={onClose}>
      <div class="field">
        <label for="key-name">{words.terms.name}</label>
        <input id="key-name" type="text" required maxLength={64} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <span class="hint">{words.keys.nameAdvice}</span>
      </div>
      <Choices legend={words.keys.scopes} choices={Object.entries(SCOPES)} chosen={scopes} onChange={setScopes} />
      <details>
        <summary>{words.keys.limits}</summary>
        <Choices
          legend={words.keys.chooseTypes}
          choices={listTypes().map((type) => [type, ""])}
          chosen={types}
          onChange={setTypes}
        />
        <div class="field">
          <label for="key-expires">{words.terms.expiresAt}</label>
          <input
            id="key-expires"
            type="datetime-local"
            value={expires}
            onInput={(event) => setExpires(event.currentTarget.value)}
          />
        </div>
      </details>
    </Confirm>
  );
}

interface ChoicesProperties {
  legend: string;
  choices: [string, string][];
  chosen: string[];
  onChange: (chosen: string[]) => void;
}

function Choices({ legend, choices, chosen, onChange }: ChoicesProperties) {
  return (
    <fieldset class="choices">
      <legend>{legend}</legend>
      {choices.map(([name, meaning]) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={(event) =>
              onChange(event.currentTarget.checked ? [...chosen, name] : chosen.filter((one) => one !== name))
            }
          />
          <span>
            <b>{name}</b> {meaning && <span class="hint">{meaning}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function RevokeKey({ of, onDone, onClose }: DialogProperties & { of: Key }) {
  async function revoke() {
    await write("v2/keys/" + encodeURIComponent(of.id), { method: "DELETE" });
    onDone(words.keys.revoked(of.name));
  }
  return (
    <Confirm title={words.keys.revokeTitle(of.name)} action={words.actions.revoke} isDangerous onConfirm={revoke} onClose={onClose}>
      <p>
        {words.keys.revokeAdvice(of.prefix, of.lastUsedAt ? <Time time={of.lastUsedAt} /> : words.terms.never)}
      </p>
    </Confirm>
  );
}

function RotateKey({ of, onDone, onClose }: DialogProperties & { of: Key }) {
  const [grace, setGrace] = useState("3600");
  async function rotate() {
    const body = { graceSeconds: Number(grace) };
    const issued = await write<IssuedKey>(`v2/keys/${encodeURIComponent(of.id)}/rotate`, { body });
    onDone(words.keys.rotated(of.name), issued);
  }
  return (
    <Confirm title={words.keys.rotateTitle(of.name)} action={words.actions.rotate} onConfirm={rotate} onClose={onClose}>
      <div class="field">
        <label for="grace">{words.keys.oldStaysValid}</label>
        <select id="grace" value={grace} onChange={(event) => setGrace(event.currentTarget.value)}>
          <option value="0">{words.keys.noTime}</option>
          <option value="3600">{words.keys.anHour}</option>
          <option value="86400">{words.keys.aDay}</option>
        </select>
      </div>
    </Confirm>
  );
}
