import type { ComponentType } from "preact";
import type { Need } from "../api";
import { Permitted } from "../parts/permission";
import { link, route } from "../route";
import * as words from "../words";
import { Integrations } from "./service_integrations";
import { Keys } from "./service_keys";
import { LiveMetrics } from "./service_metrics";
import { OwnKey } from "./service_own_key";
import { Sessions } from "./service_sessions";
import { Webhooks } from "./service_webhooks";

const PARTS: Record<string, { title: string; body: ComponentType; needs: Need }> = {
  keys: { title: words.pages.keys, body: Keys, needs: { scope: "keys", ofAllTypes: true } },
  own: { title: words.pages.ownKey, body: OwnKey, needs: { scope: "read" } },
  sessions: { title: words.pages.sessions, body: Sessions, needs: { scope: "check", ofAllTypes: true } },
  webhooks: { title: words.pages.webhooks, body: Webhooks, needs: { scope: "webhooks", ofAllTypes: true } },
  integrations: { title: words.pages.integrations, body: Integrations, needs: { scope: "read" } },
  metrics: { title: words.pages.metrics, body: LiveMetrics, needs: { scope: "metrics" } },
};

/** Shows what concerns the service itself: who may call it, where changes are sent, and how it is doing. */
export function ServicePage() {
  const { show = "keys" } = route.value.parameters;
  const shown = show in PARTS ? show : "keys";
  const { body: Part = Keys, needs } = PARTS[shown] ?? {};
  return (
    <div>
      <div class="heading">
        <h1>{words.pages.service}</h1>
        <nav class="tabs" aria-label={words.pages.partsOfService}>
          {Object.entries(PARTS).map(([name, { title }]) => (
            <a key={name} href={link("service", { show: name })} aria-current={name === shown ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
      </div>
      <Permitted needs={needs} key={shown}>
        <Part />
      </Permitted>
    </div>
  );
}
