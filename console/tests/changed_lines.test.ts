import { expect, test } from "vitest";
import { compareLines } from "../src/model/changed_lines";

function render(before: string, after: string): string[] | undefined {
  return compareLines(before.split(" ").join("\n"), after.split(" ").join("\n"))?.map(({ sign, text }) => sign + text);
}

test("the same texts have no changed lines", () => {
  expect(render("a b c", "a b c")).toEqual([]);
});

test("changed lines stand between the lines around them", () => {
  expect(render("a b c d e f g", "a b c x e f g")).toEqual([" b", " c", "-d", "+x", " e", " f"]);
});

test("distant changes are separated", () => {
  expect(render("a 1 2 3 4 5 6 7 b", "x 1 2 3 4 5 6 7 y")).toEqual(["-a", "+x", " 1", " 2", " ", " 6", " 7", "-b", "+y"]);
});

test("what stays is found between what is added and removed", () => {
  expect(render("a b c", "b z c d")).toEqual(["-a", " b", "+z", " c", "+d"]);
});

test("texts that would take too long are not compared", () => {
  const long = (word: string) => Array.from({ length: 2001 }, (_, place) => `${word}${place}`).join(" ");
  expect(render(long("a"), long("b"))).toBeUndefined();
});
