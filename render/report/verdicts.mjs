// SPDX-License-Identifier: BSD-2-Clause
// The verdicts on stacks as a list, each with its live bytes over the run.
import { brief } from "../viewer/format.mjs";
import { marksOf } from "../viewer/marks.mjs";
import { element, svgElement } from "../viewer/page.mjs";
import { columnOf } from "./lines.mjs";
import { firstAtLeast, liveLine } from "./selection.mjs";
import { timeText } from "./times.mjs";

const sparkWidth = 180, sparkHeight = 30, shownFirst = 10;

// The figures of a verdict's stack over time. Its rows, which are neighbours, are where it allocates, whoever is blamed.
export function lineOfMark(rows, { leaf }, column) {
  return liveLine(rows, column, () => true, firstAtLeast(rows.node, leaf), firstAtLeast(rows.node, leaf + 1));
}

export function sparkline({ seconds }, line) {
  const end = seconds.at(-1), most = Math.max(...line, 0), least = Math.min(...line, 0), room = sparkHeight - 3;
  const points = Array.from(line, (value, edge) =>
    `${((seconds[edge] / end) * sparkWidth).toFixed(1)} ${(1.5 + room - ((value - least) / (most - least || 1)) * room).toFixed(1)}`);
  return svgElement("svg", { width: sparkWidth, height: sparkHeight, viewBox: `0 0 ${sparkWidth} ${sparkHeight}`, class: "mf-spark", "aria-hidden": "true" },
    svgElement("path", { d: `M0 ${sparkHeight}L${points.join("L")}L${sparkWidth} ${sparkHeight}Z`, class: "mf-spark-area" }),
    svgElement("path", { d: `M${points.join("L")}`, class: "mf-spark-line" }));
}

// "most 12 MiB at 30 s, at the end 11 MiB"
function lineInWords({ seconds }, line, type) {
  const most = Math.max(...line), end = seconds.at(-1);
  return `most ${brief(most, type)} at ${timeText(seconds[line.indexOf(most)], end)}, at the end ${brief(line.at(-1), type)}`;
}

export class Verdicts {
  // choose(leaf): zooms to a stack. kept.allVerdicts: all are shown.
  constructor(host, { rows }, app, choose, kept) {
    Object.assign(this, { rows, app, choose, kept });
    this.marks = marksOf(app.base);
    if (!this.marks.length) return;
    this.list = element("ol", { className: "mf-verdicts" });
    this.more = element("button", { type: "button" }, `Show all ${this.marks.length}`);
    this.more.addEventListener("click", () => {
      kept.allVerdicts = true;
      this.fill();
    });
    host.append(element("section", {}, element("h2", {}, "What the stacks do over time"),
      element("p", {}, "A click shows the stack above."), this.list, this.more));
  }

  update() {
    const { app } = this;
    if (!this.marks.length || this.shownColumn === app.measure.id) return;
    this.shownColumn = app.measure.id;
    this.fill();
  }

  fill() {
    const { app, rows, marks, kept: { allVerdicts } } = this, column = columnOf(app.tree, app.measure), type = app.tree.about.types[column];
    this.more.hidden = allVerdicts || marks.length <= shownFirst;
    this.list.replaceChildren(...marks.slice(0, allVerdicts ? Infinity : shownFirst).map((mark) => {
      const line = lineOfMark(rows, mark, column);
      const button = element("button", { type: "button", title: "Zoom to this stack" }, mark.label || "(no name)");
      button.addEventListener("click", () => this.choose(mark.leaf));
      return element("li", { className: mark.flag ? "mf-flagged" : "" }, sparkline(rows, line),
        element("div", {}, button, element("p", {}, mark.text), element("p", { className: "mf-small" }, lineInWords(rows, line, type))));
    }));
  }
}
