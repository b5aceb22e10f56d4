import { showTime } from "../names";
import type { Webhook } from "../webhooks";
import * as words from "../words";
import { Mark, type Tone } from "./icons";

const STATES: Record<Webhook["state"], [Tone, string]> = {
  enabled: ["yes", words.webhooks.enabled],
  disabled: ["unknown", words.webhooks.disabled],
  gone: ["no", words.webhooks.gone],
  dead: ["no", words.webhooks.dead],
};

/** Says whether changes are sent to a webhook, and if not, why. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  const { state, reason, attempts, nextAttemptAt } = webhook;
  const [tone, word] = state === "enabled" && attempts ? (["unknown", words.webhooks.retrying] as const) : STATES[state];
  return (
    <>
      <Mark tone={tone}>{word}</Mark>
      {attempts !== undefined && state === "enabled" && (
        <div class="hint">
          {words.webhooks.failed(attempts, nextAttemptAt && showTime(nextAttemptAt))}
        </div>
      )}
      {reason && <div class="hint">{reason}</div>}
    </>
  );
}
