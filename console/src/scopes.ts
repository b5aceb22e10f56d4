/** Says in words what keys may do (docs/security.md). */

export const SCOPES: Record<string, string> = {
  check: "check access, and create sessions",
  forward: "check the requests that a gateway passes on, for any subject",
  query: "find objects and subjects",
  read: "read the model and the data, explain, compare",
  write: "create and delete warrants and objects",
  model: "change the model",
  events: "read the history",
  metrics: "read metrics",
  keys: "manage keys",
  webhooks: "manage webhooks, which get all changes",
  stores: "manage stores, and use all of them",
  admin: "all of these",
};
