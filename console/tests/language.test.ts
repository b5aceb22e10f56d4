import { StringStream } from "@codemirror/language";
import { expect, test } from "vitest";
import { modelLanguage } from "../src/model/language";

/** Returns the words of a text with what they are. */
function tokenize(text: string): [string, string][] {
  const state = modelLanguage.startState?.(4);
  if (!state) throw new Error("the language has no state");
  return text.split("\n").flatMap((line) => {
    const stream = new StringStream(line, 4, 4);
    const tokens: [string, string][] = [];
    while (!stream.eol()) {
      stream.start = stream.pos;
      const kind = modelLanguage.token(stream, state);
      expect(stream.pos).toBeGreaterThan(stream.start);
      if (kind) tokens.push([stream.current(), kind]);
    }
    return tokens;
  });
}

test("words of the language are keywords, and names are names", () => {
  expect(tokenize("version 1.0\ntype document\n    relation viewer [user, group#member]")).toEqual([
    ["version", "keyword"],
    ["1.0", "number"],
    ["type", "keyword"],
    ["document", "typeName"],
    ["relation", "keyword"],
    ["viewer", "propertyName"],
    ["[", "punctuation"],
    ["user", "typeName"],
    [",", "punctuation"],
    ["group", "typeName"],
    ["#", "punctuation"],
    ["member", "propertyName"],
    ["]", "punctuation"],
  ]);
});

test("a word of the language can be a name", () => {
  expect(tokenize("    relation type")).toEqual([
    ["relation", "keyword"],
    ["type", "propertyName"],
  ]);
});

test("rules have relations, arrows and quantifiers", () => {
  expect(tokenize("    inherit viewer if relation owner for all parent [folder:*]").map(([, kind]) => kind)).toEqual([
    "keyword",
    "propertyName",
    "keyword",
    "keyword",
    "propertyName",
    "keyword",
    "keyword",
    "propertyName",
    "punctuation",
    "typeName",
    "punctuation",
    "operator",
    "punctuation",
  ]);
  expect(tokenize("relation viewer on parent").map(([, kind]) => kind)).toEqual([
    "keyword",
    "propertyName",
    "keyword",
    "propertyName",
  ]);
});

test("comments and descriptions differ", () => {
  expect(tokenize("/// What it is.\ntype a // a remark")).toEqual([
    ["/// What it is.", "docComment"],
    ["type", "keyword"],
    ["a", "typeName"],
    ["// a remark", "lineComment"],
  ]);
});

test("an expression ends with its bracket, over lines and beside texts with brackets", () => {
  const tokens = tokenize('policy p(level integer) {\n  level < 2 && "}" in {1: true} /* } */\n}\ntype a');

  expect(tokens).toContainEqual(["p", "variableName"]);
  expect(tokens).toContainEqual(["integer", "typeName"]);
  expect(tokens).toContainEqual(['"}"', "string"]);
  expect(tokens).toContainEqual(["/* } */", "lineComment"]);
  expect(tokens.slice(-2)).toEqual([
    ["type", "keyword"],
    ["a", "typeName"],
  ]);
});

test("the name of an action is a text, whatever is in it", () => {
  expect(tokenize('    action "https://a.example//call" is can-call // by URL')).toEqual([
    ["action", "keyword"],
    ['"https://a.example//call"', "string"],
    ["is", "keyword"],
    ["can-call", "propertyName"],
    ["// by URL", "lineComment"],
  ]);
});
