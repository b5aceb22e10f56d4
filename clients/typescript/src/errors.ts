/**
 * The errors that a client throws, as a tree:
 *
 *     MagistrateError                 any of them
 *     ├── InvalidUse                  no request can be made of the arguments, such as a warrant that cannot be read
 *     ├── Denied                      `require` found that the check is denied; carries `reason`, `explanation`
 *     ├── Unreachable                 no complete answer came, or one that is not from Magistrate
 *     │   └── Timeout                 the time of the call is over, retries included
 *     └── Refused                     the service refused; carries `code`, `status`, `requestId`, `body`
 *         ├── InvalidRequest
 *         │   ├── InvalidParameter    carries `parameter`
 *         │   │   ├── NotAllowed      the model does not allow such a warrant; carries `allowed`
 *         │   │   └── OrphanedWarrants  the model would forbid stored warrants; carries `warrants`
 *         │   └── InvalidModel        carries `errors`
 *         ├── Unauthenticated         no key or token, or one that is wrong or has expired
 *         ├── Forbidden
 *         ├── NotFound                carries `type`, `key`
 *         ├── Conflict
 *         │   ├── LimitReached        carries `limit`
 *         │   ├── PreconditionFailed  carries `index`
 *         │   └── RevisionLost        a token names a write that the store does not hold any more
 *         ├── Gone                    not kept any more; carries `oldest`
 *         ├── TooManyRequests         carries `retryAfterMs`
 *         ├── Unavailable             try again later; carries `retryAfterMs`
 *         ├── ReadOnly                a write to a service that only reads; carries `primary`, the URL of one that writes
 *         ├── BudgetExceeded          the answer takes more work than the service allows: it is not known
 *         └── InternalError
 *
 * No message and no member contains a key.
 */

import type { ErrorBody, Explanation } from "./json.js";
import { renderWarrant } from "./render.js";

export class MagistrateError extends Error {}

export class InvalidUse extends MagistrateError {}

/** Says that a check is denied: `user:kim is not viewer of document:plan`, and how it could be allowed if that was asked. */
export class Denied extends MagistrateError {
  readonly reason: string;
  readonly explanation: Explanation | undefined;

  constructor(check: string, explanation?: Explanation) {
    const reason = check + (explanation ? describeChange(explanation) : "");
    super(reason);
    this.reason = reason;
    this.explanation = explanation;
  }
}

export class Unreachable extends MagistrateError {}

export class Timeout extends Unreachable {
  constructor(timeoutMs: number) {
    super(`the call took longer than ${timeoutMs} ms`);
  }
}

/** An answer with an error. */
export interface Refusal {
  status: number;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  body: ErrorBody;
}

export class Refused extends MagistrateError {
  /** The code of the service; null if the answer has none, as those of proxies. */
  readonly code: string | null;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly body: ErrorBody;
  /** How long the service asks to wait before the next request. */
  readonly retryAfterMs: number | undefined;

  constructor({ status, requestId, retryAfterMs, body }: Refusal) {
    super(body.message ?? `the service, or what is in front of it, answered with the status ${status}`);
    this.code = body.code ?? null;
    this.status = status;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
    this.body = body;
  }
}

export class InvalidRequest extends Refused {}

export class InvalidParameter extends InvalidRequest {
  readonly parameter = this.body.parameter;
}

export class NotAllowed extends InvalidParameter {
  readonly allowed = this.body.allowed ?? [];
}

export class OrphanedWarrants extends InvalidParameter {
  readonly warrants = this.body.warrants ?? [];
}

export class InvalidModel extends InvalidRequest {
  readonly errors = this.body.errors ?? [];
}

export class Unauthenticated extends Refused {}

export class Forbidden extends Refused {}

export class NotFound extends Refused {
  readonly type = this.body.type;
  readonly key = this.body.key;
}

export class Conflict extends Refused {}

export class LimitReached extends Conflict {
  readonly limit = this.body.limit;
}

export class PreconditionFailed extends Conflict {
  readonly index = this.body.index;
}

export class RevisionLost extends Conflict {}

export class Gone extends Refused {
  readonly oldest = this.body.oldest;
}

export class TooManyRequests extends Refused {}

export class Unavailable extends Refused {}

export class ReadOnly extends Refused {
  readonly primary = this.body.primary;
}

export class BudgetExceeded extends Refused {}

export class InternalError extends Refused {}

/** Minifiers rename classes, and keep the names of members. */
const NAMED = {
  MagistrateError,
  InvalidUse,
  Denied,
  Unreachable,
  Timeout,
  Refused,
  InvalidRequest,
  InvalidParameter,
  NotAllowed,
  OrphanedWarrants,
  InvalidModel,
  Unauthenticated,
  Forbidden,
  NotFound,
  Conflict,
  LimitReached,
  PreconditionFailed,
  RevisionLost,
  Gone,
  TooManyRequests,
  Unavailable,
  ReadOnly,
  BudgetExceeded,
  InternalError,
};
for (const [name, type] of Object.entries(NAMED)) type.prototype.name = name;

type Kind = new (answer: Refusal) => Refused;

const KINDS: Readonly<Record<string, Kind>> = {
  invalid_request: InvalidRequest,
  invalid_parameter: InvalidParameter,
  missing_required_parameter: InvalidParameter,
  not_allowed: NotAllowed,
  stranded_warrants: OrphanedWarrants,
  invalid_model: InvalidModel,
  unauthorized: Unauthenticated,
  token_expired: Unauthenticated,
  forbidden: Forbidden,
  not_found: NotFound,
  conflict: Conflict,
  limit_reached: LimitReached,
  precondition_failed: PreconditionFailed,
  revision_lost: RevisionLost,
  gone: Gone,
  too_many_requests: TooManyRequests,
  unavailable: Unavailable,
  read_only: ReadOnly,
  budget_spent: BudgetExceeded,
  internal_error: InternalError,
};

/** The kinds of answers whose code this version does not know, or that have none, such as those of a proxy. */
const KINDS_BY_STATUS: Readonly<Record<number, Kind>> = {
  401: Unauthenticated,
  403: Forbidden,
  404: NotFound,
  429: TooManyRequests,
  500: InternalError,
};

export function errorOf(answer: Refusal): Refused {
  const known = KINDS[answer.body.code ?? ""] ?? KINDS_BY_STATUS[answer.status];
  return new (known ?? (answer.status > 500 ? Unavailable : InvalidRequest))(answer);
}

/** Returns the first change that would allow the check, as a part of a sentence. */
function describeChange({ wouldAllow }: Explanation): string {
  const change = wouldAllow?.find((suggestion) => suggestion.create.length + suggestion.delete.length > 0);
  if (change === undefined) return "";
  const steps = [
    ...change.delete.map((warrant) => `delete ${renderWarrant(warrant)}`),
    ...change.create.map((warrant) => `create ${renderWarrant(warrant)}`),
  ];
  return `; ${steps.join(" and ")} would allow it`;
}
