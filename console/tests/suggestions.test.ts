import { expect, test } from "vitest";
import { readOutline } from "../src/model/outline";
import { completeLine } from "../src/model/suggestions";

const MODEL = `type user
type group
    relation member [user, group#member]
type folder
    relation viewer [user]
type document
    relation parent [folder]
    relation owner [user]
    relation viewer
policy is_public() { true }
`;

/** Returns the labels that are offered at the end of a line which is inserted below the type document. */
function complete(line: string, ruleBefore = ""): string[] {
  const text = MODEL.replace("policy is", `${ruleBefore}${line}\npolicy is`);
  const outline = readOutline(text);
  const number = text.split("\n").findIndex((one) => one === line);
  return completeLine(line, outline, outline.places[number])?.options.map((one) => one.label) ?? [];
}

const RULE = "    inherit viewer if\n        any_of\n";

test("statements begin with the words of their place", () => {
  expect(complete("")).toEqual(["type", "policy"]);
  expect(complete("    ")).toEqual(["relation", "inherit", "source", "action"]);
  expect(complete("            ", RULE)).toEqual(["relation", "any_of", "all_of", "none_of", "policy", "self", "nobody"]);
  expect(complete("    inherit viewer if ")).toContain("any_of");
});

test("brackets complete users, wildcards and usersets", () => {
  expect(complete("    relation editor [")).toEqual(
    expect.arrayContaining(["user", "user:*", "group#member", "folder"]),
  );
  expect(complete("    relation editor [user, group#")).toEqual(["member"]);
  expect(complete("    relation editor [user ")).toEqual([]);
});

test("rules complete relations, of the same object first", () => {
  expect(complete("            relation ", RULE)).toEqual(["parent", "owner", "viewer", "member"]);
  expect(complete("            relation owner ", RULE)).toEqual(["on", "for all"]);
  expect(complete("            relation viewer on ", RULE)).toEqual(["parent", "owner", "viewer"]);
  expect(complete("            relation viewer for ", RULE)).toEqual(["all"]);
  expect(complete("            relation viewer for all ", RULE)).toEqual(["parent", "owner", "viewer"]);
  expect(complete("            relation viewer on parent [", RULE)).toEqual(["folder"]);
  expect(complete("            policy ", RULE)).toEqual(["is_public"]);
});

test("inherit completes relations without a rule, and then if", () => {
  expect(complete("    inherit ", "    inherit owner if nobody\n")).toEqual(["parent", "viewer"]);
  expect(complete("    inherit owner ")).toEqual(["if"]);
});

test("nothing is offered in comments, expressions and where a new name stands", () => {
  expect(complete("    relation editor // [")).toEqual([]);
  expect(complete("    relation ed")).toEqual([]);
  const outline = readOutline("policy p() {\n    le\n}");
  expect(completeLine("    le", outline, outline.places[1])).toBeUndefined();
});

test("a word that is begun is replaced from its beginning", () => {
  const outline = readOutline("ty");
  expect(completeLine("ty", outline, outline.places[0])?.from).toBe(0);
});

test("an action is completed with a relation of its type", () => {
  expect(complete('    action "documents/read" ')).toEqual(["is"]);
  expect(complete('    action "documents/read" is ')).toEqual(["parent", "owner", "viewer"]);
});
