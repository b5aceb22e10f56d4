import type { ComponentChildren } from "preact";
import {
  GATEWAY_RULES,
  writeAgentCommand,
  writeCheckCommand,
  writeCurl,
  writeGatewayRequest,
  writeOpenFgaCommand,
  writeOpenFgaPython,
  writePythonCheck,
} from "../commands_elsewhere";
import { chooseSample, findDiscovery, findGateways, findOpenFga, type DoorState } from "../doors";
import { useLoaded, type Loaded } from "../loading";
import { CopyAs, describeService } from "../parts/copy_as";
import { Mark } from "../parts/icons";
import { Table } from "../parts/table";
import { link } from "../route";
import { objectTypes } from "../schema";
import * as words from "../words";

/** Shows the APIs of the service, with a first request to each. */
export function Integrations() {
  const service = describeService();
  const sample = chooseSample(objectTypes.value ?? []);
  const { relation } = sample;
  const check = { subject: `${sample.subjectType}:1`, relation, object: `${sample.objectType}:1` };
  const warrant = {
    objectType: sample.objectType,
    objectId: "1",
    relation,
    subject: { objectType: sample.subjectType, objectId: "1" },
  };
  return (
    <>
      <p class="hint">
        {words.integrations.purpose}
      </p>
      <Door title={words.shell.product} paths={["/v2", "/v1"]} state={{ isOn: true }}>
        <p>{words.integrations.magistrate}</p>
        <CopyAs
          forms={{
            curl: () => writeCurl(service, "v2/check", { warrants: [warrant] }),
            Python: () => writePythonCheck(service, check),
            [words.copyAs.command]: () => writeCheckCommand(service, check),
          }}
        />
      </Door>
      <OpenFga check={check} />
      <AuthZen />
      <Door title={words.integrations.warrantTitle} paths={["/fga/v1"]} state={{ isOn: true }}>
        <p>{words.integrations.warrant}</p>
        <CopyAs
          forms={{
            curl: () => writeCurl(service, `fga/v1/query?q=${encodeURIComponent(`select ${check.object.split(":", 1)[0]} where ${check.subject} is ${relation}`)}`),
          }}
        />
      </Door>
      <Gateways />
      <Agents />
    </>
  );
}

interface DoorProperties {
  title: string;
  paths: string[];
  /** Undefined while it is read. */
  state: DoorState | undefined;
  children: ComponentChildren;
}

function Door({ title, paths, state, children }: DoorProperties) {
  const { url } = describeService();
  return (
    <section class="card door" aria-label={title}>
      <div class="heading">
        <h2>{title}</h2>
        {state && <DoorMark state={state} />}
      </div>
      {paths.map((path) => (
        <code key={path} class="name">
          {url}
          {path}
        </code>
      ))}
      {children}
      {state?.reason && <p class="hint">{state.reason}</p>}
    </section>
  );
}

function DoorMark({ state: { isOn } }: { state: DoorState }) {
  if (isOn === undefined) return <Mark tone="unknown">{words.integrations.notKnown}</Mark>;
  return isOn ? <Mark tone="yes">{words.integrations.on}</Mark> : <Mark tone="no">{words.integrations.off}</Mark>;
}

/** Returns what was found out; what went wrong is shown as the reason why it is not known. */
function stateOf<T extends DoorState>(loaded: Loaded<T>): T | DoorState | undefined {
  return loaded.fault ? { reason: `${loaded.fault.message}.` } : loaded.value;
}

function OpenFga({ check }: { check: { subject: string; relation: string; object: string } }) {
  const loaded = useLoaded(findOpenFga, []);
  const { url } = describeService();
  const id = loaded.value?.storeId ?? "STORE_ID";
  const tuple = { user: check.subject, relation: check.relation, object: check.object };
  return (
    <Door title={words.integrations.openFgaTitle} paths={["/stores"]} state={stateOf(loaded)}>
      <p>{words.integrations.openFga}</p>
      {loaded.value?.storeId && (
        <p>
          {words.integrations.storeId(id)}
        </p>
      )}
      {loaded.value?.isOn && (
        <CopyAs
          forms={{
            curl: () => writeCurl({ url, store: undefined }, `stores/${id}/check`, { tuple_key: tuple }),
            Python: () => writeOpenFgaPython(url, id, tuple),
            fga: () => writeOpenFgaCommand(url, id, check),
          }}
        />
      )}
    </Door>
  );
}

function AuthZen() {
  const loaded = useLoaded(findDiscovery, []);
  const types = objectTypes.value ?? [];
  const sample = chooseSample(types);
  const actions = types.flatMap((type) => Object.entries(type.actions ?? {}).map(([name, relation]) => ({ type: type.type, name, relation })));
  const body = {
    subject: { type: sample.subjectType, id: "1" },
    action: { name: sample.relation },
    resource: { type: sample.objectType, id: "1" },
  };
  const state = stateOf(loaded);
  return (
    <Door title={words.integrations.authZenTitle} paths={["/access/v1/evaluation", "/access/v1/evaluations", "/access/v1/search"]} state={{ isOn: true, reason: state?.reason }}>
      <p>
        {words.integrations.authZen(link("model"))}
      </p>
      {actions.length > 0 && (
        <Table label={words.integrations.actions} headings={[words.terms.type, words.terms.action, words.terms.relation]}>
          {actions.map(({ type, name, relation }) => (
            <tr key={`${type} ${name}`}>
              <td class="name">{type}</td>
              <td>
                <code>{name}</code>
              </td>
              <td>
                <b>{relation}</b>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <CopyAs forms={{ curl: () => writeCurl(describeService(), "access/v1/evaluation", body, true) }} />
    </Door>
  );
}

function Gateways() {
  const loaded = useLoaded(findGateways, []);
  const { url } = describeService();
  return (
    <Door title={words.integrations.gatewaysTitle} paths={["/authz"]} state={stateOf(loaded)}>
      <p>
        {words.integrations.gateways}
      </p>
      <CopyAs
        forms={{
          [words.copyAs.rules]: () => GATEWAY_RULES,
          [words.copyAs.request]: () => writeGatewayRequest(url),
        }}
      />
    </Door>
  );
}

function Agents() {
  const { url, store } = describeService();
  const args = ["mcp", "--server", url, ...(store === undefined ? [] : ["--store", store])];
  const settings = { mcpServers: { magistrate: { command: "magistrate", args, env: { MAGISTRATE_API_KEY: "…" } } } };
  return (
    <Door title={words.integrations.agentsTitle} paths={[]} state={undefined}>
      <p>
        {words.integrations.agents}
      </p>
      <CopyAs
        forms={{
          [words.copyAs.settings]: () => JSON.stringify(settings, null, 2),
          [words.copyAs.command]: () => writeAgentCommand(args),
          [words.copyAs.key]: () => "magistrate keys create assistant --scope check --scope query --scope read",
        }}
      />
    </Door>
  );
}
