import type { WebhookFields } from "../webhooks";

interface InputProperties {
  name: keyof WebhookFields;
  label: string;
  placeholder?: string;
  hint?: string;
}

const ABOUT: InputProperties[] = [
  { name: "url", label: "URL", placeholder: "https://receiver.example/changes" },
  { name: "description", label: "Description" },
];
const FILTERS: InputProperties[] = [
  { name: "objectType", label: "Object types", placeholder: "document, folder", hint: "Separate names by commas; none: all." },
  { name: "relation", label: "Relations", placeholder: "viewer" },
  { name: "subjectType", label: "Types of subjects", placeholder: "user" },
];
const PATTERNS: InputProperties[] = [
  { name: "of", label: "Access", placeholder: "document#viewer@user", hint: "Separate patterns by commas." },
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
