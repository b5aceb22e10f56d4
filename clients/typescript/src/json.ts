/** The values that the service sends and takes, as docs/api.md of Magistrate describes them. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type Context = { readonly [name: string]: Json };

export interface ObjectRef {
  objectType: string;
  objectId: string;
}

export interface SubjectRef extends ObjectRef {
  /** With it, the subject is the userset of all that have this relation on the object. */
  relation?: string;
}

export interface WarrantBody extends ObjectRef {
  relation: string;
  subject: SubjectRef;
  policy?: string;
  startsAt?: string;
  expiresAt?: string;
}

export interface StoredWarrant extends WarrantBody {
  createdAt: string;
}

export interface StoredObject extends ObjectRef {
  meta?: Context;
  createdAt: string;
}

export interface ObjectTypeDefinition {
  type: string;
  relations: { [relation: string]: Context };
  allowedTypes?: { [relation: string]: string[] };
  description?: string;
  descriptions?: { [relation: string]: string };
  source?: Context;
  createdAt?: string;
}

export interface PolicyDefinition {
  name: string;
  parameters: { [name: string]: string };
  expression: string;
  description?: string;
  createdAt?: string;
}

export interface ModelDefinition {
  objectTypes: ObjectTypeDefinition[];
  policies: PolicyDefinition[];
}

export interface ErrorBody {
  code?: string;
  message?: string;
  parameter?: string;
  type?: string;
  key?: string;
  index?: number;
  limit?: string;
  oldest?: string;
  primary?: string;
  allowed?: string[];
  warrants?: string[];
  errors?: { line?: number; column?: number; code: string; message: string; suggestion?: string }[];
  [member: string]: unknown;
}

export interface Step {
  check?: string;
  rule?: string;
  holds: boolean | "unknown";
  via?: StoredWarrant;
  outOfForce?: "expired" | "notStarted";
  policy?: { text: string; holds: boolean | "unknown"; values: Context; missing?: string[] };
  children?: Step[];
  cut?: number;
  loop?: boolean;
}

export interface Suggestion {
  create: WarrantBody[];
  delete: WarrantBody[];
  context: { missing: string[]; different?: string[]; example?: Context };
  effects: { gained: number; lost: number; complete: boolean };
  note: string;
}

export interface Explanation {
  decision: "allowed" | "denied";
  check: string;
  because: Step;
  path?: StoredWarrant[];
  wouldAllow?: Suggestion[];
  unknown: string[];
  complete?: boolean;
}

export interface AccessRow extends ObjectRef {
  relation: string;
  subject: SubjectRef;
  conditional?: boolean;
  cause?: Cause;
}

export interface Cause {
  created: (WarrantBody | ObjectRef)[];
  deleted: (WarrantBody | ObjectRef)[];
  objectTypes: string[];
}

export interface DifferenceRow extends AccessRow {
  change: "gained" | "lost";
}

export interface WriteAnswer {
  created: number;
  deleted: number;
  unchanged: number;
}

export interface Checkpoint {
  event: "checkpoint";
  token: string;
  time: string;
  id?: string;
}

export interface Changes<Row> {
  created?: Row[];
  updated?: Row[];
  deleted?: Row[];
}

export interface RevisionEvent {
  event: "revision";
  token: string;
  time: string;
  actor?: string;
  requestId?: string;
  objects?: Changes<StoredObject | ObjectRef>;
  warrants?: { created?: WarrantBody[]; deleted?: WarrantBody[]; expired?: WarrantBody[] };
  objectTypes?: Changes<ObjectTypeDefinition>;
  policies?: Changes<PolicyDefinition>;
}

export interface SnapshotEvent {
  event: "snapshot";
  objectTypes?: ObjectTypeDefinition[];
  policies?: PolicyDefinition[];
  objects?: StoredObject[];
  warrants?: StoredWarrant[];
}

export interface AccessEvent {
  event: "access";
  token: string;
  time: string;
  gained?: AccessRow[];
  lost?: AccessRow[];
  /** More changed than one event can have: begin again with a snapshot. */
  resync?: boolean;
  id?: string;
}

export interface AccessSnapshotEvent {
  event: "snapshot";
  access: AccessRow[];
}

/** The stream was cut within its snapshot, which begins anew: discard what was received of it. */
export interface RestartEvent {
  event: "restart";
}

export type WatchEvent = Checkpoint | RevisionEvent | SnapshotEvent | RestartEvent;
export type AccessFeedEvent = Checkpoint | AccessEvent | AccessSnapshotEvent | RestartEvent;
