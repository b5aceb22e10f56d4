import { describe, expect, test } from "vitest";
import { arrangeAccess, countCells, filterLines, groupByReason } from "../src/access_matrix";
import { readCheck, readSubject } from "../src/names";
import type { QueryRow } from "../src/query_row";

/** Makes a row such as `user:ann can-read`, with the warrant that gives it. */
function makeRow(text: string, reason: string | null, isImplicit = true): QueryRow {
  const [name = "", relation = ""] = text.split(" ");
  const { objectType = "", objectId = "", relation: subjectRelation } = readSubject(name) ?? {};
  return { objectType, objectId, subjectRelation, relation, isImplicit, warrant: reason ? readCheck(reason)! : null };
}

const EDITOR = "document:plan#editor@team:eng#member";
const ROWS = [
  makeRow("user:ann can-read", EDITOR),
  makeRow("user:ann editor", EDITOR),
  makeRow("user:ann viewer", "document:plan#viewer@user:ann", false),
  makeRow("user:bob can-read", EDITOR),
  makeRow("user:bob editor", EDITOR),
  makeRow("user:bob viewer", EDITOR),
  makeRow("user:zoe open", null),
];
const RELATIONS = ["parent", "open", "editor", "viewer", "can-read"];

function arrange(rows: QueryRow[]) {
  return arrangeAccess(rows, () => "document", () => RELATIONS);
}

describe("access matrices", () => {
  test("relations have the order of the model, and those between warrants and permissions are folded", () => {
    const [matrix] = arrange(ROWS);

    expect(matrix?.relations).toEqual(["viewer", "can-read"]);
    expect(matrix?.folded).toEqual(["open", "editor"]);
    expect(matrix?.lines.map((line) => line.name)).toEqual(["user:ann", "user:bob", "user:zoe"]);
    expect(countCells(matrix?.lines ?? [], "can-read")).toBe(2);
  });

  test("without a permission nothing is folded", () => {
    const [matrix] = arrange(ROWS.filter((row) => row.relation !== "can-read"));

    expect(matrix?.relations).toEqual(["open", "editor", "viewer"]);
    expect(matrix?.folded).toEqual([]);
  });

  test("a relation that the model does not have any more is the last", () => {
    expect(arrange([...ROWS, makeRow("user:ann can-go", EDITOR)])[0]?.relations.at(-1)).toBe("can-go");
  });

  test("there is a matrix for each type of object", () => {
    const rows = [makeRow("folder:a viewer", null), makeRow("document:b editor", null), makeRow("folder:c editor", null)];

    const matrices = arrangeAccess(rows, (row) => row.objectType, () => []);

    expect(matrices.map((matrix) => [matrix.objectType, matrix.lines.length])).toEqual([
      ["folder", 2],
      ["document", 1],
    ]);
  });

  test("a group is another line than its object", () => {
    const rows = [makeRow("team:eng#member viewer", null), makeRow("team:eng viewer", null)];

    expect(arrange(rows)[0]?.lines.map((line) => line.name)).toEqual(["team:eng#member", "team:eng"]);
  });

  test("lines are found by a part of their name", () => {
    const lines = arrange(ROWS)[0]?.lines ?? [];

    expect(filterLines(lines, " BO ").map((line) => line.name)).toEqual(["user:bob"]);
    expect(filterLines(lines, " ")).toBe(lines);
  });

  test("a line is in the group of each reason, with the cells that it gives", () => {
    const [matrix] = arrange(ROWS);

    const groups = groupByReason(matrix?.lines ?? [], ["viewer", "can-read", "open"]);

    expect(groups.map(({ reason, lines }) => [reason?.relation, lines.map((line) => [line.name, [...line.cells.keys()]])])).toEqual([
      ["editor", [["user:ann", ["can-read"]], ["user:bob", ["can-read", "viewer"]]]],
      ["viewer", [["user:ann", ["viewer"]]]],
      [undefined, [["user:zoe", ["open"]]]],
    ]);
  });
});
