import { link, route } from "../route";
import { Keys } from "./service_keys";
import { LiveMetrics } from "./service_metrics";

/** Shows what concerns the service itself: who may call it, and how it is doing. */
export function ServicePage() {
  const isMetrics = route.value.parameters.show === "metrics";
  return (
    <div class="wide">
      <div class="heading">
        <h1>Service</h1>
        <nav class="tabs" aria-label="Parts of the service">
          <a href={link("service")} aria-current={isMetrics ? undefined : "page"}>
            Keys
          </a>
          <a href={link("service", { show: "metrics" })} aria-current={isMetrics ? "page" : undefined}>
            Metrics
          </a>
        </nav>
      </div>
      {isMetrics ? <LiveMetrics /> : <Keys />}
    </div>
  );
}
