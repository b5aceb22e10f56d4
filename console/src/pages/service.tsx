import type { ComponentType } from "preact";
import type { Need } from "../api";
import { Permitted } from "../parts/permission";
import { link, route } from "../route";
import { Integrations } from "./service_integrations";
import { Keys } from "./service_keys";
import { LiveMetrics } from "./service_metrics";
import { OwnKey } from "./service_own_key";
import { Sessions } from "./service_sessions";
import { Webhooks } from "./service_webhooks";

const PARTS: Record<string, { title: string; body: ComponentType; needs: Need }> = {
  keys: { title: "Keys", body: Keys, needs: { scope: "keys", ofAllTypes: true } },
  own: { title: "Your key", body: OwnKey, needs: { scope: "read" } },
  sessions: { title: "Sessions", body: Sessions, needs: { scope: "check", ofAllTypes: true } },
  webhooks: { title: "Webhooks", body: Webhooks, needs: { scope: "webhooks", ofAllTypes: true } },
  integrations: { title: "Integrations", body: Integrations, needs: { scope: "read" } },
  metrics: { title: "Metrics", body: LiveMetrics, needs: { scope: "metrics" } },
};

/** Shows what concerns the service itself: who may call it, where changes are sent, and how it is doing. */
export function ServicePage() {
  const { show = "keys" } = route.value.parameters;
  const shown = show in PARTS ? show : "keys";
  const { body: Part = Keys, needs } = PARTS[shown] ?? {};
  return (
    <div>
      <div class="heading">
        <h1>Service</h1>
        <nav class="tabs" aria-label="Parts of the service">
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
