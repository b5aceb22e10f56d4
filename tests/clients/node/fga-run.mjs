// node fga-run.mjs URL KEY, in a folder where @workos-inc/node is installed: runs every scenario of fga.mjs against the
// service there. It prints lines of JSON like run.mjs.

import { createRequire } from "node:module";
import { join } from "node:path";

const [endpoint, apiKey] = process.argv.slice(2);
const scenarios = await import("./fga.mjs");
const { WorkOS } = createRequire(join(process.cwd(), "scenario.js"))("@workos-inc/node");
const print = (line) => console.log(JSON.stringify(line));

let sent = [];
const plainFetch = globalThis.fetch;
globalThis.fetch = (url, options = {}) => {
  const suffix = options.body?.startsWith("[") ? " (array)" : "";
  sent.push(`${options.method} ${new URL(url).pathname}${suffix}`);
  return plainFetch(url, options);
};

const { hostname, port } = new URL(endpoint);
const { fga } = new WorkOS(apiKey, { apiHostname: hostname, port: Number(port), https: false });
const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(fga)).filter((name) => name !== "constructor");

/** The module, such that what each call sends is noted. Calls run one after another. */
function watchedModule(calls) {
  return Object.fromEntries(
    methods.map((name) => [
      name,
      async (...given) => {
        const before = sent.length;
        try {
          return await fga[name](...given);
        } finally {
          (calls[`FGA.${name}`] ??= []).push(...sent.slice(before));
        }
      },
    ]),
  );
}

print({ methods: methods.map((name) => `FGA.${name}`) });
for (const [scenario, run] of Object.entries(scenarios)) {
  const calls = {};
  const failure = await run(watchedModule(calls)).then(
    () => null,
    (error) => error.stack ?? String(error),
  );
  print({ scenario, failure, calls });
}
