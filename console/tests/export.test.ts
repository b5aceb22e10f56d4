import { expect, test } from "vitest";
import { readAllPages } from "../src/all_pages";
import { toCsv, writeKeyLines, writeQueryLines, writeWarrantLines, writeWebhookLines } from "../src/export";
import { readCheck } from "../src/names";

test("a cell that a spreadsheet could take for a formula begins with an apostrophe", () => {
  const cells = ["=1", " =1", "+1", "-1", "@A1", "\tx", "＝1", "user:=1", "a-b"];

  const [line] = toCsv([cells]).split("\r\n");

  expect(line?.split(",")).toEqual(["'=1", "' =1", "'+1", "'-1", "'@A1", "'\tx", "'＝1", "user:=1", "a-b"]);
});

test("commas, quotes and ends of lines are quoted, and lines end as RFC 4180 says", () => {
  expect(toCsv([["a,b", 'say "no"'], ["two\nlines", "plain"]])).toBe('"a,b","say ""no"""\r\n"two\nlines",plain\r\n');
});

test("warrants and rows of queries are written with their usersets and conditions", () => {
  const warrant = { ...readCheck("document:plan#viewer@team:eng#member")!, policy: 'ip == "::1"', expiresAt: "2030-01-01T00:00:00Z" };
  const row = { objectType: "team", objectId: "eng", subjectRelation: "member", relation: "viewer", isImplicit: false, warrant };

  expect(writeWarrantLines([warrant])[1]).toEqual([
    "team:eng#member",
    "viewer",
    "document:plan",
    'ip == "::1"',
    "",
    "2030-01-01T00:00:00Z",
    "",
  ]);
  expect(writeQueryLines([row])[1]?.slice(0, 3)).toEqual(["team", "eng#member", "viewer"]);
});

test("keys and webhooks are written with what their tables say", () => {
  const made = { createdAt: "2030-01-01T00:00:00Z", createdBy: "ann" };
  const key = { id: "1", name: "billing", prefix: "wk_1", scopes: ["check", "query"], ...made };
  const webhook = { id: "2", url: "https://a.example", enabled: true, state: "gone", token: "3", ...made } as const;

  expect(writeKeyLines([key])[1]).toEqual(["billing", "wk_1", "check, query", "", made.createdAt, "ann", "", ""]);
  expect(writeWebhookLines([{ ...webhook, objectType: ["document"] }])[1]).toEqual([
    "https://a.example",
    "",
    "type document",
    "gone",
    "",
    made.createdAt,
    "ann",
  ]);
});

test("pages are read until an export has its most rows", async () => {
  const readPage = (page: { nextCursor?: string }) => {
    const start = Number(page.nextCursor ?? 0);
    return Promise.resolve({ results: [start, start + 1, start + 2], nextCursor: start < 6 ? String(start + 3) : undefined });
  };

  expect((await readAllPages(readPage)).rows).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(await readAllPages(readPage, 9)).toMatchObject({ isCut: false });
  expect(await readAllPages(readPage, 4)).toEqual({ rows: [0, 1, 2, 3], isCut: true });
});
