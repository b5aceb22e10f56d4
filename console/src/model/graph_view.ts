/** Moves and enlarges what is seen of a drawing, by pointer, wheel and keyboard. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Drawing } from "./layout";
import { centerOn, fitDrawing, isVisible, MARGIN, moveView, READABLE_SCALE, zoomAt, type Area, type Size, type View } from "./view";

const STEP = 60; // pixels for each press of an arrow key
const ZOOM = 1.25;
const WHEEL = 0.002;

export interface GraphView {
  view: View;
  frame: Size;
  /** Whether the whole drawing can be seen with text that can be read. */
  fits: boolean;
  fit: () => void;
  zoom: (factor: number) => void;
  /** Moves an area into the frame if it is not all there. */
  reveal: (area: Area) => void;
  center: (point: { x: number; y: number }) => void;
  /** Handles a key; returns whether it was one of the graph. */
  press: (event: KeyboardEvent) => void;
}

/** Keeps the view of a drawing in the frame of an element. */
export function useGraphView(element: { current: HTMLElement | null }, drawing: Drawing): GraphView {
  const [frame, setFrame] = useState<Size>({ width: 0, height: 0 });
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });
  const drawn = useRef(drawing);
  drawn.current = drawing;
  const size = useRef(frame);
  size.current = frame;
  const fitting = fitDrawing(drawing, frame);
  const fits = fitting.scale >= READABLE_SCALE;
  const move = (dx: number, dy: number) => setView((present) => moveView(present, dx, dy, drawn.current, size.current));

  useLayoutEffect(() => {
    const shown = element.current;
    if (!shown) return undefined;
    const observer = new ResizeObserver(() => setFrame({ width: shown.clientWidth, height: shown.clientHeight }));
    observer.observe(shown);
    setFrame({ width: shown.clientWidth, height: shown.clientHeight });
    return () => observer.disconnect();
  }, []);

  // Another drawing begins with all of it or, if that could not be read, with the type at its top.
  useLayoutEffect(() => {
    if (frame.width === 0) return;
    const [top] = [...drawing.boxes].sort((one, other) => one.y - other.y);
    if (fits || !top) setView(fitting);
    else setView({ ...centerOn({ x: top.x + top.width / 2, y: 0 }, frame, 1), y: MARGIN });
  }, [drawing.width, drawing.height, frame.width, frame.height]);

  useEffect(() => {
    const shown = element.current;
    return shown ? listen(shown, move, (factor, point) => setView((present) => zoomAt(present, factor, point))) : undefined;
  }, []);

  const middle = { x: frame.width / 2, y: frame.height / 2 };
  const zoom = (factor: number) => setView((present) => zoomAt(present, factor, middle));
  const fit = () => setView(fitDrawing(drawn.current, size.current));
  const keys: Record<string, () => void> = {
    ArrowLeft: () => move(STEP, 0),
    ArrowRight: () => move(-STEP, 0),
    ArrowUp: () => move(0, STEP),
    ArrowDown: () => move(0, -STEP),
    "+": () => zoom(ZOOM),
    "=": () => zoom(ZOOM),
    "-": () => zoom(1 / ZOOM),
    "0": fit,
  };
  return {
    view,
    frame,
    fits,
    fit,
    zoom: (factor) => zoom(factor),
    center: (point) => setView((present) => centerOn(point, frame, present.scale)),
    reveal: (area) =>
      setView((present) => {
        if (size.current.width === 0 || isVisible(area, present, size.current)) return present;
        const point = { x: area.x + area.width / 2, y: area.y + area.height / 2 };
        return centerOn(point, size.current, Math.max(present.scale, READABLE_SCALE));
      }),
    press: (event) => {
      const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    },
  };
}

export const ZOOM_STEP = ZOOM;

/** Moves by dragging, and zooms by two fingers, or the wheel with Ctrl, which browsers also say of pinching a touchpad. */
function listen(
  shown: HTMLElement,
  move: (dx: number, dy: number) => void,
  zoom: (factor: number, point: { x: number; y: number }) => void,
): () => void {
  const pointers = new Map<number, { x: number; y: number }>();
  const ended = new AbortController();
  const { signal } = ended;
  const place = (event: { clientX: number; clientY: number }) => {
    const { left, top } = shown.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const distance = () => {
    const [one, other] = [...pointers.values()];
    return one && other ? Math.hypot(one.x - other.x, one.y - other.y) : 0;
  };
  shown.addEventListener("pointerdown", (event) => pointers.set(event.pointerId, place(event)), { signal });
  for (const end of ["pointerup", "pointercancel", "pointerleave"] as const) {
    shown.addEventListener(end, (event) => pointers.delete(event.pointerId), { signal });
  }
  shown.addEventListener(
    "pointermove",
    (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const now = place(event);
      const apart = distance();
      pointers.set(event.pointerId, now);
      if (pointers.size === 1) move(now.x - before.x, now.y - before.y);
      else if (apart > 0) zoom(distance() / apart, now);
    },
    { signal },
  );
  shown.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * WHEEL), place(event));
    },
    { signal, passive: false },
  );
  return () => ended.abort();
}
