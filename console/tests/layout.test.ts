import { expect, test } from "vitest";
import { drawModel } from "../src/model/layout";
import { readOutline } from "../src/model/outline";

const drawing = drawModel(
  readOutline(`type group
    relation member [user, group#member]
type document
    relation parent [folder]
    relation viewer []
    inherit viewer if relation viewer on parent [folder]
    relation editor [group#member]
    inherit editor if self
`),
);

test("types that are only named have a box, too", () => {
  expect(drawing.boxes.map((box) => [box.name, box.line])).toEqual([
    ["group", 1],
    ["document", 3],
    ["user", undefined],
    ["folder", undefined],
  ]);
});

test("lines join types by the relations that lead from one to the other", () => {
  expect(drawing.edges.map(({ from, to, relations }) => [from, to, relations])).toEqual([
    ["group", "user", ["member"]],
    ["group", "group", ["member"]],
    ["document", "folder", ["parent"]],
    ["document", "group", ["editor"]],
  ]);
  expect(drawing.edges.every((edge) => edge.path.startsWith("M"))).toBe(true);
});

test("rows say how a relation is given", () => {
  const document = drawing.boxes.find((box) => box.name === "document");

  expect(document?.rows.map((row) => [row.name, row.by])).toEqual([
    ["parent", "warrant"],
    ["viewer", "rule"],
    ["editor", "both"],
  ]);
});

test("boxes lie within the drawing and do not overlap", () => {
  for (const box of drawing.boxes) {
    expect(box.x).toBeGreaterThanOrEqual(0);
    expect(box.x + box.width).toBeLessThanOrEqual(drawing.width);
    expect(box.y + box.height).toBeLessThanOrEqual(drawing.height);
    for (const other of drawing.boxes) {
      const isApart =
        other === box ||
        box.x + box.width <= other.x ||
        other.x + other.width <= box.x ||
        box.y + box.height <= other.y ||
        other.y + other.height <= box.y;
      expect(isApart).toBe(true);
    }
  }
});
