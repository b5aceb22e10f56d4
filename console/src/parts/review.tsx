import { useState } from "preact/hooks";
import { Refused } from "../api";
import { useLoaded } from "../loading";
import { reviewModel, saveModel, type NameChanges, type Review, type StoredModel } from "../model/stored";
import { writeWarrant } from "../names";
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
      const message = "Somebody else has just changed the model. Nothing was saved, and your text is still here";
      throw new Refused(412, fault.code, message);
    }
    onSaved();
  }

  return (
    <Confirm
      title="Save this model?"
      action="Save"
      isReady={review !== undefined && !loaded.isLoading && !isStopped && !isSame(review)}
      onConfirm={save}
      onClose={onClose}
    >
      {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {!review && !loaded.fault && <Busy what="Finding what it would change" />}
      {review && (
        <>
          {review.newest.text !== base.text && (
            <Notice>
              <p>
                <strong>Somebody else has changed the model since you opened it.</strong> What you see here is compared with
                the model as it is now: lines that you did not change are changes of somebody else, which yours would undo.
              </p>
            </Notice>
          )}
          <Changes review={review} />
          {REMARK.test(text) && (
            <p class="hint">
              Comments (<code>//</code>) are not stored with the model; descriptions (<code>///</code>) are.
            </p>
          )}
          {review.plan.stranded.length > 0 && (
            <Stranded review={review} isKept={keepsStranded} onKeep={setKeeps} />
          )}
          <section class="effect-of-model">
            <h3>Access</h3>
            {review.access instanceof Refused ? (
              <p>It is not known who gains and who loses: {review.access.message}.</p>
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
  if (isSame(review)) return <p>Nothing would change: the service has this model.</p>;
  const { plan, lines } = review;
  return (
    <>
      <ul class="changes">
        <NameLines kind="object type" changes={plan.objectTypes} />
        <NameLines kind="policy" changes={plan.policies} />
      </ul>
      {lines ? <ChangedLines lines={lines} /> : <p class="hint">The texts are too long to be compared line by line.</p>}
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
            <span class={`verb ${verb}`}>{verb}</span>{" "}
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
          {more ? `More than ${stranded.length}` : stranded.length}{" "}
          {stranded.length === 1 && !more ? "warrant is" : "warrants are"} not allowed by this model:
        </strong>
      </p>
      <ul>
        {stranded.slice(0, SHOWN_WARRANTS).map((warrant) => (
          <li key={writeWarrant(warrant)}>
            <code>{writeWarrant(warrant)}</code>
          </li>
        ))}
        {stranded.length > SHOWN_WARRANTS && <li>and {more ? "more" : `${stranded.length - SHOWN_WARRANTS} more`}</li>}
      </ul>
      <p>Delete them first, allow them, or keep them: they stay stored, and count again when a model allows them.</p>
      <label class="choice">
        <input type="checkbox" checked={isKept} onChange={(event) => onKeep(event.currentTarget.checked)} />
        Keep them without effect
      </label>
    </div>
  );
}
