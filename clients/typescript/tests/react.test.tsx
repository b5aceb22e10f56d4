import { newElement, dom } from "./page.js";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { StrictMode, Suspense, use, useState } from "react";
import { createRoot, hydrateRoot, type Root } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { Client } from "../src/index.js";
import { Can, MagistrateProvider, useCheck, useInvalidate } from "../src/react.js";
import { counted, newSession, newStore, until } from "./service.js";

const roots: Root[] = [];

afterEach(() => {
  for (const root of roots.splice(0)) root.unmount();
});

function render(element: React.ReactNode): HTMLElement {
  const container = newElement();
  const root = createRoot(container);
  roots.push(root);
  root.render(element);
  return container;
}

function Shown({ relation = "viewer", object }: { relation?: string; object: string }): React.ReactNode {
  return <li>{`${object} ${useCheck(relation, object)}`}</li>;
}

/** Returns a client for the session of a user, and what it requests. */
async function newUser(userId: string, ...warrants: string[]) {
  const store = await newStore(...warrants);
  const { fetch, requests } = counted();
  const client = new Client({ url: store.url, key: await newSession(store, userId), fetch });
  return { client, requests, store, operator: new Client(store) };
}

test("fifty components make one request", async () => {
  const { client, requests } = await newUser("ann", "document:7#viewer@user:ann");
  const objects = Array.from({ length: 50 }, (_, place) => `document:${place}`);

  const page = render(
    <MagistrateProvider client={client}>
      {objects.map((object) => (
        <Shown key={object} object={object} />
      ))}
    </MagistrateProvider>,
  );
  await until(() => page.textContent !== "" && !page.textContent!.includes("undefined"), "answers");

  const expected = objects.map((object) => `${object} ${object === "document:7"}`);
  assert.deepEqual([...page.querySelectorAll("li")].map((item) => item.textContent), expected);
  assert.deepEqual(requests, ["/v2/check"]);
});

test("more checks than a session may send at once are several requests", async () => {
  const { client, requests } = await newUser("ann");
  const objects = Array.from({ length: 101 }, (_, place) => `document:${place}`);

  const page = render(
    <MagistrateProvider client={client}>
      {objects.map((object) => (
        <Shown key={object} object={object} />
      ))}
    </MagistrateProvider>,
  );
  await until(() => page.textContent !== "" && !page.textContent!.includes("undefined"), "answers");

  assert.equal(requests.length, 2);
});

test("what is not known is not shown", async () => {
  const { client } = await newUser("ann", "document:plan#viewer@user:ann");
  const seen: string[] = [];
  function Recorded({ text }: { text: string }): React.ReactNode {
    seen.push(text);
    return text;
  }

  const page = render(
    <MagistrateProvider client={client}>
      <Can relation="viewer" object="document:plan" fallback={<Recorded text="no plan" />}>
        <Recorded text="plan" />
      </Can>
      <Can relation="owner" object="document:plan" fallback={<Recorded text=", no buttons" />}>
        <Recorded text=", buttons" />
      </Can>
    </MagistrateProvider>,
  );
  await until(() => page.textContent === "plan, no buttons", "the plan");

  assert.equal(seen[0], "no plan");
  assert.ok(!seen.includes(", buttons"));
});

test("an answer is kept for other components, and made again when it is invalidated", async () => {
  const { client, requests, operator } = await newUser("ann", "document:plan#viewer@user:ann");
  let show = (_: boolean): void => undefined;
  let invalidate = (_?: string): void => undefined;
  function Page(): React.ReactNode {
    const [isShown, setShown] = useState(false);
    show = setShown;
    invalidate = useInvalidate();
    return isShown ? <Shown object="document:plan" /> : <Shown object="document:other" />;
  }

  const page = render(
    <MagistrateProvider client={client}>
      <Shown object="document:plan" />
      <Page />
    </MagistrateProvider>,
  );
  await until(() => page.textContent === "document:plan truedocument:other false", "answers");
  show(true);
  await until(() => page.textContent === "document:plan truedocument:plan true", "the same answer");
  assert.equal(requests.length, 1);

  await operator.write({ delete: ["document:plan#viewer@user:ann"] });
  client.token = operator.token;
  invalidate("document:other");
  invalidate("document:plan");
  assert.equal(page.textContent, "document:plan truedocument:plan true");
  await until(() => page.textContent === "document:plan falsedocument:plan false", "the new answer");
  assert.equal(requests.length, 2);
});

test("an answer that is old is made again when the page is looked at", async () => {
  const { client, requests } = await newUser("ann", "document:plan#viewer@user:ann");

  const page = render(
    <MagistrateProvider client={client} maxAgeMs={0}>
      <Shown object="document:plan" />
    </MagistrateProvider>,
  );
  await until(() => page.textContent === "document:plan true", "the answer");
  Object.defineProperty(dom.window.document, "visibilityState", { value: "visible", configurable: true });
  dom.window.document.dispatchEvent(new dom.window.Event("visibilitychange"));
  await until(() => requests.length === 2, "another request");
});

test("a check that cannot be made is not allowed", async () => {
  const store = await newStore("document:plan#viewer@user:ann");
  let key = await newSession(store, "ann");
  const client = new Client({ url: store.url, key: () => key });
  const errors: unknown[] = [];
  let invalidate = (_?: string): void => undefined;
  function Invalidating(): React.ReactNode {
    invalidate = useInvalidate();
    return null;
  }

  const page = render(
    <MagistrateProvider client={client} onError={(error) => errors.push(error)}>
      <Shown object="document:plan" />
      <Invalidating />
    </MagistrateProvider>,
  );
  await until(() => page.textContent === "document:plan true", "the answer");
  const valid = key;
  key = "not-a-key";
  invalidate();
  await until(() => page.textContent === "document:plan undefined", "no answer");
  key = valid;
  invalidate();
  await until(() => page.textContent === "document:plan true", "the answer");

  assert.deepEqual(errors.map((error) => (error as Error).name), ["Unauthenticated"]);
});

test("a server renders fallbacks, and the page goes on from them", async () => {
  const { client, requests } = await newUser("ann", "document:plan#viewer@user:ann");
  const page = (
    <MagistrateProvider client={client}>
      <Can relation="viewer" object="document:plan" fallback={<p>nothing</p>}>
        <p>plan</p>
      </Can>
    </MagistrateProvider>
  );
  const html = renderToString(page);
  const container = newElement(html);
  const errors: unknown[] = [];

  assert.equal(html, "<p>nothing</p>");
  assert.deepEqual(requests, []);
  await client.check(null, "viewer", "document:plan"); // a page whose answers are known by now is no mismatch either
  roots.push(hydrateRoot(container, page, { onRecoverableError: (error) => errors.push(error) }));
  await until(() => container.innerHTML === "<p>plan</p>", "the plan");
  const again = newElement(html);
  roots.push(hydrateRoot(again, page, { onRecoverableError: (error) => errors.push(error) }));
  await until(() => again.innerHTML === "<p>plan</p>", "the plan, again");
  assert.deepEqual(errors, []);
  assert.equal(requests.length, 2);
});

test("components that wait for something else, or are rendered twice, make no other request", async () => {
  const { client, requests } = await newUser("ann", "document:plan#viewer@user:ann");
  let resolve = (_: string): void => undefined;
  const text = new Promise<string>((resolved) => (resolve = resolved));
  function Waiting(): React.ReactNode {
    const isAllowed = useCheck("viewer", "document:plan");
    return `${use(text)} ${isAllowed}`;
  }

  const page = render(
    <StrictMode>
      <MagistrateProvider client={client}>
        <Shown object="document:plan" />
        <Suspense fallback=" waiting">
          <Waiting />
        </Suspense>
      </MagistrateProvider>
    </StrictMode>,
  );
  await until(() => page.textContent === "document:plan true waiting", "the answer");
  resolve(", loaded");
  await until(() => page.textContent === "document:plan true, loaded true", "the rest");
  assert.equal(requests.length, 1);
});

test("another user has other answers", async () => {
  const store = await newStore("document:plan#viewer@user:ann");
  const client = new Client(store);
  const seen: string[] = [];
  function Recorded({ user }: { user: string }): React.ReactNode {
    const text = `${user} ${useCheck("viewer", "document:plan")}`;
    if (seen.at(-1) !== text) seen.push(text);
    return text;
  }
  const container = newElement();
  const root = createRoot(container);
  roots.push(root);

  for (const user of ["ann", "bob", "ann"]) {
    root.render(
      <MagistrateProvider client={client} subject={`user:${user}`}>
        <Recorded user={user} />
      </MagistrateProvider>,
    );
    await until(() => container.textContent === `${user} ${user === "ann"}`, "the answer");
  }

  assert.deepEqual(seen, ["ann undefined", "ann true", "bob undefined", "bob false", "ann true"]);
});

test("a component without a provider says what is missing", () => {
  assert.throws(() => renderToString(<Shown object="document:plan" />), /MagistrateProvider/);
});
