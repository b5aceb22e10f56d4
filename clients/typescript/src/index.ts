/** The client of Magistrate, an authorization service. */

export * from "./client.js";
export * from "./errors.js";
export type { FeedOptions } from "./feed.js";
export type * from "./json.js";
export type * from "./model.js";
export { renderObject, renderSubject, renderWarrant } from "./render.js";
export { Rows } from "./rows.js";
export type { Key } from "./transport.js";
