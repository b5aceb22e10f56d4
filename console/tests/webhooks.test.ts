import { expect, test } from "vitest";
import { bodyOf, describeFilter, fieldsOf, type Webhook } from "../src/webhooks";

const WEBHOOK: Webhook = {
  id: "1",
  url: "https://receiver.example/",
  enabled: true,
  state: "enabled",
  createdAt: "2026-01-05T09:00:00Z",
  createdBy: "ann",
  token: "t",
};

test("a filter is described in words", () => {
  expect(describeFilter(WEBHOOK)).toBe("all changes");
  expect(describeFilter({ ...WEBHOOK, objectType: ["document", "folder"], relation: ["viewer"] })).toBe(
    "type document or folder, relation viewer",
  );
});

test("what a form says of a webhook that nobody edits is the same webhook", () => {
  const members = { objectType: ["document", "folder"], subjectType: ["user"], description: "for the index" };

  const body = bodyOf(fieldsOf({ ...WEBHOOK, ...members }));

  expect(body).toEqual({ ...members, url: WEBHOOK.url, relation: null, of: null });
});

test("names are separated by commas or blanks, and nothing in between is no name", () => {
  const body = bodyOf({ ...fieldsOf(), url: " https://a.example/ ", objectType: " a,,b  c, ", relation: " , " });

  expect([body.url, body.objectType, body.relation]).toEqual(["https://a.example/", ["a", "b", "c"], null]);
});
