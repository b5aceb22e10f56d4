/** Says in words what keys may do (docs/security.md). */

import * as words from "./words";

export const SCOPES: Record<string, string> = {
  check: words.scopes.check,
  forward: words.scopes.forward,
  query: words.scopes.query,
  read: words.scopes.read,
  write: words.scopes.write,
  model: words.scopes.model,
  events: words.scopes.events,
  metrics: words.scopes.metrics,
  keys: words.scopes.keys,
  webhooks: words.scopes.webhooks,
  stores: words.scopes.stores,
  admin: words.scopes.admin,
};
