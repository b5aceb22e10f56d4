/** Marks the faults of a model in the editor: in the text, at the number of the line, and on hover. */

import { RangeSet, StateEffect, StateField, type EditorState, type Extension, type Text } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, gutterLineClass, hoverTooltip, type DecorationSet } from "@codemirror/view";
import type { ModelFault, Validation } from "./faults";

const WORD = /^[A-Za-z0-9_-]+/;

interface Marked {
  from: number;
  to: number;
  isError: boolean;
  fault: ModelFault;
}

class LineMark extends GutterMarker {
  constructor(override readonly elementClass: string) {
    super();
  }
}

const BAD = new LineMark("bad");
const DOUBTFUL = new LineMark("doubtful");

export const setFaults = StateEffect.define<Validation>();

/** Keeps the faults that were reported last, without their places in the text since it was changed. */
const marked = StateField.define<{ marks: Marked[]; decorations: DecorationSet }>({
  create: () => ({ marks: [], decorations: Decoration.none }),
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setFaults)) return decorate(findMarks(transaction.state.doc, effect.value));
    }
    if (!transaction.docChanged) return value;
    const marks = value.marks.map((one) => ({
      ...one,
      from: transaction.changes.mapPos(one.from),
      to: transaction.changes.mapPos(one.to, 1),
    }));
    return decorate(marks);
  },
  provide: (field) => [
    EditorView.decorations.from(field, (value) => value.decorations),
    gutterLineClass.computeN([field], (state) => [markLines(state)]),
  ],
});

function findMarks(doc: Text, { errors, warnings }: Validation): Marked[] {
  const marks = [
    ...warnings.map((fault): Marked => ({ ...findRange(doc, fault), isError: false, fault })),
    ...errors.map((fault): Marked => ({ ...findRange(doc, fault), isError: true, fault })),
  ];
  return marks.sort((one, other) => one.from - other.from || one.to - other.to);
}

/** Returns the word at the position of a fault, or the character, or the whole statement if nothing stands there. */
function findRange(doc: Text, { line, column }: ModelFault): { from: number; to: number } {
  const { from, to, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const start = Math.min(from + Math.max(column - 1, 0), to);
  const word = WORD.exec(text.slice(start - from))?.[0].length ?? 1;
  const indent = text.length - text.trimStart().length;
  return start < to ? { from: start, to: Math.min(start + word, to) } : { from: Math.min(from + indent, to), to };
}

function decorate(marks: Marked[]): { marks: Marked[]; decorations: DecorationSet } {
  const ranges = marks
    .filter((one) => one.from < one.to)
    .map((one) => Decoration.mark({ class: one.isError ? "fault-error" : "fault-warning" }).range(one.from, one.to));
  return { marks, decorations: Decoration.set(ranges, true) };
}

function markLines(state: EditorState): RangeSet<GutterMarker> {
  const byLine = new Map<number, GutterMarker>();
  for (const { from, isError } of state.field(marked).marks) {
    const start = state.doc.lineAt(Math.min(from, state.doc.length)).from;
    if (isError || !byLine.has(start)) byLine.set(start, isError ? BAD : DOUBTFUL);
  }
  return RangeSet.of(
    [...byLine].map(([start, mark]) => mark.range(start)),
    true,
  );
}

const tooltip = hoverTooltip((view, position) => {
  const found = view.state.field(marked).marks.filter((one) => one.from <= position && position <= one.to);
  const first = found[0];
  if (!first) return null;
  return {
    pos: first.from,
    end: first.to,
    above: true,
    create: () => ({ dom: describe(found) }),
  };
});

function describe(found: Marked[]): HTMLElement {
  const dom = document.createElement("div");
  dom.className = "fault-tooltip";
  for (const { fault } of found) {
    const line = document.createElement("p");
    line.textContent = fault.message;
    dom.append(line);
  }
  return dom;
}

export const faultMarks: Extension = [marked, tooltip];
