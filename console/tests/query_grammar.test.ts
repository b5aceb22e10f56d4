import { describe, expect, test } from "vitest";
import { readAbout, readEnd } from "../src/query_grammar";

const TYPES = ["document", "folder", "user"];

/** Says what may come next, in a few words. */
function next(text: string): string {
  const end = readEnd(text, TYPES);
  const kinds = [
    ...end.keywords,
    ...(end.isType ? ["TYPE"] : []),
    ...(end.relationsOf ? [`RELATION(${end.relationsOf.join(" ")})`] : []),
    ...(end.isObject ? ["OBJECT"] : []),
    ...(end.isAll ? ["*"] : []),
  ];
  return kinds.join(" | ");
}

describe("what may come next", () => {
  test.each([
    ["", "select"],
    ["sel", "select"],
    ["select ", "explicit | TYPE | RELATION() | *"],
    ["SELECT Explicit ", "TYPE | RELATION() | *"],
    ["select document ", "where"],
    ["select viewer ", "of type"],
    ["select * ", "where | of type"],
    ["select document where ", "OBJECT"],
    ["select document where user:ann ", "is"],
    ["select document where user:ann is ", "RELATION(document) | *"],
    ["select document where user:ann is viewer ", "and"],
    ["select document where user:ann is viewer and ", "not | OBJECT"],
    ["select document where user:ann is viewer AND Not ", "OBJECT"],
    ["select document where user:ann is viewer and not user:bob ", "is"],
    ["select document where user:ann is viewer and user:bob is ", "RELATION(document) | *"],
    ["select * where user:ann is ", "RELATION() | *"],
    ["select viewer of ", "type"],
    ["select viewer of type ", "TYPE | *"],
    ["select viewer of type user ", "for"],
    ["select viewer of\n type user for ", "OBJECT"],
    ["select viewer of type user for document:x ", ""],
  ])("after %j: %s", (text, expected) => {
    expect(next(text)).toBe(expected);
  });

  test.each([
    ["select document, ", "TYPE"],
    ["select document,fol", "TYPE"],
    ["select viewer , ", "RELATION()"],
    ["select viewer, editor,", "RELATION()"],
    ["select document, folder ", "where"],
    ["select document, folder where user:ann is ", "RELATION(document folder) | *"],
    ["select document where user:ann is viewer, ", "RELATION(document)"],
    ["select document where user:ann is viewer,ed", "RELATION(document)"],
    ["select viewer, editor of type user, ", "TYPE"],
    ["select viewer, editor of type user, folder ", "for"],
  ])("in a list, after %j: %s", (text, expected) => {
    expect(next(text)).toBe(expected);
  });

  test("a name that the list has is not offered again", () => {
    expect(readEnd("select document where user:ann is viewer, editor, o", TYPES)).toMatchObject({
      before: "select document where user:ann is viewer, editor, ",
      word: "o",
      named: ["viewer", "editor"],
    });
  });

  test("an id with a comma is one word, also while it is written", () => {
    expect(next('select document where user:"a,b" ')).toBe("is");
    expect(readEnd('select document where user:"a, b', TYPES).word).toBe('user:"a, b');
  });

  test("the words of the language can be types and ids of objects", () => {
    expect(next("select document where is:for ")).toBe("is");
    expect(next("select of ")).toBe("of type");
    expect(next("select type, of of type ")).toBe("TYPE | *");
  });
});

describe("what a query is about", () => {
  test.each([
    ["select document where user:ann is viewer", "user:ann", false],
    ['select document where user:"a,b" is viewer', "user:a,b", false],
    ['select viewer of type user for document:"$(a,b)"', "document:$(a,b)", true],
    ["SELECT viewer OF TYPE user\nFOR document:a:b|c@d.e", "document:a:b|c@d.e", true],
    ["select", undefined, false],
  ])("%s", (q, name, areSubjects) => {
    expect(readAbout(q)).toEqual({ name, areSubjects });
  });
});
