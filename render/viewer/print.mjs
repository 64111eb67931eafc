// SPDX-License-Identifier: BSD-2-Clause
// On paper a picture is drawn as SVG, all rows of it; a canvas would be a photograph of the window.
import { shorten } from "./label.mjs";
import { labelOf } from "./figures.mjs";
import { shapesOf } from "./marks.mjs";
import { svgElement } from "./page.mjs";

const width = 1000, rowHeight = 14, fontSize = 9, cell = fontSize * 0.61;

export function svgOf({ rows, fill, upwards, cut, layer = null }) {
  const lines = rows.length + (layer ? 1 : 0), height = lines * rowHeight;
  const topOf = (row) => (upwards ? lines - 1 - row : row) * rowHeight;
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, class: "mf-print" });
  for (const box of rows.flat()) {
    const top = topOf(box.row);
    const x = box.x * width, room = box.width * width;
    if (room < 0.1) continue;
    svg.append(svgElement("rect", {
      x, y: top, width: Math.max(room - 0.4, 0.05), height: rowHeight - 1, fill: fill(box) }));
    const label = shorten(labelOf(box), Math.floor((room - 4) / cell), cut);
    if (label)
      svg.append(svgElement("text", { x: x + 2, y: top + rowHeight - 4, "font-size": fontSize }, label));
  }
  if (!layer) return svg;
  const place = { width, rowHeight, fontSize, outwards: upwards ? -1 : 1, top: topOf };
  for (const { text, size, line, ...one } of shapesOf(layer, layer.colours, place))
    svg.append(text ? svgElement("text", { ...one, fill: layer.colours.edge, "font-size": size }, text)
      : svgElement("rect", { fill: "none", ...one, "stroke-width": line ?? 0 }));
  return svg;
}

export function printable(app) {
  let made = null;
  window.addEventListener("beforeprint", () => {
    made = svgOf(app.stage.picture);
    app.stage.element.after(made);
  });
  window.addEventListener("afterprint", () => made?.remove());
}
