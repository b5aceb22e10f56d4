import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Complete } from "../completion";
import { save } from "../export";
import { CompletedField } from "../parts/field";
import * as words from "../words";
import { writeDrawing } from "./drawing_file";
import { useGraphView, ZOOM_STEP, type GraphView } from "./graph_view";
import { drawModel, ROW, type Box, type Drawing, type Edge, type Row } from "./layout";
import { Minimap } from "./minimap";
import { focusOn } from "./neighbours";
import type { Outline, Place } from "./outline";
import { isVisible, type Area } from "./view";

interface Properties {
  outline: Outline;
  /** Where the cursor of the editor is. */
  place: Place | undefined;
  onChoose: (line: number) => void;
}

const WAYS: Record<Row["by"], string> = {
  warrant: words.graph.byWarrants,
  rule: words.graph.byRule,
  both: words.graph.byBoth,
};
const MOST_FOUND = 30;

/** Draws types and relations: where the cursor is, what that relation depends on, and to which types it leads. */
export function Graph({ outline, place, onChoose }: Properties) {
  const [focused, setFocused] = useState<string>();
  const [isCollapsed, setCollapsed] = useState(false);
  const [searches, setSearches] = useState(0);
  const isFocused = focused !== undefined && outline.types.some((one) => one.name === focused);
  const shown = useMemo(() => (isFocused ? focusOn(outline, focused) : outline), [outline, isFocused, focused]);
  const drawing = useMemo(() => drawModel(shown, isCollapsed), [shown, isCollapsed]);
  const frame = useRef<HTMLDivElement>(null);
  const group = useRef<SVGGElement>(null);
  const graph = useGraphView(frame, drawing);
  const active = drawing.boxes.find((box) => box.name === place?.type);

  useEffect(() => {
    if (active) graph.reveal(areaOf(active, place?.relation));
    else if (isFocused && place?.type) setFocused(place.type);
  }, [drawing, place?.type, place?.relation, graph.frame.width, graph.frame.height, searches]);

  if (outline.types.length === 0) return <p class="hint">{words.graph.empty}</p>;
  const whole = { x: 0, y: 0, width: drawing.width, height: drawing.height };
  return (
    <>
      <GraphTools
        outline={outline}
        graph={graph}
        focused={isFocused ? focused : undefined}
        isCollapsed={isCollapsed}
        onFocus={setFocused}
        onCollapse={setCollapsed}
        onFind={(line) => {
          onChoose(line);
          setSearches((count) => count + 1);
        }}
        onSave={() => group.current && save("model.svg", "image/svg+xml", writeDrawing(group.current, drawing))}
      />
      {!graph.fits && !isFocused && graph.frame.width > 0 && (
        <p class="hint" role="status">
          {words.graph.tooMany(outline.types.length)}
        </p>
      )}
      <div
        class="graph"
        ref={frame}
        role="group"
        aria-label={words.graph.contents}
        aria-describedby="graph-keys"
        tabIndex={0}
        onKeyDown={graph.press}
      >
        <DrawnModel drawing={drawing} outline={shown} place={place} graph={graph} group={group} onChoose={onChoose} />
        {graph.frame.width > 0 && !isVisible(whole, graph.view, graph.frame) && (
          <Minimap drawing={drawing} view={graph.view} frame={graph.frame} onMove={graph.center} />
        )}
      </div>
      <p class="sr" id="graph-keys">
        {words.graph.keys}
      </p>
      <ul class="legend" aria-label={words.graph.signs}>
        {(Object.keys(WAYS) as Row["by"][]).map((by) => (
          <li key={by}>
            <svg viewBox="-6 -6 12 12" aria-hidden="true">
              <Sign by={by} />
            </svg>
            {WAYS[by]}
          </li>
        ))}
      </ul>
    </>
  );
}

function areaOf(box: Box, relation: string | undefined): Area {
  const row = box.rows.find((one) => one.name === relation);
  return row ? { x: box.x, y: box.y + row.y, width: box.width, height: ROW } : { x: box.x, y: box.y, width: box.width, height: box.height };
}

interface ToolProperties {
  outline: Outline;
  graph: GraphView;
  focused: string | undefined;
  isCollapsed: boolean;
  onFocus: (type: string | undefined) => void;
  onCollapse: (isCollapsed: boolean) => void;
  onFind: (line: number) => void;
  onSave: () => void;
}

function GraphTools({ outline, graph, focused, isCollapsed, onFocus, onCollapse, onFind, onSave }: ToolProperties) {
  const [text, setText] = useState("");
  const complete = useMemo(() => completeNames(outline), [outline]);

  function find(name: string) {
    const [type, relation] = name.split("#");
    const found = outline.types.find((one) => one.name === type);
    const line = found?.relations.find((one) => one.name === relation)?.line ?? found?.line;
    setText("");
    if (line) onFind(line);
  }

  return (
    <div class="graph-tools">
      <CompletedField label={words.graph.find} placeholder={words.examples.userset} value={text} complete={complete} onInput={setText} onChoose={find} />
      <div class="field">
        <label for="graph-focus">{words.graph.show}</label>
        <select id="graph-focus" value={focused ?? ""} onChange={(event) => onFocus(event.currentTarget.value || undefined)}>
          <option value="">{words.graph.allTypes}</option>
          {outline.types.map(({ name }) => (
            <option key={name} value={name}>
              {words.graph.neighbours(name)}
            </option>
          ))}
        </select>
      </div>
      <div class="actions small">
        <button type="button" class="quiet" aria-label={words.graph.smaller} title={words.graph.smaller} onClick={() => graph.zoom(1 / ZOOM_STEP)}>
          −
        </button>
        <button type="button" class="quiet" aria-label={words.graph.larger} title={words.graph.larger} onClick={() => graph.zoom(ZOOM_STEP)}>
          +
        </button>
        <button type="button" class="quiet" onClick={graph.fit}>
          {words.graph.fit}
        </button>
        <button type="button" class="quiet" aria-pressed={isCollapsed} onClick={() => onCollapse(!isCollapsed)}>
          {words.graph.typesOnly}
        </button>
        <button type="button" class="quiet" onClick={onSave}>
          {words.graph.saveSvg}
        </button>
      </div>
    </div>
  );
}

/** Completes the names of types and relations: those that begin with the text come first. */
function completeNames(outline: Outline): Complete {
  const names = outline.types.flatMap(({ name, relations }) => [name, ...relations.map((one) => `${name}#${one.name}`)]);
  const starts = (name: string, text: string) => name.startsWith(text) || name.split("#")[1]?.startsWith(text) === true;
  return (text) => {
    const found = names.filter((name) => name.includes(text));
    const sorted = [...found.filter((name) => starts(name, text)), ...found.filter((name) => !starts(name, text))];
    return Promise.resolve(sorted.slice(0, MOST_FOUND).map((value) => ({ value })));
  };
}

interface DrawnProperties {
  drawing: Drawing;
  outline: Outline;
  place: Place | undefined;
  graph: GraphView;
  group: { current: SVGGElement | null };
  onChoose: (line: number) => void;
}

function DrawnModel({ drawing, outline, place, graph: { view }, group, onChoose }: DrawnProperties) {
  const needed = listNeeded(outline, place);
  const isLit = (edge: Edge) =>
    place?.type === edge.from && (!place.relation || edge.relations.some((name) => name === place.relation || needed.has(`${edge.from}#${name}`)));
  const edges = [...drawing.edges].sort((one, other) => Number(isLit(one)) - Number(isLit(other)));
  return (
    <svg class="drawn">
      <g ref={group} transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
        <defs>
          {["arrow", "arrow-lit"].map((id) => (
            <marker key={id} id={id} viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="10" markerHeight="10" orient="auto">
              <path d="M0 0.5L8 4L0 7.5z" />
            </marker>
          ))}
        </defs>
        {edges.map((edge) => (
          <path
            key={`${edge.from} ${edge.to}`}
            class={isLit(edge) ? "edge-line lit" : "edge-line"}
            d={edge.path}
            marker-end={isLit(edge) ? "url(#arrow-lit)" : "url(#arrow)"}
          >
            <title>
              {edge.from}: {edge.relations.join(", ")} → {edge.to}
            </title>
          </path>
        ))}
        {drawing.boxes.map((box) => (
          <TypeBox key={box.name} box={box} place={place} needed={needed} onChoose={onChoose} />
        ))}
      </g>
    </svg>
  );
}

interface BoxProperties {
  box: Box;
  place: Place | undefined;
  needed: Set<string>;
  onChoose: (line: number) => void;
}

function TypeBox({ box, place, needed, onChoose }: BoxProperties) {
  const isActive = place?.type === box.name;
  const { line } = box;
  return (
    <g transform={`translate(${box.x} ${box.y})`} class={isActive ? "type-box active" : "type-box"}>
      <rect class="frame" width={box.width} height={box.height} rx="8" />
      <text class="type-name" x="12" y="20" onClick={() => line && onChoose(line)}>
        {box.name}
      </text>
      {box.rows.map((row) => {
        const isChosen = isActive && place?.relation === row.name;
        const isNeeded = needed.has(`${box.name}#${row.name}`);
        return (
          <g
            key={row.name}
            class={`row${isChosen ? " chosen" : ""}${isNeeded ? " needed" : ""}`}
            transform={`translate(0 ${row.y})`}
            onClick={() => onChoose(row.line)}
          >
            <title>
              {row.name}: {WAYS[row.by]}
              {isNeeded && place?.relation && words.graph.dependsOnIt(place.relation)}
            </title>
            <rect x="4" width={box.width - 8} height={ROW} rx="5" />
            <g transform={`translate(16 ${ROW / 2})`}>
              <Sign by={row.by} />
            </g>
            <text x="28" y={ROW / 2 + 4}>
              {row.name}
            </text>
          </g>
        );
      })}
    </g>
  );
}

function Sign({ by }: { by: Row["by"] }) {
  return (
    <>
      {by !== "warrant" && <circle class="ring" r="4.5" />}
      {by !== "rule" && <circle class="dot" r={by === "both" ? 2 : 3.5} />}
    </>
  );
}

/** Returns the relations that the one at the cursor depends on directly, as `document#viewer`. */
function listNeeded(outline: Outline, place: Place | undefined): Set<string> {
  const type = outline.types.find((one) => one.name === place?.type);
  const relation = type?.relations.find((one) => one.name === place?.relation);
  const needed = new Set<string>();
  for (const { relation: name, on, types } of relation?.dependencies ?? []) {
    if (!on) needed.add(`${type?.name}#${name}`);
    else needed.add(`${type?.name}#${on}`);
    for (const other of types) needed.add(`${other}#${name}`);
  }
  return needed;
}
