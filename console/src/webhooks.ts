/** Represents webhooks and the attempts to deliver to them as the service answers them (docs/webhooks.md). */

import * as words from "./words";

export interface Webhook {
  id: string;
  url: string;
  of?: string[];
  objectType?: string[];
  relation?: string[];
  subjectType?: string[];
  description?: string;
  enabled: boolean;
  state: "enabled" | "disabled" | "gone" | "dead";
  reason?: string;
  createdAt: string;
  createdBy: string;
  /** Until then the secret before the last rotation signs as well. */
  previousUntil?: string;
  token: string;
  /** How often the delivery that is due has failed. */
  attempts?: number;
  nextAttemptAt?: string;
  skipped?: { after: string; time: string };
}

export interface IssuedWebhook extends Webhook {
  secret: string;
}

export interface Delivery {
  id: string;
  time: string;
  status?: number;
  /** Why the receiver does not have the message; absent: it has it. */
  error?: string;
  /** In milliseconds. */
  duration: number;
  attempt: number;
  tokens: string[];
}

/** Holds what a form says about a webhook. Names are separated by commas. */
export interface WebhookFields {
  url: string;
  description: string;
  of: string;
  objectType: string;
  relation: string;
  subjectType: string;
}

type FilterMember = "of" | "objectType" | "relation" | "subjectType";

const FILTERS: [FilterMember, string][] = [
  ["of", words.webhooks.ofAccess],
  ["objectType", words.webhooks.ofType],
  ["relation", words.webhooks.ofRelation],
  ["subjectType", words.webhooks.ofSubjectType],
];

export function webhookPath(id: string, action = ""): string {
  return `v2/webhooks/${encodeURIComponent(id)}${action && `/${action}`}`;
}

/** Returns which changes are sent to a webhook, in words. */
export function describeFilter(webhook: Webhook): string {
  const parts = FILTERS.flatMap(([member, what]) => {
    const names = webhook[member];
    return names ? [words.webhooks.only(what, names)] : [];
  });
  return parts.join(", ") || words.webhooks.allChanges;
}

export function fieldsOf(webhook?: Webhook): WebhookFields {
  const join = (names: string[] | undefined) => names?.join(", ") ?? "";
  return {
    url: webhook?.url ?? "",
    description: webhook?.description ?? "",
    of: join(webhook?.of),
    objectType: join(webhook?.objectType),
    relation: join(webhook?.relation),
    subjectType: join(webhook?.subjectType),
  };
}

/** Returns the members of a request: null stands for a member that is not wanted. */
export function bodyOf(fields: WebhookFields): Record<string, string | string[] | null> {
  const body: Record<string, string | string[] | null> = {
    url: fields.url.trim(),
    description: fields.description.trim() || null,
  };
  for (const [member] of FILTERS) body[member] = splitNames(fields[member]);
  return body;
}

function splitNames(text: string): string[] | null {
  const names = text.split(/[\s,]+/).filter(Boolean);
  return names.length > 0 ? names : null;
}
