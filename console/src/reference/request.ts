/** Builds the request of an operation from a form, sends it, and shows how other clients send it. */

import type { Operation, Parameter } from "./document";

export interface Draft {
  parameters: Record<string, string>;
  body: string;
}

export interface Shown {
  status: number;
  milliseconds: number;
  headers: [string, string][];
  text: string;
}

const KEY = "<key>";
const SHOWN_HEADERS = ["warrant-token", "warrant-request-id", "retry-after", "warning", "warrant-outcome"];

/** Returns path and query of a request, relative to the root of the service. */
export function buildTarget(operation: Operation, draft: Draft): string {
  const given = operation.parameters.filter((parameter) => draft.parameters[parameter.name]);
  const path = operation.path.replace(/\{(\w+)\}/g, (variable, name: string) => {
    const value = draft.parameters[name];
    return value ? encodeURIComponent(value) : variable;
  });
  const query = new URLSearchParams(
    given.filter((parameter) => parameter.in === "query").map(({ name }) => [name, draft.parameters[name] ?? ""]),
  ).toString();
  return path.slice(1) + (query ? `?${query}` : "");
}

export function listHeaders(operation: Operation, draft: Draft, key: string): [string, string][] {
  const given = operation.parameters.filter((parameter) => parameter.in === "header" && draft.parameters[parameter.name]);
  const headers = given.map(({ name }): [string, string] => [name, draft.parameters[name] ?? ""]);
  const type: [string, string][] = draft.body ? [["Content-Type", "application/json"]] : [];
  return [["Authorization", `ApiKey ${key}`], ...type, ...headers];
}

/** Returns the parameters of the path that have no value yet. */
export function listMissing(operation: Operation, draft: Draft): Parameter[] {
  return operation.parameters.filter((parameter) => parameter.in === "path" && !draft.parameters[parameter.name]);
}

export async function sendDraft(operation: Operation, draft: Draft, key: string): Promise<Shown> {
  const started = performance.now();
  const answer = await fetch(buildTarget(operation, draft), {
    method: operation.method,
    headers: listHeaders(operation, draft, key),
    body: draft.body || undefined,
    credentials: "omit",
  });
  const text = await answer.text();
  const headers = SHOWN_HEADERS.flatMap((name): [string, string][] => {
    const value = answer.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return { status: answer.status, milliseconds: performance.now() - started, headers, text: indent(text) };
}

function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns the request as commands and programs send it, by the name of the language. */
export function listSnippets(operation: Operation, draft: Draft, root: string): Record<string, string> {
  const url = root + buildTarget(operation, draft);
  const headers = listHeaders(operation, draft, KEY);
  const { method } = operation;
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quote(url)}`];
  for (const [name, value] of headers) lines.push(`  -H ${quote(`${name}: ${value}`)}`);
  if (draft.body) lines.push(`  -d ${quote(draft.body)}`);
  const given = headers.map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`).join("\n");
  const body = draft.body ? `,\n    content=${JSON.stringify(draft.body)}` : "";
  const python = `import httpx\n\nheaders = {\n${given}\n}\nanswer = httpx.request(\n    ${JSON.stringify(method)}, ${JSON.stringify(url)}, headers=headers${body}\n)\nprint(answer.status_code, answer.text)`;
  const sent = draft.body ? `  body: ${JSON.stringify(draft.body)},\n` : "";
  const script = `const headers = {\n${given}\n};\nconst answer = await fetch(${JSON.stringify(url)}, {\n  method: ${JSON.stringify(method)},\n  headers,\n${sent}});\nconsole.log(answer.status, await answer.text());`;
  return { curl: lines.join(" \\\n"), "Python (httpx)": python, JavaScript: script };
}
