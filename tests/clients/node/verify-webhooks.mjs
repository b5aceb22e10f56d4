// Verifies messages of webhooks with `standardwebhooks`, as receivers do: reads {secret, messages: [{headers, body}]} from
// stdin, and prints for each what was verified, or why it was not.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const { Webhook } = createRequire(join(process.cwd(), "package.json"))("standardwebhooks");
const { secret, messages } = JSON.parse(readFileSync(0, "utf8"));
const webhook = new Webhook(secret);

const results = messages.map(({ headers, body }) => {
  try {
    return { verified: webhook.verify(body, headers) };
  } catch (error) {
    return { refused: error.message };
  }
});
process.stdout.write(JSON.stringify(results));
