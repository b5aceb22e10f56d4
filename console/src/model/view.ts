/** Computes which part of a drawing is seen: where its origin is, in pixels of the frame, and how large a unit is. */

export interface View {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Area extends Size {
  x: number;
  y: number;
}

export const FONT_PIXELS = 12; // of the names in the drawing
const SMALLEST_PIXELS = 10; // of text that people can read
const MOST_SCALE = 3;
const LEAST_SCALE = 0.05;
export const MARGIN = 8;

/** The scale at which the names are just large enough. */
export const READABLE_SCALE = SMALLEST_PIXELS / FONT_PIXELS;

/** Returns the view that shows the whole drawing, never enlarged. */
export function fitDrawing(drawing: Size, frame: Size): View {
  const scale = Math.min((frame.width - 2 * MARGIN) / drawing.width, (frame.height - 2 * MARGIN) / drawing.height, 1);
  const safe = Math.max(scale, LEAST_SCALE);
  return { scale: safe, x: (frame.width - drawing.width * safe) / 2, y: (frame.height - drawing.height * safe) / 2 };
}

/** Returns a view in which a point of the drawing is in the middle of the frame. */
export function centerOn(point: { x: number; y: number }, frame: Size, scale: number): View {
  return { scale, x: frame.width / 2 - point.x * scale, y: frame.height / 2 - point.y * scale };
}

/** Returns the view that is larger by a factor, with a point of the frame where it was. */
export function zoomAt(view: View, factor: number, point: { x: number; y: number }): View {
  const scale = Math.min(Math.max(view.scale * factor, LEAST_SCALE), MOST_SCALE);
  const grown = scale / view.scale;
  return { scale, x: point.x - (point.x - view.x) * grown, y: point.y - (point.y - view.y) * grown };
}

/** Returns the view moved by pixels of the frame; something of the drawing stays in it. */
export function moveView(view: View, dx: number, dy: number, drawing: Size, frame: Size): View {
  const kept = (offset: number, length: number, available: number) =>
    Math.min(Math.max(offset, available / 4 - length * view.scale), (available * 3) / 4);
  return {
    scale: view.scale,
    x: kept(view.x + dx, drawing.width, frame.width),
    y: kept(view.y + dy, drawing.height, frame.height),
  };
}

/** Returns the part of the drawing that is in the frame. */
export function visibleArea(view: View, frame: Size): Area {
  return { x: -view.x / view.scale, y: -view.y / view.scale, width: frame.width / view.scale, height: frame.height / view.scale };
}

export function isVisible(area: Area, view: View, frame: Size): boolean {
  const seen = visibleArea(view, frame);
  const isIn = (at: number, length: number, from: number, available: number) => at >= from && at + length <= from + available;
  return isIn(area.x, area.width, seen.x, seen.width) && isIn(area.y, area.height, seen.y, seen.height);
}
