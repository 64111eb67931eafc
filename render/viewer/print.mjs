// On paper a picture is drawn as SVG, all rows of it; a canvas would be a photograph of the window.
import { shorten } from "./label.mjs";
import { nameOf } from "./figures.mjs";
import { svgElement } from "./page.mjs";

const width = 1000, rowHeight = 14, fontSize = 9, cell = fontSize * 0.61;

export function svgOf({ rows, colour, upwards }) {
  const height = rows.length * rowHeight;
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, class: "mf-print" });
  for (const box of rows.flat()) {
    const top = (upwards ? rows.length - 1 - box.row : box.row) * rowHeight;
    const x = box.x * width, room = box.width * width;
    if (room < 0.1) continue;
    svg.append(svgElement("rect", {
      x, y: top, width: Math.max(room - 0.4, 0.05), height: rowHeight - 1, fill: colour(box) }));
    const label = shorten(nameOf(box), Math.floor((room - 4) / cell));
    if (label)
      svg.append(svgElement("text", { x: x + 2, y: top + rowHeight - 4, "font-size": fontSize }, label));
  }
  return svg;
}

export function printable(app) {
  let made = null;
  window.addEventListener("beforeprint", () => {
    made = svgOf({ rows: app.rows, colour: app.colour, upwards: app.upwards && app.state.view !== "around" });
    app.stage.element.after(made);
  });
  window.addEventListener("afterprint", () => made?.remove());
}
