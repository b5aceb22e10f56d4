/** Reads the OpenAPI document of the service, as far as the API reference shows it. */

import * as words from "../words";

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  additionalProperties?: Schema | boolean;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: string;
}

interface Content {
  schema: Schema;
  example?: unknown;
}

interface DescribedAnswer {
  description: string;
  content?: Record<string, Content>;
}

interface DescribedOperation {
  operationId: string;
  tags?: string[];
  summary: string;
  description: string;
  parameters: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, DescribedAnswer>;
}

export interface ApiDocument {
  info: { title: string; version: string; description: string };
  servers?: { url: string }[];
  tags?: { name: string; description: string }[];
  paths: Record<string, Record<string, DescribedOperation>>;
  components: { schemas: Record<string, Schema> };
}

export interface Operation extends DescribedOperation {
  method: string;
  path: string;
  group: string;
  /** The words that a search looks through, in lower case. */
  words: string;
}

export interface Group {
  name: string;
  description: string;
  operations: Operation[];
}

const REFERENCE = "#/components/schemas/";

/** Returns the operations by group, in the order of the document. */
export function listGroups(document: ApiDocument): Group[] {
  const groups = new Map<string, Group>((document.tags ?? []).map((tag) => [tag.name, { ...tag, operations: [] }]));
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      const name = described.tags?.[0] ?? words.reference.otherGroup;
      if (!groups.has(name)) groups.set(name, { name, description: "", operations: [] });
      const parameters = described.parameters.map((parameter) => parameter.name);
      const searched = [method, path, described.summary, name, ...parameters].join(" ").toLowerCase();
      groups.get(name)?.operations.push({ ...described, method: method.toUpperCase(), path, group: name, words: searched });
    }
  }
  return [...groups.values()].filter((group) => group.operations.length > 0);
}

/** Returns the name of the schema that this one refers to. */
export function nameOf(schema: Schema): string | undefined {
  return schema.$ref?.startsWith(REFERENCE) ? schema.$ref.slice(REFERENCE.length) : undefined;
}

/** Returns the schema that this one refers to, or itself. */
export function resolve(document: ApiDocument, schema: Schema): Schema {
  const name = nameOf(schema);
  return name === undefined ? schema : (document.components.schemas[name] ?? {});
}

/** Returns the alternatives of a schema, without that of null. */
export function listAlternatives(document: ApiDocument, schema: Schema): Schema[] {
  const options = schema.anyOf ?? schema.oneOf ?? [schema];
  return options.filter((option) => resolve(document, option).type !== "null");
}

const BOUNDS: [keyof Schema, string][] = [
  ["minimum", words.reference.atLeast],
  ["maximum", words.reference.atMost],
  ["minLength", words.reference.charactersAtLeast],
  ["maxLength", words.reference.charactersAtMost],
  ["minItems", words.reference.elementsAtLeast],
  ["maxItems", words.reference.elementsAtMost],
  ["maxProperties", words.reference.membersAtMost],
];

/** Returns the type of a schema in words: `string`, `array of object`, `integer or null`. */
export function describeType(document: ApiDocument, schema: Schema): string {
  const resolved = resolve(document, schema);
  if (resolved.anyOf ?? resolved.oneOf) {
    const texts = (resolved.anyOf ?? resolved.oneOf ?? []).map((option) => describeType(document, option));
    return [...new Set(texts)].join(words.reference.or);
  }
  if (resolved.enum) return resolved.enum.map((value) => JSON.stringify(value)).join(words.reference.or);
  if (resolved.const !== undefined) return JSON.stringify(resolved.const);
  if (resolved.type === "array") {
    const items = typeof resolved.items === "object" ? describeType(document, resolved.items) : "anything";
    return words.reference.arrayOf(items);
  }
  if (Array.isArray(resolved.type)) return resolved.type.join(words.reference.or);
  return resolved.type ?? "anything";
}

/** Returns what a value must be besides its type, each a short text. */
export function listBounds(schema: Schema): string[] {
  const texts = BOUNDS.flatMap(([member, bound]) => (schema[member] === undefined ? [] : [`${bound} ${schema[member]}`]));
  if (schema.format) texts.push(schema.format);
  if (schema.pattern) texts.push(words.reference.pattern(schema.pattern));
  if (schema.default !== undefined && schema.default !== null) texts.push(words.reference.default(JSON.stringify(schema.default)));
  return texts;
}

const DEEPEST_EXAMPLE = 6;

/** Returns a value that has the form of a schema: with its required members, or with all if none is. */
export function sketchValue(document: ApiDocument, schema: Schema, depth = 0): unknown {
  const [first = {}] = listAlternatives(document, resolve(document, schema));
  const resolved = resolve(document, first);
  if (resolved.anyOf && resolved !== schema) return sketchValue(document, resolved, depth);
  if (resolved.enum) return resolved.enum[0];
  if (resolved.const !== undefined) return resolved.const;
  const type = Array.isArray(resolved.type) ? resolved.type[0] : resolved.type;
  if (type === "array") {
    return typeof resolved.items === "object" && depth < DEEPEST_EXAMPLE ? [sketchValue(document, resolved.items, depth + 1)] : [];
  }
  if (type === "object") {
    const known = resolved.properties ?? {};
    const names = depth < DEEPEST_EXAMPLE ? (resolved.required ?? Object.keys(known)) : [];
    return Object.fromEntries(names.map((name) => [name, sketchValue(document, known[name] ?? {}, depth + 1)]));
  }
  if (type === "integer" || type === "number") return resolved.minimum ?? 1;
  return type === "boolean" ? false : type === "string" ? "string" : {};
}
