import { useState } from "preact/hooks";
import { Refused, write } from "../api";
import { completeObject, completeRelation, completeSubject } from "../completion";
import { keyOf, readObject, readSubject, writeWarrant, type Warrant } from "../names";
import * as words from "../words";
import { Confirm } from "./confirm";
import { Effect } from "./effect";
import { CompletedField } from "./field";

interface Properties {
  object?: string;
  subject?: string;
  onDone: (message: string) => void;
  onClose: () => void;
}

const completeAnyRelation = completeRelation();

/** Represents the dialog that creates a warrant, and says before what access it would give. */
export function NewWarrant({ object = "", subject = "", onDone, onClose }: Properties) {
  const [given, setGiven] = useState({ object, relation: "", subject, policy: "", expires: "" });
  const [preview, setPreview] = useState<Warrant>();
  const change = (member: keyof typeof given) => (value: string) => {
    setPreview(undefined);
    setGiven((present) => ({ ...present, [member]: value }));
  };

  function readWarrant(): Warrant {
    const named = readObject(given.object);
    const who = readSubject(given.subject);
    if (!named) throw new Refused(400, "invalid", words.warrants.notAnObject);
    if (!who) throw new Refused(400, "invalid", words.warrants.notASubject);
    const warrant: Warrant = { ...named, relation: given.relation.trim(), subject: who };
    if (given.policy.trim()) warrant.policy = given.policy.trim();
    if (given.expires) warrant.expiresAt = new Date(given.expires).toISOString();
    return warrant;
  }

  async function create() {
    const warrant = readWarrant();
    await write("v2/warrants", { body: warrant });
    onDone(words.warrants.created(writeWarrant(warrant)));
  }

  function show() {
    try {
      setPreview(readWarrant());
    } catch (fault) {
      if (!(fault instanceof Refused)) throw fault;
      setPreview(undefined);
    }
  }

  return (
    <Confirm title={words.warrants.create} action={words.actions.create} onConfirm={create} onClose={onClose}>
      <CompletedField
        label={words.terms.subject}
        placeholder={words.warrants.exampleOfSubject}
        value={given.subject}
        complete={completeSubject}
        onInput={change("subject")}
        isRequired
      />
      <CompletedField
        label={words.terms.relation}
        placeholder={words.examples.relation}
        value={given.relation}
        complete={completeAnyRelation}
        onInput={change("relation")}
        isRequired
      />
      <CompletedField
        label={words.terms.object}
        placeholder={words.examples.object}
        value={given.object}
        complete={completeObject}
        onInput={change("object")}
        isRequired
      />
      <details>
        <summary>{words.warrants.conditions}</summary>
        <div class="field">
          <label for="policy">{words.warrants.policy}</label>
          <input
            id="policy"
            type="text"
            class="code"
            placeholder={words.examples.policy}
            value={given.policy}
            onInput={(event) => change("policy")(event.currentTarget.value)}
          />
        </div>
        <div class="field">
          <label for="expires">{words.terms.expiresAt}</label>
          <input
            id="expires"
            type="datetime-local"
            value={given.expires}
            onInput={(event) => change("expires")(event.currentTarget.value)}
          />
        </div>
      </details>
      {preview ? (
        <Effect proposal={{ create: [preview], delete: [] }} />
      ) : (
        <button type="button" class="quiet" onClick={show} disabled={!given.object || !given.relation || !given.subject}>
          {words.warrants.whatWouldChange}
        </button>
      )}
    </Confirm>
  );
}

interface DeletionProperties {
  warrant: Warrant;
  onDone: (message: string) => void;
  onClose: () => void;
}

export function DeleteWarrant({ warrant, onDone, onClose }: DeletionProperties) {
  const key = keyOf(warrant);

  async function remove() {
    await write("v2/warrants", { method: "DELETE", body: key });
    onDone(words.warrants.deleted(writeWarrant(warrant)));
  }

  return (
    <Confirm title={words.warrants.deleteTitle} action={words.actions.delete} isDangerous onConfirm={remove} onClose={onClose}>
      <ul class="changes">
        <li>
          <span class="verb delete">{words.verbs.delete}</span> <code>{writeWarrant(warrant)}</code>
        </li>
      </ul>
      <Effect proposal={{ create: [], delete: [key] }} />
    </Confirm>
  );
}
