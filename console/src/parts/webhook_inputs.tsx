import type { WebhookFields } from "../webhooks";
import * as words from "../words";

interface InputProperties {
  name: keyof WebhookFields;
  label: string;
  placeholder?: string;
  hint?: string;
}

const ABOUT: InputProperties[] = [
  { name: "url", label: words.webhooks.url, placeholder: words.webhooks.exampleOfUrl },
  { name: "description", label: words.webhooks.description },
];
const FILTERS: InputProperties[] = [
  { name: "objectType", label: words.terms.objectTypes, placeholder: words.webhooks.exampleOfTypes, hint: words.webhooks.namesAdvice },
  { name: "relation", label: words.terms.relations, placeholder: words.examples.relation },
  { name: "subjectType", label: words.terms.subjectTypes, placeholder: words.examples.subjectType },
];
const PATTERNS: InputProperties[] = [
  { name: "of", label: words.terms.access, placeholder: words.examples.access, hint: words.webhooks.patternsAdvice },
];

interface Properties {
  fields: WebhookFields;
  /** Whether it gets the access that is gained and lost, and not changes. */
  isOfAccess?: boolean;
  onChange: (fields: WebhookFields) => void;
}

/** Represents the fields of a form about a webhook. */
export function WebhookInputs({ fields, isOfAccess, onChange }: Properties) {
  return (
    <>
      {[...ABOUT, ...(isOfAccess ? PATTERNS : FILTERS)].map(({ name, label, placeholder, hint }) => (
        <div class="field" key={name}>
          <label for={`webhook-${name}`}>{label}</label>
          <input
            id={`webhook-${name}`}
            type="text"
            inputMode={name === "url" ? "url" : undefined}
            spellcheck={false}
            required={name === "url" || name === "of"}
            maxLength={name === "description" ? 1000 : undefined}
            placeholder={placeholder}
            aria-describedby={hint && `webhook-${name}-hint`}
            value={fields[name]}
            onInput={(event) => onChange({ ...fields, [name]: event.currentTarget.value })}
          />
          {hint && (
            <span class="hint" id={`webhook-${name}-hint`}>
              {hint}
            </span>
          )}
        </div>
      ))}
    </>
  );
}
