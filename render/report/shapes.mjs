// SPDX-License-Identifier: BSD-2-Clause
// How long the selected blocks live and how large they are: a circle for each class of both, as large
// as what is in it, and beside it the sums by size. Classes are powers of two.
import { brief, commas, iec, percent } from "../viewer/format.mjs";
import { element, svgElement } from "../viewer/page.mjs";
import { never } from "./rows.mjs";
import { sharesOf } from "./selection.mjs";

const cellSize = 20, shapesLeft = 62, shapesBottom = 22, barRoom = 190;
const lifetimeTicks = [[1, "1 ns"], [1e3, "1 µs"], [1e6, "1 ms"], [1e9, "1 s"], [60e9, "1 min"], [3600e9, "1 h"], [86400e9, "1 d"]];

const sizeText = (size) => (size ? `${iec(2 ** size).replace(".0", "")} to ${iec(2 ** (size + 1) - 1)}` : "0 and 1 B");
function lifetimeText(lifetime) {
  const one = (ns) => brief(Math.round(ns), { unit: "nanoseconds" }).replace(/(\.\d\d)\d/, "$1");
  return lifetime ? `${one(2 ** lifetime)} to ${one(2 ** (lifetime + 1))}` : "at most 1 ns";
}

// {cells: [{lifetime, size, stays, bytes, blocks}], sizes: [{size, bytes, blocks}]} of the blocks that
// are selected and there at the end of it; stays: they are never freed.
export function gather({ shapes, zero = 0 }, part, a, b) {
  const shares = sharesOf(shapes, part, a, b), cells = new Map(), sizes = new Map();
  const add = (map, key, first, i) => {
    if (!map.has(key)) map.set(key, { ...first, bytes: zero, blocks: zero });
    const sum = map.get(key);
    sum.bytes += shapes.bytes[i];
    sum.blocks += shapes.blocks[i];
  };
  shares.forEach((share, i) => {
    if (share <= 0) return;
    const lifetime = shapes.lifetime[i], size = shapes.size[i], stays = shapes.freed[i] === never;
    add(cells, [lifetime, size, stays].join(), { lifetime, size, stays }, i);
    add(sizes, size, { size }, i);
  });
  return { cells: [...cells.values()], sizes: [...sizes.values()].sort((one, other) => one.size - other.size) };
}

export class Shapes {
  constructor(host, { rows, selection, facts }, app) {
    Object.assign(this, { rows, selection, app });
    if (facts.kind !== "blocks" || !rows.shapes.born.length) return;
    this.words = element("p");
    this.picture = element("div", { className: "mf-shapes", tabIndex: 0, role: "group", "aria-label": "lifetimes and sizes" });
    this.body = element("tbody");
    this.section = element("section", {}, element("h2", {}, "How long do the blocks live, and how large are they?"), this.words, this.picture,
      element("details", {}, element("summary", {}, "Sizes as a table"), element("table", {},
        element("thead", {}, element("tr", {}, ...["Size", "Bytes", "Blocks"].map((text) => element("th", { scope: "col" }, text)))), this.body)));
    host.append(this.section);
  }

  update() {
    const { section, selection: { a, b, part }, app } = this, by = app.measure.type.unit === "count" ? "blocks" : "bytes";
    const key = [a, b, part[0], by].join();
    if (!section || key === this.key) return;
    this.key = key;
    const made = gather({ ...this.rows, zero: app.tree.zero }, part, a, b), sum = (list, name) => list.reduce((all, one) => all + one[name], app.tree.zero);
    const all = sum(made.sizes, by), stay = sum(made.cells.filter(({ stays }) => stays), by), of = by === "bytes" ? iec : (n) => `${commas(n)} blocks`;
    this.words.textContent = made.cells.length
      ? `${part[0] === "growth" ? "Of all stacks, what came and is live at the end of the range" : "Of all stacks"}: ${of(all)}, of which ${of(stay)} (${percent(stay, all)}) are never freed (rings, which lie at their age when the recording ends).`
      : "No block is selected.";
    this.picture.replaceChildren(...(made.cells.length ? [pictureOf(made, by, of)] : []));
    this.body.replaceChildren(...made.sizes.map(({ size, bytes, blocks }) => element("tr", {},
      element("th", { scope: "row" }, sizeText(size)), element("td", {}, brief(bytes, { unit: "bytes" })), element("td", {}, commas(blocks)))));
  }
}

function pictureOf({ cells, sizes }, by, of) {
  const bounds = (name) => cells.reduce(([low, high], one) => [Math.min(low, one[name]), Math.max(high, one[name])], [63, 0]);
  const [shortest, longest] = bounds("lifetime"), [smallest, largest] = bounds("size");
  const wide = Math.max(longest - shortest + 1, 8) * cellSize, high = (largest - smallest + 1) * cellSize;
  const x = (lifetime) => shapesLeft + (lifetime - shortest) * cellSize, y = (size) => (largest - size) * cellSize + 4;
  const svg = svgElement("svg", { width: shapesLeft + wide + barRoom, height: high + shapesBottom + 22, role: "img",
    "aria-label": "Circles: lifetime from left to right, size from bottom to top. The table below has the sizes." });
  const text = (at, line, words, anchor = "start") => svgElement("text", { x: at, y: line, "text-anchor": anchor }, words);
  for (let size = smallest; size <= largest; ++size)
    if ((size - smallest) % 2 === 0) svg.append(text(shapesLeft - 6, y(size) + cellSize, iec(2 ** size).replace(".0", ""), "end"));
  const grid = (x1, y1, x2, y2) => svgElement("path", { d: `M${x1} ${y1}L${x2} ${y2}`, class: "mf-shape-grid" });
  for (const [ns, words] of lifetimeTicks) {
    const at = x(Math.log2(ns));
    if (at < shapesLeft - 1 || at > shapesLeft + wide) continue;
    svg.append(grid(at, 4, at, high + 8), text(at, high + 20, words, "middle"));
  }
  svg.append(grid(shapesLeft, high + 4, shapesLeft + wide, high + 4), text(shapesLeft + wide / 2, high + 38, "lifetime", "middle"),
    text(shapesLeft + wide + 14, high + 38, `${by} by size`));
  const most = Math.max(...cells.map((one) => Number(one[by]))) || 1, longestBar = Math.max(...sizes.map((one) => Number(one[by]))) || 1;
  for (const one of cells.sort((a, b) => Number(b[by]) - Number(a[by]))) {
    const radius = Math.max(1.8, (cellSize / 2 + 1) * Math.sqrt(Number(one[by]) / most));
    svg.append(svgElement("circle", { cx: x(one.lifetime) + cellSize / 2, cy: y(one.size) + cellSize / 2, r: radius, class: one.stays ? "mf-stays" : "mf-goes" },
      svgElement("title", {}, `${sizeText(one.size)}, ${one.stays ? "never freed, age" : "lifetime"} ${lifetimeText(one.lifetime)}: ${iec(one.bytes)} in ${commas(one.blocks)} blocks`)));
  }
  for (const one of sizes) {
    const long = ((barRoom - 90) * Number(one[by])) / longestBar, at = shapesLeft + wide + 14;
    svg.append(svgElement("rect", { x: at, y: y(one.size) + 2, width: Math.max(long, 0.6), height: cellSize - 4, class: "mf-bar-of-size" },
      svgElement("title", {}, `${sizeText(one.size)}: ${iec(one.bytes)} in ${commas(one.blocks)} blocks`)),
    text(at + long + 5, y(one.size) + cellSize - 5, of(one[by]).replace(" blocks", "")));
  }
  return svg;
}
