// Watching a library from outside: which methods of it a scenario calls, and what each of them sends.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(join(process.cwd(), "scenario.js"));
const PACKAGE = `@warrantdev/${process.argv[2]}`;

/** The library, as its users import it. */
export const sdk = require(PACKAGE);

/** Calls since they were last taken: requests by method, `POST /v1/users (array)`. */
let calls = {};
let current = null;

export function takeCalls() {
  const taken = calls;
  calls = {};
  return taken;
}

const plainFetch = globalThis.fetch;

/** The libraries send everything by fetch; requests of the scenarios themselves belong to no method. */
globalThis.fetch = (url, options = {}) => {
  if (current !== null) {
    const suffix = options.body?.startsWith("[") ? " (array)" : "";
    calls[current].push(`${options.method} ${new URL(url).pathname}${suffix}`);
  }
  return plainFetch(url, options);
};

/** Classes by the name under which users reach them: exported by the package, or members of a client. */
export function publicClasses(client) {
  const named = { ...sdk, ...client };
  return Object.fromEntries(Object.entries(named).filter(([, member]) => isClass(member)));
}

/** Some are compiled to functions, which then have methods on their prototype. */
function isClass(member) {
  if (typeof member !== "function") return false;
  const isNamedSo = /^class\b/.test(Function.prototype.toString.call(member));
  return isNamedSo || Object.getOwnPropertyNames(member.prototype ?? {}).length > 1;
}

/** `Class.method` for every public method of these classes, static or not. */
export function publicMethods(classes) {
  const hidden = privateMethods();
  return Object.entries(classes).flatMap(([label, kind]) =>
    [...ownMethods(kind), ...(makesPlainErrors(kind) ? [] : ownMethods(kind.prototype))]
      .filter((name) => !hidden.has(`${kind.name}.${name}`) && !hidden.has(`${label}.${name}`))
      .map((name) => `${label}.${name}`),
  );
}

/** Errors compiled for old browsers are not of their own class, and have none of its methods. */
function makesPlainErrors(kind) {
  return kind.prototype instanceof Error && !(new kind() instanceof kind);
}

function ownMethods(holder) {
  const found = Object.entries(Object.getOwnPropertyDescriptors(holder));
  return found
    .filter(([name, { value }]) => name !== "constructor" && typeof value === "function" && !isClass(value))
    .map(([name]) => name);
}

/** What the declarations of the package call private; JavaScript itself cannot tell. */
function privateMethods() {
  const folder = dirname(require.resolve(PACKAGE));
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".d.ts"));
  return new Set(
    files.flatMap((name) => {
      const text = readFileSync(join(folder, name), "utf8");
      const kind = text.match(/class (\w+)/)?.[1];
      return [...text.matchAll(/private (?:static )?(\w+);/g)].map(([, method]) => `${kind}.${method}`);
    }),
  );
}

/** The classes, such that calls of their methods, and of the methods of what these answer, are noted. */
export function watchedClasses(classes) {
  const methods = new Set(publicMethods(classes));
  const labels = new Map(Object.entries(classes).map(([label, kind]) => [kind, label]));
  const watched = (target, label) =>
    new Proxy(target, {
      get: (_, name) => {
        const method = `${label}.${String(name)}`;
        const member = target[name];
        return methods.has(method) ? (...given) => called(method, () => member.apply(target, given), dressed) : member;
      },
      construct: (kind, given) => watched(new kind(...given), label),
    });
  const dressed = (answer) => {
    if (Array.isArray(answer)) return answer.map(dressed);
    const label = labels.get(answer?.constructor);
    return label === undefined ? answer : watched(answer, label);
  };
  return Object.fromEntries([...labels].map(([kind, label]) => [label, watched(kind, label)]));
}

function called(method, call, dressed) {
  const outer = current;
  current = method;
  calls[method] ??= [];
  const back = () => (current = outer);
  let answer;
  try {
    answer = call();
  } finally {
    back();
  }
  if (!(answer instanceof Promise)) return dressed(answer);
  return answer.then(dressed, (error) => Promise.reject(dressed(error)));
}
