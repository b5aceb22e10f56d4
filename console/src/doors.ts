/** Finds out at which APIs the service answers. */

import { key, read, Refused, send } from "./api";
import { store } from "./route";
import type { ObjectType } from "./schema";
import * as words from "./words";

/** Says whether an API is on; undefined if the key cannot find it out. */
export interface DoorState {
  isOn?: boolean;
  reason?: string;
}

export interface OpenFgaState extends DoorState {
  /** The id of the store of this page there. */
  storeId?: string;
}

/** Has a check that the model could answer. */
export interface SampleCheck {
  subjectType: string;
  relation: string;
  objectType: string;
}

/** Returns a check of the first type with a relation, whose subject is of a type that a warrant can name. */
export function chooseSample(types: ObjectType[]): SampleCheck {
  const type = types.find((one) => Object.keys(one.allowedTypes ?? {}).length > 0) ?? types.find((one) => Object.keys(one.relations).length > 0);
  if (!type) return { subjectType: "user", relation: "viewer", objectType: "document" };
  const [relation = Object.keys(type.relations)[0] ?? "viewer", allowed = []] = Object.entries(type.allowedTypes ?? {})[0] ?? [];
  const subjectType = allowed.find((text) => !/[#:]/.test(text)) ?? "user";
  return { subjectType, relation, objectType: type.type };
}

interface StoreOfOpenFga {
  id: string;
  name: string;
}

export async function findOpenFga(signal: AbortSignal): Promise<OpenFgaState> {
  try {
    const query = store === undefined || isId(store) ? {} : { name: store };
    const { stores } = await read<{ stores: StoreOfOpenFga[] }>("stores", { query, signal });
    const named = stores.find((one) => one.id === store || one.name === store) ?? (store === undefined ? findOwn(stores) : undefined);
    return { isOn: true, storeId: named?.id ?? (store !== undefined && isId(store) ? store : undefined) };
  } catch (fault) {
    return readState(fault, words.integrations.noOpenFga);
  }
}

/** Says whether a store is named by its id. */
function isId(name: string): boolean {
  return /^[0-9A-Z]{26}$/.test(name);
}

/** Returns the store of the key: the only one that it sees, or `default` for a key that sees all. */
function findOwn(stores: StoreOfOpenFga[]): StoreOfOpenFga | undefined {
  return stores.length === 1 ? stores[0] : stores.find((one) => one.name === "default");
}

/** Finds out whether the service has rules for gateways: a request without one of their headers is refused, but found. */
export async function findGateways(signal: AbortSignal): Promise<DoorState> {
  try {
    await send("authz", { headers: { "X-Magistrate-Key": key.value ?? "" }, key: key.value ?? "", signal });
    return { isOn: true };
  } catch (fault) {
    if (fault instanceof Refused && fault.status === 403 && /scope/.test(fault.message)) {
      return { reason: words.integrations.lacksForward };
    }
    if (fault instanceof Refused && [400, 401, 403].includes(fault.status)) return { isOn: true };
    return readState(fault, words.integrations.noRules);
  }
}

/** Finds out whether clients of AuthZEN can discover its URLs. */
export async function findDiscovery(signal: AbortSignal): Promise<DoorState> {
  try {
    await read(".well-known/authzen-configuration", { signal });
    return { isOn: true };
  } catch (fault) {
    return readState(fault, words.integrations.noPublicUrl);
  }
}

function readState(fault: unknown, reasonIfMissing: string): DoorState {
  if (!(fault instanceof Refused)) throw fault;
  return fault.status === 404 ? { isOn: false, reason: reasonIfMissing } : { reason: `${fault.message}.` };
}
