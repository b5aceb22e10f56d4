/**
 * What can be written of a model, as types. `M` maps each object type to the union of its relations, as
 * `magistrate model types --typescript` prints it. Without it everything is text.
 */

import type { Context, ObjectRef, SubjectRef, WarrantBody } from "./json.js";

export type Relations = { readonly [objectType: string]: string };

export type AnyModel = Relations;

export type ObjectType<M> = keyof M & string;

type IsAny<M> = string extends keyof M ? true : false;

/** An object as text, such as `document:plan`. */
export type ObjectText<M> = IsAny<M> extends true ? string : { [T in ObjectType<M>]: `${T}:${string}` }[ObjectType<M>];

export type ObjectArgument<M> =
  | ObjectText<M>
  | { readonly objectType: ObjectType<M>; readonly objectId: string };

/** A subject as text, such as `user:ann` or `team:eng#member`, or as an object. */
export type SubjectArgument<M> =
  | ObjectText<M>
  | { readonly objectType: ObjectType<M>; readonly objectId: string; readonly relation?: string };

/** The object type of an argument. */
export type TypeOf<M, O> = IsAny<M> extends true
  ? string
  : O extends `${infer T extends ObjectType<M>}:${string}`
    ? T
    : O extends { readonly objectType: infer T extends ObjectType<M> }
      ? T
      : never;

/** The relations that an object type has. */
export type RelationOf<M, T> = IsAny<M> extends true ? string : T extends keyof M ? M[T] & string : never;

export type RelationOn<M, O> = RelationOf<M, TypeOf<M, O>>;

export interface Limits {
  readonly policy?: string;
  readonly startsAt?: string | Date;
  readonly expiresAt?: string | Date;
}

/** A warrant as text, `document:plan#viewer@user:ann`, with a policy in brackets behind it, or as an object. */
export type WarrantArgument<M> = WarrantText<M> | WarrantParts<M> | LimitedText<M>;

/** A warrant as text, with limits. */
export type LimitedText<M> = { readonly warrant: WarrantText<M> } & Pick<Limits, "startsAt" | "expiresAt">;

export type WarrantText<M> = IsAny<M> extends true
  ? string
  : { [T in ObjectType<M>]: `${T}:${string}#${M[T] & string}@${string}:${string}` }[ObjectType<M>];

export type WarrantParts<M> =
  | (IsAny<M> extends true
      ? { readonly object: string | ObjectRef; readonly relation: string; readonly subject: string | SubjectRef } & Limits
      : {
          [T in ObjectType<M>]: {
            readonly object: `${T}:${string}` | { readonly objectType: T; readonly objectId: string };
            readonly relation: M[T] & string;
            readonly subject: SubjectArgument<M>;
          } & Limits;
        }[ObjectType<M>])
  | BodyOf<M>;

/** A warrant as the service sends it, which can be sent back. */
type BodyOf<M> = IsAny<M> extends true
  ? WarrantBody
  : { [T in ObjectType<M>]: { objectType: T; relation: M[T] & string } & Omit<WarrantBody, "objectType" | "relation"> }[ObjectType<M>];

/**
 * An object in a write. Where the model is known, plain text is always a warrant there, because a type cannot tell text
 * with a misspelled relation from that of an object.
 */
export type ObjectElement<M> =
  | (IsAny<M> extends true ? string : never)
  | ({ readonly objectType: ObjectType<M>; readonly objectId: string } & NoWarrant)
  | ({ readonly object: ObjectArgument<M> } & NoWarrant);

interface NoWarrant {
  readonly meta?: Context;
  readonly relation?: never;
  readonly subject?: never;
}

export type CheckArgument<M> = IsAny<M> extends true
  ? readonly [subject: string | SubjectRef | null, relation: string, object: string | ObjectRef]
  : {
      [T in ObjectType<M>]: readonly [
        subject: SubjectArgument<M> | null,
        relation: M[T] & string,
        object: `${T}:${string}` | { readonly objectType: T; readonly objectId: string },
      ];
    }[ObjectType<M>];
