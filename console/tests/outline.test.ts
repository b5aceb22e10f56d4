import { describe, expect, test } from "vitest";
import { findLine, readOutline } from "../src/model/outline";

const TEXT = `version 1.0

type user

// a comment with type fake
type document
    relation folder [folder]
    relation owner [user, group#member] // the first
    relation viewer []
    inherit viewer if
        any_of
            relation owner
            relation viewer on folder [folder, drive]
            relation owner for all folder [folder]

    relation later

policy is_public(level integer) {
    level < 2 && "}" != name
}

type drive
    relation viewer
    inherit viewer if self
`;

describe("the outline of a model", () => {
  const outline = readOutline(TEXT);
  const document = outline.types.find((one) => one.name === "document");

  test("has the types, their relations and the policies", () => {
    expect(outline.types.map((one) => one.name)).toEqual(["user", "document", "drive"]);
    expect(document?.relations.map((one) => one.name)).toEqual(["folder", "owner", "viewer", "later"]);
    expect(outline.policies).toEqual(["is_public"]);
  });

  test("has who may be given a relation: some, nobody, or anybody", () => {
    expect(document?.relations.map((one) => one.allowed)).toEqual([["folder"], ["user", "group#member"], [], undefined]);
  });

  test("has what a rule depends on", () => {
    expect(document?.relations[2]?.dependencies).toEqual([
      { relation: "owner", types: [] },
      { relation: "viewer", on: "folder", types: ["folder", "drive"] },
      { relation: "owner", on: "folder", types: ["folder"] },
    ]);
    expect(outline.types[2]?.relations[0]).toMatchObject({ hasRule: true, dependencies: [] });
  });

  test("says where each line belongs", () => {
    const lines = TEXT.split("\n");
    const at = (text: string) => outline.places[lines.findIndex((line) => line.includes(text))];

    expect(at("relation owner for all")).toEqual({ type: "document", relation: "viewer", isRule: true, isPolicy: false });
    expect(at("relation later")).toEqual({ type: "document", relation: "later", isRule: false, isPolicy: false });
    expect(at("level < 2")).toMatchObject({ isPolicy: true });
    expect(at("type drive")).toEqual({ type: "drive", relation: undefined, isRule: false, isPolicy: false });
    expect(outline.places).toHaveLength(lines.length);
  });

  test("finds the line of a name", () => {
    expect(findLine(outline, "document#later")).toBe(16);
    expect(findLine(outline, "document#nothing")).toBe(6);
    expect(findLine(outline, "nothing")).toBeUndefined();
  });

  test.each(["", "type", "inherit x if", "    relation", "type a\n  relation b [", "policy p( {", "}\n{\n}", "type a\n relation b\n inherit"])(
    "is read from what is half written: %j",
    (text) => {
      expect(readOutline(text).places).toHaveLength(text.split("\n").length);
    },
  );
});
