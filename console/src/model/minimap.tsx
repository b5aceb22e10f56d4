import type { Drawing } from "./layout";
import { visibleArea, type Size, type View } from "./view";

interface Properties {
  drawing: Drawing;
  view: View;
  frame: Size;
  onMove: (point: { x: number; y: number }) => void;
}

/** Shows the whole drawing in small, and which part of it is seen. A press moves that part. */
export function Minimap({ drawing, view, frame, onMove }: Properties) {
  const seen = visibleArea(view, frame);

  function move(event: PointerEvent & { currentTarget: SVGSVGElement }) {
    event.stopPropagation();
    if (event.type === "pointermove" && event.buttons === 0) return;
    const { left, top, width, height } = event.currentTarget.getBoundingClientRect();
    const scale = Math.min(width / drawing.width, height / drawing.height);
    onMove({
      x: (event.clientX - left - (width - drawing.width * scale) / 2) / scale,
      y: (event.clientY - top - (height - drawing.height * scale) / 2) / scale,
    });
  }

  return (
    <svg
      class="minimap"
      viewBox={`0 0 ${drawing.width} ${drawing.height}`}
      preserveAspectRatio="xMidYMid meet"
      aria-hidden="true"
      onPointerDown={move}
      onPointerMove={move}
    >
      {drawing.boxes.map((box) => (
        <rect key={box.name} class="mini-box" x={box.x} y={box.y} width={box.width} height={box.height} />
      ))}
      <rect class="mini-view" x={seen.x} y={seen.y} width={seen.width} height={seen.height} />
    </svg>
  );
}
