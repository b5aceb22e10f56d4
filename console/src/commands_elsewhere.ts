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
