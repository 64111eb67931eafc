// SPDX-License-Identifier: BSD-2-Clause
// The head of an SVG in a narrow window: its lines are broken for a wide one, and SVG cannot break them anew.
import { element, svgElement } from "./page.mjs";

// Puts the lines and legends into elements that break. Returns their height.
export function narrowHead(svg, width) {
  const lines = Array.from(svg.querySelectorAll(".head text"), (text) => element("div", { className: text.className.baseVal }, text.textContent));
  const legends = Array.from(svg.querySelectorAll(".legend"), (legend) => element("ul", {}, ...Array.from(legend.querySelectorAll("text"), entry)));
  const head = element("div", { className: "mf-phone-head" }, ...lines, ...legends);
  for (const part of svg.querySelectorAll(".head, .legend")) part.setAttribute("display", "none");
  svg.append(svgElement("foreignObject", { x: 0, y: 0, width, height: 4000, class: "mf-layer" }, head));
  return head.offsetHeight;
}

function entry(text) {
  const swatch = text.previousElementSibling;
  const square = swatch?.localName === "rect" ? [svgElement("svg", { "aria-hidden": "true" },
    svgElement("rect", { width: 11, height: 11, rx: 2.5, fill: swatch.getAttribute("fill") }))] : [];
  return element("li", {}, ...square, text.textContent);
}
