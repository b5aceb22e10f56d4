import { StringStream, type StreamParser } from "@codemirror/language";
import { expect, test } from "vitest";
import { findFault, listElements, WHOLE_LINE } from "../src/testing/places";
import { completeTests } from "../src/testing/suggestions";
import { testLanguage } from "../src/testing/yaml";

const FILE = `# of documents
model: |
  type user
  type document
      relation viewer [user]
setup:
  warrants:
    - "document:plan#viewer@user:ann"
    - {warrant: "document:log#viewer@user:ann"}

tests:
  - name: owners
    checks:
      "document:plan#viewer@user:ann": true
  # the other
  - {name: "it's", check: 'document:plan#viewer@user:kim', expect: false}
`;
const LINES = FILE.split("\n");

function tokenize<State>(parser: StreamParser<State>, text: string): [string, string][] {
  const state = parser.startState?.(2) as State;
  return text.split("\n").flatMap((line) => {
    const stream = new StringStream(line, 2, 2);
    const tokens: [string, string][] = [];
    while (!stream.eol()) {
      stream.start = stream.pos;
      const kind = parser.token(stream, state);
      expect(stream.pos).toBeGreaterThan(stream.start);
      if (kind && kind !== "punctuation") tokens.push([stream.current(), kind]);
    }
    return tokens;
  });
}

test("members, texts and answers of a test file differ", () => {
  expect(tokenize(testLanguage, FILE)).toEqual([
    ["# of documents", "lineComment"],
    ["model", "propertyName"],
    ["|", "keyword"],
    ["type", "keyword"],
    ["user", "typeName"],
    ["type", "keyword"],
    ["document", "typeName"],
    ["relation", "keyword"],
    ["viewer", "propertyName"],
    ["user", "typeName"],
    ["setup", "propertyName"],
    ["warrants", "propertyName"],
    ['"document:plan#viewer@user:ann"', "string"],
    ["warrant", "propertyName"],
    ['"document:log#viewer@user:ann"', "string"],
    ["tests", "propertyName"],
    ["name", "propertyName"],
    ["checks", "propertyName"],
    ['"document:plan#viewer@user:ann"', "propertyName"],
    ["true", "keyword"],
    ["# the other", "lineComment"],
    ["name", "propertyName"],
    ['"it\'s"', "string"],
    ["check", "propertyName"],
    ["'document:plan#viewer@user:kim'", "string"],
    ["expect", "propertyName"],
    ["false", "keyword"],
  ]);
});

test("texts in lines of their own end with their indent, and whatever is no YAML is passed over", () => {
  expect(tokenize(testLanguage, "a: >-\n  b: 1\n\n  c\nd: -2")).toEqual([
    ["a", "propertyName"],
    [">-", "keyword"],
    ["  b: 1", "string"],
    ["  c", "string"],
    ["d", "propertyName"],
    ["-2", "number"],
  ]);
  tokenize(testLanguage, "--- : @ % | x\n{[,:]} \"open\n'open # \\\n!tag &a *b ?");
});

test("the elements of a list have lines", () => {
  expect(listElements(LINES, "tests")).toEqual([12, 16]);
  expect(listElements(LINES, "setup.warrants")).toEqual([8, 9]);
  expect(listElements("tests: [a, b]".split("\n"), "tests")).toEqual([]);
  expect(listElements("tests:\n- a\n- - b\nsetup: {}\n- c".split("\n"), "tests")).toEqual([2, 3]);
  expect(listElements([], "setup.warrants")).toEqual([]);
});

test.each([
  ["the file is not valid YAML: expected the node content (line 3, column 5)", 3, 5],
  ["model:2:7: error unknown_type: what\n  source\n  ^", 4, 9],
  ["tests[1].check: document:plan: must name a relation", 16, WHOLE_LINE],
  ["setup.warrants[0]: document:plan: no", 8, WHOLE_LINE],
  ["setup.warrants: must be a list", 6, WHOLE_LINE],
  ["the file: 'tests' is not a member", 11, WHOLE_LINE],
])("a fault has its place: %s", (message, line, column) => {
  expect(findFault(message, FILE)).toMatchObject({ line, column, message: message.split("\n", 1)[0] });
});

test("what has no place has none", () => {
  expect(findFault("the service did not answer", FILE)).toBeUndefined();
  expect(findFault("tests[7]: no", "{}")).toBeUndefined();
});

const NAMES = { types: ["user", "document"], listRelations: (type: string) => (type === "document" ? ["viewer", "owner"] : ["none"]) };

/** Returns the labels that are offered at the end of a line of that section. */
function complete(line: string, ...above: string[]): string[] {
  return completeTests(line, above, NAMES)?.options.map((one) => one.label) ?? [];
}

test("members are completed in their places", () => {
  expect(complete("te")).toEqual(["model", "now", "setup", "tests"]);
  expect(complete("  ", "setup:")).toEqual(["warrants"]);
  expect(complete("  - {name: \"one, two\", ch", "tests:")).toContain("checks");
  expect(complete("    exp", "tests:", "  - name: x")).toContain("expect");
  expect(complete("  type do", "model: |")).toEqual([]);
});

test("checks are completed with the names of the model", () => {
  expect(complete('  - {check: "', "tests:")).toEqual(["user", "document"]);
  expect(complete('  - {check: "document:plan#vi', "tests:")).toEqual(["viewer", "owner"]);
  expect(complete('  - {check: "document:plan#viewer@us', "tests:")).toEqual(["user", "document"]);
  expect(complete('  - {check: "document:plan#viewer@document:x#', "tests:")).toEqual(["viewer", "owner"]);
  expect(complete('    - "document:pl', "setup:", "  warrants:")).toEqual([]);
  expect(complete("  - {name: do", "tests:")).toEqual([]);
});
