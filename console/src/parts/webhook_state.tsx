import { showTime } from "../names";
import type { Webhook } from "../webhooks";
import { Mark, type Tone } from "./icons";

const STATES: Record<Webhook["state"], [Tone, string]> = {
  enabled: ["yes", "Enabled"],
  disabled: ["unknown", "Disabled"],
  gone: ["no", "Gone"],
  dead: ["no", "Dead"],
};

/** Says whether changes are sent to a webhook, and if not, why. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  const { state, reason, attempts, nextAttemptAt } = webhook;
  const [tone, word] = state === "enabled" && attempts ? (["unknown", "Retrying"] as const) : STATES[state];
  return (
    <>
      <Mark tone={tone}>{word}</Mark>
      {attempts !== undefined && state === "enabled" && (
        <div class="hint">
          {attempts === 1 ? "An attempt" : `${attempts} attempts`} failed
          {nextAttemptAt && `; the next one is at ${showTime(nextAttemptAt)}`}
        </div>
      )}
      {reason && <div class="hint">{reason}</div>}
    </>
  );
}
