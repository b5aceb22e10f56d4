import type { ComponentChildren } from "preact";
import { quoteWord, writeCheckCommand, writeCurl, writePythonCheck } from "../commands_elsewhere";
import { chooseSample, findDiscovery, findGateways, findOpenFga, type DoorState } from "../doors";
import { useLoaded, type Loaded } from "../loading";
import { CopyAs, describeService } from "../parts/copy_as";
import { Mark } from "../parts/icons";
import { Table } from "../parts/table";
import { link } from "../route";
import { objectTypes } from "../schema";

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
        All of these answer from the same model and the same warrants. The requests take the key from the environment variable{" "}
        <code>MAGISTRATE_API_KEY</code>.
      </p>
      <Door title="Magistrate" paths={["/v2", "/v1"]} state={{ isOn: true }}>
        <p>The API of this service, which clients of Warrant use unchanged.</p>
        <CopyAs
          forms={{
            curl: () => writeCurl(service, "v2/check", { warrants: [warrant] }),
            Python: () => writePythonCheck(service, check),
            "a command": () => writeCheckCommand(service, check),
          }}
        />
      </Door>
      <OpenFga check={check} />
      <AuthZen />
      <Door title="Warrant FGA" paths={["/fga/v1"]} state={{ isOn: true }}>
        <p>The last API of the hosted Warrant, for applications that were written for it.</p>
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
  if (isOn === undefined) return <Mark tone="unknown">Not known</Mark>;
  return isOn ? <Mark tone="yes">On</Mark> : <Mark tone="no">Off</Mark>;
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
    <Door title="OpenFGA" paths={["/stores"]} state={stateOf(loaded)}>
      <p>The HTTP API of OpenFGA: its SDKs and its command line take this service as their server.</p>
      {loaded.value?.storeId && (
        <p>
          Its id of this store is <code class="name">{id}</code>.
        </p>
      )}
      {loaded.value?.isOn && (
        <CopyAs
          forms={{
            curl: () => writeCurl({ url, store: undefined }, `stores/${id}/check`, { tuple_key: tuple }),
            Python: () =>
              [
                "import os",
                "from openfga_sdk import ClientConfiguration",
                "from openfga_sdk.client.models import ClientCheckRequest",
                "from openfga_sdk.credentials import CredentialConfiguration, Credentials",
                "from openfga_sdk.sync import OpenFgaClient",
                "",
                'token = CredentialConfiguration(api_token=os.environ["MAGISTRATE_API_KEY"])',
                'credentials = Credentials("api_token", token)',
                `configuration = ClientConfiguration(api_url=${JSON.stringify(url)}, store_id=${JSON.stringify(id)}, credentials=credentials)`,
                "with OpenFgaClient(configuration) as client:",
                `    print(client.check(ClientCheckRequest(${Object.entries(tuple)
                  .map(([name, text]) => `${name}=${JSON.stringify(text)}`)
                  .join(", ")})))`,
              ].join("\n"),
            fga: () =>
              `fga query check ${[check.subject, check.relation, check.object].map(quoteWord).join(" ")} --api-url ${quoteWord(url)} --store-id ${id} --api-token "$MAGISTRATE_API_KEY"`,
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
    <Door title="AuthZEN" paths={["/access/v1/evaluation", "/access/v1/evaluations", "/access/v1/search"]} state={{ isOn: true, reason: state?.reason }}>
      <p>
        The Authorization API 1.0 of the OpenID Foundation. An action is the name of a relation, or of an action in the{" "}
        <a href={link("model")}>model</a>.
      </p>
      {actions.length > 0 && (
        <Table label="Actions" headings={["Type", "Action", "Relation"]}>
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
  const rules = ["version: 1", "source: x-original", "identity:", "  header: X-Auth-User", "rules:"];
  return (
    <Door title="Gateways" paths={["/authz"]} state={stateOf(loaded)}>
      <p>
        nginx, Traefik, Caddy, Envoy and HAProxy check here whether a request may pass. Which check a request becomes is in the file of
        rules that the service is started with; <code>magistrate forward test</code> shows which rule decides a request.
      </p>
      <CopyAs
        forms={{
          rules: () =>
            [...rules, "  - path: /documents/{id}", "    object: document:{id}", "    relation: viewer"].join("\n"),
          "a request": () =>
            [
              `curl -si ${quoteWord(`${url}/authz`)}`,
              '-H "X-Magistrate-Key: $MAGISTRATE_API_KEY"',
              "-H 'X-Original-Method: GET' -H 'X-Original-Host: docs.example' -H 'X-Original-URI: /documents/1'",
              "-H 'X-Auth-User: user:1'",
            ].join(" \\\n  "),
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
    <Door title="Agents" paths={[]} state={undefined}>
      <p>
        <code>magistrate mcp</code> is a server of the Model Context Protocol that runs beside an agent. It checks, explains, queries,
        compares and tests models; it changes nothing unless it is started with <code>--allow-writes</code> and its key may write.
      </p>
      <CopyAs
        forms={{
          settings: () => JSON.stringify(settings, null, 2),
          "a command": () => ["pip install 'magistrate[mcp]'", ["magistrate", ...args].map(quoteWord).join(" ")].join("\n"),
          "a key": () => "magistrate keys create assistant --scope check --scope query --scope read",
        }}
      />
    </Door>
  );
}
