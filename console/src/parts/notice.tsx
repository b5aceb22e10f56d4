import type { ComponentChildren } from "preact";
import type { Refused } from "../api";
import * as words from "../words";

/** Says what went wrong and what to do about it. */
export function Fault({ fault, retry }: { fault: Refused; retry?: () => void }) {
  const [message = "", ...source] = nameParameter(fault).split("\n");
  return (
    <div class="notice fault" role="alert">
      <p>
        <strong>{sentence(message)}</strong>
      </p>
      {source.length > 0 && (
        <pre class="source" tabIndex={0} aria-label={words.refusals.source}>
          {source.join("\n")}
        </pre>
      )}
      <p>{fault.advice}</p>
      {retry && canHelp(fault) && (
        <button type="button" class="quiet" onClick={retry}>
          {words.actions.tryAgain}
        </button>
      )}
    </div>
  );
}

/** Says whether the same request may be answered later: what is wrong with it stays wrong. */
function canHelp({ status, code }: Refused): boolean {
  return status === 0 || status === 409 || status === 412 || status === 429 || (status >= 500 && code !== "budget_spent");
}

export function Notice({ children }: { children: ComponentChildren }) {
  return (
    <div class="notice" role="status">
      {children}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children}
    </div>
  );
}

export function Busy({ what }: { what: string }) {
  return (
    <p class="busy" role="status">
      {what}…
    </p>
  );
}

/** Returns the message with its subject, which those about one parameter leave out. */
function nameParameter({ message, parameter }: Refused): string {
  return parameter && /^(must|can|cannot|is|has) /.test(message) ? `${parameter} ${message}` : message;
}

/** Matches a message that begins with a word. What looks like a name, such as `user:kim` or `objectId`, keeps its case. */
const WORD = /^[a-z]+(?![\w:#@*/-])/;

function sentence(text: string): string {
  const ended = /[.!?]$/.test(text) ? text : `${text}.`;
  return WORD.test(ended) ? ended.charAt(0).toUpperCase() + ended.slice(1) : ended;
}
