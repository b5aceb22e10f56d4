/** Writes what a page shows as commands for a terminal and as Python. */

export interface Service {
  /** Where its API is, without a slash at the end. */
  url: string;
  store: string | undefined;
}

export interface WrittenCheck {
  subject: string;
  relation: string;
  object: string;
  context?: Record<string, unknown>;
  asOf?: string;
}

/** Quotes a text for a shell, so that it is one word whatever is in it. */
export function quoteWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Writes a request; without a body it is a GET. Some APIs need the type of the body in a header. */
export function writeCurl({ url, store }: Service, path: string, body?: unknown, namesType = false): string {
  const prefix = store === undefined ? "" : `/stores/${encodeURIComponent(store)}`;
  return [
    `curl -s ${quoteWord(`${url}${prefix}/${path}`)}`,
    '-H "Authorization: ApiKey $MAGISTRATE_API_KEY"',
    ...(namesType ? ["-H 'Content-Type: application/json'"] : []),
    ...(body === undefined ? [] : [`-d ${quoteWord(JSON.stringify(body))}`]),
  ].join(" \\\n  ");
}

function listFlags({ url, store }: Service, context: Record<string, unknown> | undefined, asOf: string | undefined): string[] {
  return [
    ...(context ? ["--context", quoteWord(JSON.stringify(context))] : []),
    ...(asOf ? ["--as-of", quoteWord(asOf)] : []),
    ...(store === undefined ? [] : ["--store", quoteWord(store)]),
    "--url",
    quoteWord(url),
  ];
}

export function writeCheckCommand(service: Service, { subject, relation, object, context, asOf }: WrittenCheck): string {
  const check = quoteWord(`${object}#${relation}@${subject}`);
  return ["magistrate", "check", check, "--explain", ...listFlags(service, context, asOf)].join(" ");
}

export function writeQueryCommand(service: Service, q: string, context: Record<string, unknown> | undefined, asOf?: string): string {
  return ["magistrate", "query", quoteWord(q), ...listFlags(service, context, asOf)].join(" ");
}

/** Returns a literal of Python. Every string of JSON is one of Python. */
export function writePython(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(writePython).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${writePython(one)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}

export function writePythonCheck({ url, store }: Service, { subject, relation, object, context, asOf }: WrittenCheck): string {
  const named = [
    ...(context ? [`context=${writePython(context)}`] : []),
    ...(asOf ? [`as_of=${writePython(asOf)}`] : []),
  ];
  const of = [writePython(url), ...(store === undefined ? [] : [`store=${writePython(store)}`])];
  const what = [subject, relation, object].map(writePython);
  return [
    "from magistrate_client import Client",
    "",
    `with Client(${of.join(", ")}) as client:  # the key is in MAGISTRATE_API_KEY`,
    `    print(client.explain(${[...what, ...named].join(", ")}))`,
  ].join("\n");
}

export function writeOpenFgaPython(url: string, storeId: string, tuple: Record<string, string>): string {
  const members = Object.entries(tuple).map(([name, text]) => `${name}=${JSON.stringify(text)}`);
  return [
    "import os",
    "from openfga_sdk import ClientConfiguration",
    "from openfga_sdk.client.models import ClientCheckRequest",
    "from openfga_sdk.credentials import CredentialConfiguration, Credentials",
    "from openfga_sdk.sync import OpenFgaClient",
    "",
    'token = CredentialConfiguration(api_token=os.environ["MAGISTRATE_API_KEY"])',
    'credentials = Credentials("api_token", token)',
    `configuration = ClientConfiguration(api_url=${JSON.stringify(url)}, store_id=${JSON.stringify(storeId)}, credentials=credentials)`,
    "with OpenFgaClient(configuration) as client:",
    `    print(client.check(ClientCheckRequest(${members.join(", ")})))`,
  ].join("\n");
}

export function writeOpenFgaCommand(url: string, storeId: string, { subject, relation, object }: WrittenCheck): string {
  const check = [subject, relation, object].map(quoteWord).join(" ");
  return `fga query check ${check} --api-url ${quoteWord(url)} --store-id ${storeId} --api-token "$MAGISTRATE_API_KEY"`;
}

export const GATEWAY_RULES = [
  "version: 1",
  "source: x-original",
  "identity:",
  "  header: X-Auth-User",
  "rules:",
  "  - path: /documents/{id}",
  "    object: document:{id}",
  "    relation: viewer",
].join("\n");

export function writeGatewayRequest(url: string): string {
  return [
    `curl -si ${quoteWord(`${url}/authz`)}`,
    '-H "X-Magistrate-Key: $MAGISTRATE_API_KEY"',
    "-H 'X-Original-Method: GET' -H 'X-Original-Host: docs.example' -H 'X-Original-URI: /documents/1'",
    "-H 'X-Auth-User: user:1'",
  ].join(" \\\n  ");
}

export function writeAgentCommand(args: string[]): string {
  return ["pip install 'magistrate[mcp]'", ["magistrate", ...args].map(quoteWord).join(" ")].join("\n");
}
