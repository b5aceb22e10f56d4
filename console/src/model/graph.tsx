import { useEffect, useRef } from "preact/hooks";
import { drawModel, ROW, type Box, type Edge, type Row } from "./layout";
import type { Outline, Place } from "./outline";

interface Properties {
  outline: Outline;
  /** Where the cursor of the editor is. */
  place: Place | undefined;
  onChoose: (line: number) => void;
}

const WAYS: Record<Row["by"], string> = {
  warrant: "given by warrants",
  rule: "follows from its rule",
  both: "given by warrants or by its rule",
};

/** Draws types and relations: where the cursor is, what that relation depends on, and to which types it leads. */
export function Graph({ outline, place, onChoose }: Properties) {
  const drawing = drawModel(outline);
  const frame = useRef<HTMLDivElement>(null);
  const needed = listNeeded(outline, place);
  const active = drawing.boxes.find((box) => box.name === place?.type);

  useEffect(() => {
    const scrolled = frame.current;
    const svg = scrolled?.querySelector("svg");
    if (!scrolled || !svg || !active || drawing.width === 0) return;
    const scale = svg.getBoundingClientRect().width / drawing.width;
    const row = active.rows.find((one) => one.name === place?.relation);
    scrolled.scrollTop = (active.y + (row?.y ?? 0)) * scale - scrolled.clientHeight / 3;
    scrolled.scrollLeft = (active.x + active.width / 2) * scale - scrolled.clientWidth / 2;
  }, [active?.name, active?.x, active?.y, place?.relation]);

  if (drawing.boxes.length === 0) return <p class="hint">Types are drawn here as soon as there is one.</p>;
  const isLit = (edge: Edge) =>
    place?.type === edge.from && (!place.relation || edge.relations.some((name) => name === place.relation || needed.has(`${edge.from}#${name}`)));
  const edges = [...drawing.edges].sort((one, other) => Number(isLit(one)) - Number(isLit(other)));
  return (
    <>
      <div class="graph" ref={frame} role="group" aria-label="Types and relations" tabIndex={0}>
        <svg viewBox={`0 0 ${drawing.width} ${drawing.height}`} width={drawing.width} height={drawing.height}>
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
        </svg>
      </div>
      <ul class="legend" aria-label="Signs">
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
              {isNeeded && `; ${place?.relation} depends on it`}
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
