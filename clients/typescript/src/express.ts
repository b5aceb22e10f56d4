/** Protects the routes of Express, or of anything with the same middleware. */

import { Client } from "./client.js";
import { Denied, InvalidParameter, InvalidUse } from "./errors.js";
import type { ObjectRef, SubjectRef } from "./json.js";
import type { AnyModel, ObjectArgument, ObjectText, RelationOn, Relations, SubjectArgument } from "./model.js";
import { renderObject, renderSubject } from "./render.js";
import { readObject, readSubject } from "./written.js";

export interface RequestLike {
  params: Record<string, string | string[] | undefined>;
}

export interface ResponseLike {
  status(code: number): ResponseLike;
  json(body: unknown): unknown;
}

export type Next = (error?: unknown) => void;

export type Middleware<Request> = (request: Request, response: ResponseLike, next: Next) => Promise<void>;

export interface RequireOptions<M extends Relations, Request> {
  /** Whose request it is, from what authenticated it; nobody's if there is none, which is 401. */
  subject: (request: Request) => Answer<SubjectArgument<M> | undefined | null>;
  /** By default one for the variables of the environment, made at the first request. */
  client?: Client<M> | undefined;
  /** Variables of policies. */
  context?: (request: Request) => Answer<NonNullable<Parameters<Client<M>["check"]>[3]>["context"]>;
  /** Answers a denied request; by default with 403 and `{code, message}`. */
  onDenied?: (denied: Denied, request: Request, response: ResponseLike, next: Next) => unknown;
}

type Answer<T> = T | Promise<T>;

/**
 * Returns a middleware that lets a request pass if its subject has a relation on an object: `document:{id}`, where
 * `{id}` is a parameter of the path, or what a function says. Otherwise it answers 401 or 403; if the check cannot be
 * made, it passes the error on, and the request does not pass.
 */
function requireRelation<
  M extends Relations = AnyModel,
  const O extends ObjectText<M> = ObjectText<M>,
  Request extends RequestLike = any,
>(
  relation: RelationOn<M, O>,
  object: O | ((request: Request) => Answer<O>),
  options: RequireOptions<M, Request>,
): Middleware<Request> {
  const findObject = typeof object === "function" ? object : readTemplate(object);
  let { client } = options;
  return async (request, response, next) => {
    try {
      const given = await options.subject(request);
      if (given === undefined || given === null || given === "") {
        response.status(401).json({ code: "unauthorized", message: "Log in first." });
        return;
      }
      client ??= new Client<M>();
      const subject = readSubject(given);
      const ref = readObject((await findObject(request)) as string | ObjectRef);
      const context = await options.context?.(request);
      if (await isAllowed(client, subject, relation, ref, context)) {
        next();
        return;
      }
      const denied = new Denied(`${renderSubject(subject)} is not ${relation} of ${renderObject(ref)}`);
      if (options.onDenied) await options.onDenied(denied, request, response, next);
      else response.status(403).json({ code: "forbidden", message: denied.reason });
    } catch (error) {
      next(error);
    }
  };
}

export { requireRelation as require };

/** An id that no object has is denied. A wildcard would check for any object, and a group for all of its members. */
async function isAllowed<M extends Relations>(
  client: Client<M>,
  subject: SubjectRef,
  relation: string,
  object: ObjectRef,
  context: Exclude<Parameters<Client["check"]>[3], undefined>["context"],
): Promise<boolean> {
  if (object.objectId.includes("*") || subject.objectId.includes("*") || subject.relation !== undefined) return false;
  try {
    const untyped = client as unknown as Client;
    return await untyped.check(subject, relation, object, context === undefined ? {} : { context });
  } catch (error) {
    if (error instanceof InvalidParameter && error.parameter?.endsWith("objectId")) return false;
    throw error;
  }
}

/** Returns a function that puts the parameters of a request into a template. Their text is an id, whatever it has. */
function readTemplate(template: ObjectArgument<AnyModel>): (request: RequestLike) => ObjectRef {
  const { objectType, objectId } = readObject(template);
  return ({ params }) => ({
    objectType,
    objectId: objectId.replace(/\{([^{}]+)\}/g, (_, name: string) => {
      const value = params[name];
      if (typeof value === "string" && value !== "") return value;
      throw new InvalidUse(`the route has no parameter ${name}, which ${objectType}:${objectId} needs`);
    }),
  });
}
