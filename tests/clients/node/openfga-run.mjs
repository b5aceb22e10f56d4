// node openfga-run.mjs URL KEY, in a folder where @openfga/sdk is installed: runs every scenario of openfga.mjs against
// the service there. It prints lines of JSON: the methods of the client, then each scenario with the methods it called
// and why it failed, if it did.

import { createRequire } from "node:module";
import { join } from "node:path";

const [apiUrl, token] = process.argv.slice(2);
const scenarios = await import("./openfga.mjs");
const sdk = createRequire(join(process.cwd(), "scenario.js"))("@openfga/sdk");
const print = (line) => console.log(JSON.stringify(line));

const methods = Object.getOwnPropertyNames(sdk.OpenFgaClient.prototype).filter((name) => name !== "constructor");

/** A client that notes which of its methods are called. */
function watch(options, called) {
  const client = new sdk.OpenFgaClient({
    apiUrl,
    credentials: { method: sdk.CredentialsMethod.ApiToken, config: { token } },
    ...options,
  });
  return new Proxy(client, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (!methods.includes(name)) return value;
      called.add(name);
      return value.bind(target);
    },
  });
}

print({ methods });
for (const [scenario, run] of Object.entries(scenarios)) {
  const called = new Set();
  const failure = await run((options) => watch(options, called), sdk).then(
    () => null,
    (error) => error.stack ?? String(error),
  );
  print({ scenario, failure, called: [...called] });
}
