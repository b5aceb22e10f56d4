import { describe, expect, test } from "vitest";
import { drawModel } from "../src/model/layout";
import { focusOn } from "../src/model/neighbours";
import { readOutline } from "../src/model/outline";
import { centerOn, fitDrawing, isVisible, moveView, visibleArea, zoomAt } from "../src/model/view";

const FRAME = { width: 400, height: 300 };
const DRAWING = { width: 1000, height: 500 };

describe("what is seen of a drawing", () => {
  test("all of it fits, and a small one is not enlarged", () => {
    const view = fitDrawing(DRAWING, FRAME);

    expect(isVisible({ x: 0, y: 0, ...DRAWING }, view, FRAME)).toBe(true);
    expect(fitDrawing({ width: 50, height: 50 }, FRAME)).toEqual({ scale: 1, x: 175, y: 125 });
  });

  test("what is under the pointer stays there when it is enlarged", () => {
    const point = { x: 100, y: 50 };
    const before = { x: -30, y: 20, scale: 0.5 };
    const after = zoomAt(before, 1.5, point);

    expect(after.scale).toBeCloseTo(0.75);
    expect((point.x - after.x) / after.scale).toBeCloseTo((point.x - before.x) / before.scale);
    expect((point.y - after.y) / after.scale).toBeCloseTo((point.y - before.y) / before.scale);
  });

  test("it has bounds, so that it cannot be lost", () => {
    const moved = moveView({ x: 0, y: 0, scale: 1 }, 100_000, -100_000, DRAWING, FRAME);
    const seen = visibleArea(moved, FRAME);

    expect(seen.x).toBeGreaterThan(-FRAME.width);
    expect(seen.y).toBeLessThan(DRAWING.height);
    expect(zoomAt(moved, 1e9, { x: 0, y: 0 }).scale).toBeLessThanOrEqual(3);
  });

  test("a point is in the middle", () => {
    const seen = visibleArea(centerOn({ x: 700, y: 200 }, FRAME, 2), FRAME);

    expect([seen.x + seen.width / 2, seen.y + seen.height / 2]).toEqual([700, 200]);
  });
});

describe("a type with its neighbours", () => {
  const outline = readOutline(`type user
type group
    relation member [user, group#member]
type folder
    relation viewer [user, group#member]
type document
    relation parent [folder]
    relation viewer []
    inherit viewer if relation viewer on parent [folder]
type report
    relation about [document]
type invoice
    relation payer [user]
`);

  test("are those that it leads to and those that lead to it", () => {
    expect(drawModel(focusOn(outline, "document")).boxes.map((box) => box.name)).toEqual(["folder", "document", "report"]);
    expect(drawModel(focusOn(outline, "group")).boxes.map((box) => box.name)).toEqual(["user", "group", "folder"]);
  });

  test("collapsed types have no relations, but the same lines between them", () => {
    const [full, collapsed] = [drawModel(outline), drawModel(outline, true)];

    expect(collapsed.boxes.flatMap((box) => box.rows)).toEqual([]);
    expect(collapsed.edges.map(({ from, to }) => [from, to])).toEqual(full.edges.map(({ from, to }) => [from, to]));
    expect(collapsed.height).toBeLessThan(full.height);
  });
});
