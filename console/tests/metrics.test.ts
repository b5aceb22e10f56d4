import { describe, expect, test } from "vitest";
import { compareReadings, readSamples } from "../src/metrics";

function metrics(requests: number, hits: number, slow: number): string {
  const route = 'method="GET",route="/v2/objects"';
  return `# HELP magistrate_requests_total Requests.
magistrate_requests_total{${route},status="200"} ${requests}
magistrate_requests_total{method="GET",route="",status="404"} 1
magistrate_request_seconds_bucket{${route},le="0.005"} ${requests - slow}
magistrate_request_seconds_bucket{${route},le="0.1"} ${requests}
magistrate_request_seconds_bucket{${route},le="+Inf"} ${requests}
magistrate_graph_hits_total ${hits}
magistrate_graph_misses_total 25
magistrate_graph_entries 7
magistrate_requests_running 1
`;
}

describe("readings of metrics", () => {
  test("one alone says what happened since the service was started", () => {
    const figures = compareReadings(undefined, readSamples(metrics(100, 75, 40), 0));

    expect(figures).toMatchObject({ total: 101, p50Ms: 5, p99Ms: 100, cacheHits: 0.75, cachedEntries: 7, running: 1 });
    expect(figures.perSecond).toBeUndefined();
    expect(figures.routes[0]).toEqual({ route: "GET /v2/objects", total: 100, p50Ms: 5, p99Ms: 100 });
    expect(figures.routes[1]).toMatchObject({ route: "GET other paths", total: 1 });
  });

  test("two say what happened between them", () => {
    const figures = compareReadings(readSamples(metrics(100, 75, 40), 10), readSamples(metrics(120, 95, 40), 12));

    expect(figures).toMatchObject({ total: 121, perSecond: 10, p50Ms: 5, p99Ms: 5, cacheHits: 1 });
    expect(figures.routes.map((one) => one.perSecond)).toEqual([10, 0]);
  });

  test("a service that was started again counts from 0", () => {
    const figures = compareReadings(readSamples(metrics(100, 75, 40), 10), readSamples(metrics(3, 0, 0), 12));

    expect(figures).toMatchObject({ total: 4, perSecond: 0, cacheHits: undefined });
  });
});
