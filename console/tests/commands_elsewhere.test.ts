import { expect, test } from "vitest";
import { quoteWord, writeCheckCommand, writeCurl, writePython, writePythonCheck } from "../src/commands_elsewhere";

const SERVICE = { url: "http://127.0.0.1:8000", store: undefined };
const CHECK = { subject: "user:o'brien", relation: "viewer", object: "document:a", context: { network: "office" } };

test("a shell reads a quoted word as it was", () => {
  expect(quoteWord("document:plan")).toBe("document:plan");
  expect(quoteWord("it's $HOME")).toBe("'it'\\''s $HOME'");
});

test("curl sends to the store of the page, with a key that is not written", () => {
  const written = writeCurl({ ...SERVICE, store: "acme" }, "v2/explain", { a: "it's" });

  expect(written).toContain("http://127.0.0.1:8000/stores/acme/v2/explain");
  expect(written).toContain('"Authorization: ApiKey $MAGISTRATE_API_KEY"');
  expect(written).toContain(`-d '{"a":"it'\\''s"}'`);
});

test("the command has the context and the point in time", () => {
  expect(writeCheckCommand(SERVICE, { ...CHECK, asOf: "2026-01-01T00:00:00Z" })).toBe(
    `magistrate check 'document:a#viewer@user:o'\\''brien' --explain --context '{"network":"office"}' --as-of 2026-01-01T00:00:00Z --url http://127.0.0.1:8000`,
  );
});

test("values are literals of Python", () => {
  expect(writePython({ a: [true, null, 1.5, 'x"'] })).toBe('{"a": [True, None, 1.5, "x\\""]}');
  expect(writePythonCheck(SERVICE, CHECK)).toContain(`client.explain("user:o'brien", "viewer", "document:a", context={"network": "office"})`);
});
