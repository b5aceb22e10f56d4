"use client";
/**
 * Shows what the user may do. While a check is not answered, and on a server, nothing counts as allowed: so a page is
 * the same on both, and shows too little for a moment rather than too much. What is shown protects nothing; the backend
 * checks again.
 */

import {
  createContext,
  createElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useSyncExternalStore,
} from "react";
import { type CheckingClient, Checks } from "./checks.js";
import type { AnyModel, ObjectArgument, RelationOn, Relations } from "./model.js";
import { renderObject } from "./render.js";

/**
 * Knows the model, if a module says so:
 *
 *     declare module "@magistrate/client/react" {
 *       interface Register { model: Model }
 *     }
 */
export interface Register {}

export type RegisteredModel = Register extends { model: infer M extends Relations } ? M : AnyModel;

export interface ProviderProps {
  client: CheckingClient;
  /** Whose access is shown; the user of the session token, if the client has one. */
  subject?: string;
  /** How old an answer may be when a component begins to show it, or the page is looked at again. */
  maxAgeMs?: number;
  /** Called for checks that could not be made; they count as not answered. */
  onError?: (error: unknown) => void;
  children?: ReactNode;
}

const Context = createContext<Checks | undefined>(undefined);

/** Kept beside the components, which React may begin anew before they are shown. */
const known = new WeakMap<CheckingClient, Map<string | null, Checks>>();

export function MagistrateProvider({ client, subject, maxAgeMs, onError, children }: ProviderProps): ReactNode {
  const checks = useMemo(() => findChecks(client, subject ?? null), [client, subject]);
  useEffect(() => {
    if (maxAgeMs !== undefined) checks.maxAgeMs = maxAgeMs;
    checks.onError = onError;
  }, [checks, maxAgeMs, onError]);
  useEffect(() => {
    const refresh = (): void => {
      if (document.visibilityState === "visible") checks.refresh();
    };
    document.addEventListener("visibilitychange", refresh);
    return () => document.removeEventListener("visibilitychange", refresh);
  }, [checks]);
  return createElement(Context.Provider, { value: checks }, children);
}

/** Says whether the user has a relation on an object; undefined as long as that is not known. */
export function useCheck<const O extends ObjectArgument<RegisteredModel>>(
  relation: RelationOn<RegisteredModel, O>,
  object: O,
): boolean | undefined {
  const checks = useChecks();
  const name: string = relation;
  const text = typeof object === "string" ? object : renderObject(object);
  const subscribe = useCallback((listener: () => void) => checks.subscribe(name, text, listener), [checks, name, text]);
  return useSyncExternalStore(subscribe, () => checks.read(name, text), unknown);
}

export interface CanProps<O extends ObjectArgument<RegisteredModel>> {
  relation: RelationOn<RegisteredModel, O>;
  object: O;
  /** Shown if it is denied, or not known. */
  fallback?: ReactNode;
  children?: ReactNode;
}

/** Shows its children if the user has a relation on an object. */
export function Can<const O extends ObjectArgument<RegisteredModel>>(props: CanProps<O>): ReactNode {
  const isAllowed = useCheck(props.relation, props.object);
  return (isAllowed ? props.children : props.fallback) ?? null;
}

/** Returns a function that makes the checks of an object again, or all: call it when access may have changed. */
export function useInvalidate(): (object?: ObjectArgument<RegisteredModel>) => void {
  const checks = useChecks();
  return useCallback(
    (object) => checks.invalidate(object === undefined || typeof object === "string" ? object : renderObject(object)),
    [checks],
  );
}

function useChecks(): Checks {
  const checks = useContext(Context);
  if (checks === undefined) throw new Error("there is no <MagistrateProvider> around this component");
  return checks;
}

function findChecks(client: CheckingClient, subject: string | null): Checks {
  const bySubject = known.get(client) ?? new Map<string | null, Checks>();
  known.set(client, bySubject);
  const checks = bySubject.get(subject) ?? new Checks(client, subject);
  bySubject.set(subject, checks);
  return checks;
}

function unknown(): undefined {
  return undefined;
}
