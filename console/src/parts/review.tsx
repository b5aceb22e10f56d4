import { useState } from "preact/hooks";
import { Refused } from "../api";
import { useLoaded } from "../loading";
import { reviewModel, saveModel, type NameChanges, type Review, type StoredModel } from "../model/stored";
import { writeWarrant } from "../names";
import * as words from "../words";
import { ChangedLines } from "./changed_lines";
import { Confirm } from "./confirm";
import { AccessChanges } from "./effect";
import { Busy, Fault, Notice } from "./notice";

interface Properties {
  text: string;
  /** The model that the text began as. */
  base: StoredModel;
  onSaved: () => void;
  onClose: () => void;
}

const REMARK = /(^|[^/])\/\/(?!\/)/m;
const SHOWN_WARRANTS = 5;

/** Represents the dialog that saves a model, and says before what it would change. */
export function ReviewDialog({ text, base, onSaved, onClose }: Properties) {
  const loaded = useLoaded((signal) => reviewModel(text, signal), [text]);
  const [keepsStranded, setKeeps] = useState(false);
  const review = loaded.value;
  const isStopped = review !== undefined && review.plan.stranded.length > 0 && !keepsStranded;

  async function save() {
    if (!review) return;
    try {
      await saveModel(text, review.newest.token, keepsStranded);
    } catch (fault) {
      if (!(fault instanceof Refused) || fault.status !== 412) throw fault;
      loaded.reload();
      const message = words.review.changed;
      throw new Refused(412, fault.code, message);
    }
    onSaved();
  }

  return (
    <Confirm
      title={words.review.title}
      action={words.actions.save}
      isReady={review !== undefined && !loaded.isLoading && !isStopped && !isSame(review)}
      onConfirm={save}
      onClose={onClose}
    >
      {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {!review && !loaded.fault && <Busy what={words.review.finding} />}
      {review && (
        <>
          {review.newest.text !== base.text && (
            <Notice>
              <p>
                {words.review.otherChange}
              </p>
            </Notice>
          )}
          <Changes review={review} />
          {REMARK.test(text) && (
            <p class="hint">
              {words.review.comments}
            </p>
          )}
          {review.plan.stranded.length > 0 && (
            <Stranded review={review} isKept={keepsStranded} onKeep={setKeeps} />
          )}
          <section class="effect-of-model">
            <h3>{words.terms.access}</h3>
            {review.access instanceof Refused ? (
              <p>{words.review.accessNotKnown(review.access.message)}</p>
            ) : (
              <AccessChanges rows={review.access.results} hasMore={review.access.nextCursor !== undefined} />
            )}
          </section>
        </>
      )}
    </Confirm>
  );
}

function isSame({ plan }: Review): boolean {
  return [plan.objectTypes, plan.policies].every((one) => Object.values(one).every((names: string[]) => names.length === 0));
}

function Changes({ review }: { review: Review }) {
  if (isSame(review)) return <p>{words.review.nothing}</p>;
  const { plan, lines } = review;
  return (
    <>
      <ul class="changes">
        <NameLines kind={words.terms.kindOfType} changes={plan.objectTypes} />
        <NameLines kind={words.terms.kindOfPolicy} changes={plan.policies} />
      </ul>
      {lines ? <ChangedLines lines={lines} /> : <p class="hint">{words.history.tooLong}</p>}
    </>
  );
}

const VERBS = [
  ["created", "create"],
  ["changed", "change"],
  ["deleted", "delete"],
] as const;

function NameLines({ kind, changes }: { kind: string; changes: NameChanges }) {
  return (
    <>
      {VERBS.map(([member, verb]) =>
        changes[member].map((name) => (
          <li key={member + name}>
            <span class={`verb ${verb}`}>{words.verbs[verb]}</span>{" "}
            <span>
              {kind} <span class="name">{name}</span>
            </span>
          </li>
        )),
      )}
    </>
  );
}

interface StrandedProperties {
  review: Review;
  isKept: boolean;
  onKeep: (isKept: boolean) => void;
}

/** Shows the warrants that the new model does not allow, which have to be deleted before, or stay without effect. */
function Stranded({ review, isKept, onKeep }: StrandedProperties) {
  const { stranded, more } = review.plan;
  return (
    <div class="notice fault" role="alert">
      <p>
        <strong>
          {words.review.stranded(stranded.length, more)}
        </strong>
      </p>
      <ul>
        {stranded.slice(0, SHOWN_WARRANTS).map((warrant) => (
          <li key={writeWarrant(warrant)}>
            <code>{writeWarrant(warrant)}</code>
          </li>
        ))}
        {stranded.length > SHOWN_WARRANTS && <li>{words.review.more(stranded.length - SHOWN_WARRANTS, more)}</li>}
      </ul>
      <p>{words.review.strandedAdvice}</p>
      <label class="choice">
        <input type="checkbox" checked={isKept} onChange={(event) => onKeep(event.currentTarget.checked)} />
        {words.review.keep}
      </label>
    </div>
  );
}
