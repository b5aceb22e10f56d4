import { beforeAll, expect, test, vi } from "vitest";

beforeAll(() => {
  vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => undefined, removeItem: () => undefined });
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("addEventListener", () => undefined);
});

const TEXT = `model: |
  version 1.0

  type user
setup:
  warrants:
    - {"warrant": "doc:plan#viewer@user:ann"}
    - {"warrant": "doc:plan#viewer@user:ann"}
    - {"warrant": "doc:log#viewer@team:dev#member[x > 1]", "expires_at": "2040-01-01T00:00:00Z"}
tests:
  - {"name": "one", "check": "doc:plan#viewer@user:ann", "expect": true}
`;

test("a converted file is a model, warrants and tests", async () => {
  const { readWholeFile } = await import("../src/model/whole_file");
  const { model, rest } = readWholeFile(TEXT);

  expect(model).toBe("version 1.0\n\ntype user\n");
  expect(rest?.testCount).toBe(1);
  expect(rest?.tests).toBe(TEXT.slice(TEXT.indexOf("setup:")));
  expect(rest?.warrants.map(({ warrant }) => warrant)).toEqual([
    { objectType: "doc", objectId: "plan", relation: "viewer", subject: { objectType: "user", objectId: "ann" } },
    {
      objectType: "doc",
      objectId: "log",
      relation: "viewer",
      subject: { objectType: "team", objectId: "dev", relation: "member" },
      policy: "x > 1",
      expiresAt: "2040-01-01T00:00:00Z",
    },
  ]);
  expect(readWholeFile("version 1.0\n")).toEqual({ model: "version 1.0\n" });
});

test("a model and relationships that are apart become one file", async () => {
  const { joinFiles } = await import("../src/model/whole_file");

  expect(joinFiles("model", " \n")).toBe("model");
  expect(joinFiles("model\n  schema 1.1", '{"tuples": [{"user": "user:ann"}]}')).toBe(
    'model: |2\n  model\n    schema 1.1\ntuples:\n  [{"user":"user:ann"}]\n',
  );
  expect(joinFiles("model", "# all\n- user: user:ann")).toBe("model: |2\n  model\ntuples:\n  # all\n  - user: user:ann\n");
  expect(joinFiles("model", "tuples: []")).toBe("model: |2\n  model\ntuples: []\n");
  expect(joinFiles("definition user {}", "doc:a#b@user:c")).toBe(
    "schema: |2\n  definition user {}\nrelationships: |2\n  doc:a#b@user:c\n",
  );
});
