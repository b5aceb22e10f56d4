/** Writes the drawing as an SVG file that needs nothing else: its colours are those of the page. */

import type { Drawing } from "./layout";
import { FONT_PIXELS } from "./view";

const COLOURS = ["--card", "--back", "--text", "--muted", "--line", "--border", "--accent", "--on-accent"] as const;

/** Returns the file of a drawn group. */
export function writeDrawing(group: SVGGElement, drawing: Drawing): string {
  const computed = getComputedStyle(group);
  const probe = document.createElement("span");
  document.body.append(probe);
  const colour = Object.fromEntries(
    COLOURS.map((name) => {
      probe.style.color = `var(${name})`;
      return [name, getComputedStyle(probe).color];
    }),
  ) as Record<(typeof COLOURS)[number], string>;
  probe.remove();
  const copy = group.cloneNode(true) as SVGGElement;
  copy.removeAttribute("transform");
  const style = [
    `text { font: ${FONT_PIXELS}px ${computed.fontFamily.replaceAll('"', "'")}; fill: ${colour["--text"]}; }`,
    `.type-name { font-weight: 700; }`,
    `.edge-line { fill: none; stroke: ${colour["--border"]}; stroke-width: 1.4; }`,
    `.edge-line.lit { stroke: ${colour["--accent"]}; stroke-width: 2.2; }`,
    `#arrow path { fill: ${colour["--border"]}; } #arrow-lit path { fill: ${colour["--accent"]}; }`,
    `.frame { fill: ${colour["--card"]}; stroke: ${colour["--line"]}; }`,
    `.row rect { fill: transparent; } .row.needed rect { stroke: ${colour["--accent"]}; stroke-dasharray: 3 2; }`,
    `.row.chosen rect { fill: ${colour["--accent"]}; } .row.chosen text { fill: ${colour["--on-accent"]}; }`,
    `.ring { fill: none; stroke: ${colour["--muted"]}; stroke-width: 1.4; } .dot { fill: ${colour["--muted"]}; }`,
  ].join("\n");
  const { width, height } = drawing;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<style>\n${style.replaceAll("<", "&lt;")}\n</style>`,
    `<rect width="${width}" height="${height}" fill="${colour["--back"]}"/>`,
    new XMLSerializer().serializeToString(copy),
    "</svg>\n",
  ].join("\n");
}
