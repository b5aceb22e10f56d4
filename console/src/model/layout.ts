/** Places the types of a model as boxes with their relations, and the lines between them. */

import { graphlib, layout } from "@dagrejs/dagre";
import type { Outline, OutlineRelation } from "./outline";

const CHARACTER = 7.3; // the width of a character of the monospaced font at 12 pixels
const HEAD = 30;
export const ROW = 22;
const PADDING = 12;
const MARK = 16;
const NARROWEST = 88;
const LOOP = 26;

export interface Row {
  name: string;
  line: number;
  y: number;
  /** How subjects get it. */
  by: "warrant" | "rule" | "both";
}

export interface Box {
  name: string;
  /** Undefined for a type that the text only names. */
  line: number | undefined;
  x: number;
  y: number;
  width: number;
  height: number;
  rows: Row[];
}

export interface Edge {
  from: string;
  to: string;
  relations: string[];
  /** The data of an SVG path. */
  path: string;
}

export interface Drawing {
  boxes: Box[];
  edges: Edge[];
  width: number;
  height: number;
}

/** Places the types; collapsed, without their relations. */
export function drawModel(outline: Outline, isCollapsed = false): Drawing {
  const boxes = makeBoxes(outline, isCollapsed);
  const joined = joinTypes(outline);
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 44, marginx: 6, marginy: 6 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes.values()) graph.setNode(box.name, { width: box.width, height: box.height });
  for (const { from, to } of joined) if (from !== to) graph.setEdge(from, to);
  layout(graph);
  for (const box of boxes.values()) {
    const { x, y } = graph.node(box.name);
    box.x = x - box.width / 2;
    box.y = y - box.height / 2;
  }
  const { width = 0, height = 0 } = graph.graph();
  const edges = joined.map((one) => ({
    ...one,
    path: one.from === one.to ? drawLoop(boxes.get(one.from)) : drawCurve(graph.edge(one.from, one.to).points),
  }));
  const right = Math.max(width, ...edges.filter((one) => one.from === one.to).map((one) => loopEnd(boxes.get(one.from))));
  return { boxes: [...boxes.values()], edges, width: right, height };
}

function makeBoxes(outline: Outline, isCollapsed: boolean): Map<string, Box> {
  const boxes = new Map<string, Box>();
  for (const { name, line, relations } of outline.types) {
    const shown = isCollapsed ? [] : relations;
    const longest = Math.max(name.length + 1, ...shown.map((one) => one.name.length));
    const rows = shown.map((one, place): Row => ({ name: one.name, line: one.line, y: HEAD + place * ROW, by: describeWay(one) }));
    const height = HEAD + rows.length * ROW + (rows.length > 0 ? PADDING / 2 : 0);
    boxes.set(name, { name, line, rows, x: 0, y: 0, height, width: measure(longest) });
  }
  for (const { from, to } of joinTypes(outline)) {
    if (boxes.has(from) && !boxes.has(to)) {
      boxes.set(to, { name: to, line: undefined, rows: [], x: 0, y: 0, height: HEAD, width: measure(to.length) });
    }
  }
  return boxes;
}

function measure(characters: number): number {
  return Math.max(characters * CHARACTER + MARK + 2 * PADDING, NARROWEST);
}

function describeWay({ allowed, hasRule }: OutlineRelation): Row["by"] {
  if (!hasRule) return "warrant";
  return allowed?.length === 0 ? "rule" : "both";
}

/** Returns which types lead to which, by the relations whose warrants name them: as subjects or as related objects. */
export function joinTypes(outline: Outline): { from: string; to: string; relations: string[] }[] {
  const found = new Map<string, { from: string; to: string; relations: string[] }>();
  const join = (from: string, to: string, relation: string) => {
    const key = `${from} ${to}`;
    const one = found.get(key) ?? { from, to, relations: [] };
    if (!one.relations.includes(relation)) one.relations.push(relation);
    found.set(key, one);
  };
  for (const { name, relations } of outline.types) {
    for (const relation of relations) {
      for (const subject of relation.allowed ?? []) join(name, subject.split(/[:#]/, 1)[0] ?? subject, relation.name);
      for (const { on, types } of relation.dependencies) {
        for (const type of on ? types : []) join(name, type, on ?? "");
      }
    }
  }
  return [...found.values()];
}

/** Returns a smooth path through points: each one between the first and the last is the control of a curve. */
function drawCurve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const parts = [`M${round(first.x)} ${round(first.y)}`];
  for (const [place, point] of rest.entries()) {
    const next = rest[place + 1];
    if (!next) parts.push(`L${round(point.x)} ${round(point.y)}`);
    else parts.push(`Q${round(point.x)} ${round(point.y)} ${round((point.x + next.x) / 2)} ${round((point.y + next.y) / 2)}`);
  }
  return parts.join("");
}

function drawLoop(box: Box | undefined): string {
  if (!box) return "";
  const right = round(box.x + box.width);
  const top = round(box.y + 9);
  return `M${right} ${top + 14}c${LOOP} 6 ${LOOP} -20 3 -14`;
}

function loopEnd(box: Box | undefined): number {
  return box ? box.x + box.width + LOOP : 0;
}

function round(length: number): number {
  return Math.round(length * 10) / 10;
}
