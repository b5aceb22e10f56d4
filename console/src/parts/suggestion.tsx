import { useState } from "preact/hooks";
import { write } from "../api";
import { describeEffects, hasExample, listChanges, proposalOf, writeWithPolicy, type Suggestion } from "../explanation";
import { showCheck, showText } from "../openfga_names";
import { asOf } from "../route";
import * as words from "../words";
import { Confirm } from "./confirm";
import { Effect } from "./effect";
import { ChangeButton, Obstacle } from "./permission";

const WRITE = { scope: "write" } as const;

interface Properties {
  suggestion: Suggestion;
  /** The check that it would allow, in written form. */
  check: string;
  /** Whether it is the one to look at first. */
  isFirst: boolean;
  onDone: () => void;
  onContext: (example: Record<string, unknown>) => void;
}

/** Shows a change that would allow a check, what else it would allow, and makes it. */
export function SuggestionCard({ suggestion, check, isFirst, onDone, onContext }: Properties) {
  const [isShown, setShown] = useState(isFirst);
  const [isConfirming, setConfirming] = useState(false);
  const changes = listChanges(suggestion);
  const proposal = proposalOf(suggestion);
  const isWrite = proposal.create.length + proposal.delete.length > 0;
  const isPast = asOf.value !== undefined;

  async function make() {
    const body = {
      ...(proposal.delete.length > 0 ? { delete: { warrants: proposal.delete } } : {}),
      ...(proposal.create.length > 0 ? { create: { warrants: proposal.create } } : {}),
    };
    await write("v2/writes", { body });
    onDone();
  }

  const actions = (
    <div class="actions">
      {isWrite && !isPast && !isShown && (
        <button type="button" class="quiet" onClick={() => setShown(true)}>
          {words.suggestions.whatElse}
        </button>
      )}
      {hasExample(suggestion) && (
        <button type="button" class="quiet" onClick={() => onContext(suggestion.context.example ?? {})}>
          {words.suggestions.useContext}
        </button>
      )}
      {isWrite && (
        <ChangeButton needs={WRITE} class={isFirst ? "primary" : "quiet"} onClick={() => setConfirming(true)}>
          {words.suggestions.make}
        </ChangeButton>
      )}
      {isWrite && isFirst && <Obstacle needs={WRITE}>{words.suggestions.cannotMake}</Obstacle>}
    </div>
  );
  return (
    <article class="suggestion">
      <div class="summary">
        <div>
          <ul class="changes">
            {changes.map((change) => (
              <li key={change.verb + change.what}>
                <span class={`verb ${change.verb}`}>{words.verbs[change.verb]}</span> <code>{change.what}</code>
                {change.inOpenFga && (
                  <span class="hint">
                    {words.suggestions.inOpenFga(change.inOpenFga)}
                  </span>
                )}
              </li>
            ))}
          </ul>
          {suggestion.note && <p class="hint">{capitalize(showText(suggestion.note))}.</p>}
          {isWrite && <p class={suggestion.effects.lost > 0 ? "hint effects harm" : "hint effects"}>{describeEffects(suggestion)}</p>}
        </div>
        {!isFirst && actions}
      </div>
      {isWrite && !isPast && isShown && <Effect proposal={proposal} suggestedFor={check} />}
      {isFirst && actions}
      {isConfirming && (
        <Confirm title={words.suggestions.title} action={words.suggestions.confirm} onConfirm={make} onClose={() => setConfirming(false)}>
          <ul class="changes">
            {proposal.delete.map((warrant) => (
              <li key={writeWithPolicy(warrant)}>
                <span class="verb delete">{words.verbs.delete}</span> <code>{writeWithPolicy(warrant)}</code>
              </li>
            ))}
            {proposal.create.map((warrant) => (
              <li key={writeWithPolicy(warrant)}>
                <span class="verb create">{words.verbs.create}</span> <code>{writeWithPolicy(warrant)}</code>
              </li>
            ))}
          </ul>
          <p>
            {words.suggestions.allows(showCheck(check))}
          </p>
          <Effect proposal={proposal} suggestedFor={check} />
        </Confirm>
      )}
    </article>
  );
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
