import { useState } from "preact/hooks";
import * as words from "../words";

interface Properties {
  what: string;
  text: string;
  onClose: () => void;
}

/** Shows a secret, which nobody can read again. It is kept nowhere but on the page. */
export function Secret({ what, text, onClose }: Properties) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true), () => setCopied(false));
  return (
    <div class="notice" role="status">
      <p>
        {words.keys.shownOnce(what)}
      </p>
      <p>
        <code class="secret">{text}</code>
      </p>
      <div class="actions">
        {navigator.clipboard !== undefined && (
          <button type="button" class="quiet" onClick={() => void copy()}>
            {isCopied ? words.keys.copied : words.actions.copy}
          </button>
        )}
        <button type="button" class="quiet" onClick={onClose}>
          {words.keys.isStored}
        </button>
      </div>
    </div>
  );
}
