// SPDX-License-Identifier: BSD-2-Clause
// On paper a picture is drawn as SVG, all rows of it; a canvas would be a photograph of the window.
import { shorten } from "./label.mjs";
import { labelOf } from "./figures.mjs";
import { svgElement } from "./page.mjs";

const width = 1000, rowHeight = 14, fontSize = 9, cell = fontSize * 0.61;

export function svgOf({ rows, fill, upwards, cut }) {
  const height = rows.length * rowHeight;
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, class: "mf-print" });
  for (const box of rows.flat()) {
    const top = (upwards ? rows.length - 1 - box.row : box.row) * rowHeight;
    const x = box.x * width, room = box.width * width;
    if (room < 0.1) continue;
    svg.append(svgElement("rect", {
      x, y: top, width: Math.max(room - 0.4, 0.05), height: rowHeight - 1, fill: fill(box) }));
    const label = shorten(labelOf(box), Math.floor((room - 4) / cell), cut);
    if (label)
      svg.append(svgElement("text", { x: x + 2, y: top + rowHeight - 4, "font-size": fontSize }, label));
  }
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
