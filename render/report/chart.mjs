// SPDX-License-Identifier: BSD-2-Clause
// Memory over time. The library dygraphs draws axes and lines; everything else lies above them as
// elements: gaps, marks, the range.
import { brief } from "../viewer/format.mjs";
import { element, svgElement } from "../viewer/page.mjs";
import { linesFor, scaled, selectedLine, columnOf, unitOf, valueAt, WholeLines } from "./lines.mjs";
import { ticksOf, timeText } from "./times.mjs";

const lineDashes = [[], [], [7, 3], [2, 2], [9, 3, 2, 3], [5, 5], [1, 3], [12, 3]];
const dashOf = (k) => lineDashes[(k + 3 * Math.floor(k / lineDashes.length)) % lineDashes.length];
const colourOf = (k) => k % lineDashes.length;
const shownAtFirst = /^(resident|PSS)$/;
// dygraphs begins its dashes anew at each point, which hides them where points are dense.
function drawLine({ points, drawingContext: context, color, strokeWidth, setName, dygraph }) {
  const isStep = dygraph.getOption("stepPlot", setName);
  context.save();
  Object.assign(context, { strokeStyle: color, lineWidth: strokeWidth, lineJoin: "round" });
  context.setLineDash(dygraph.getOption("strokePattern", setName) ?? []);
  context.beginPath();
  let before = null;
  for (const { canvasx, canvasy, yval } of points) {
    if (yval === null) continue;  // it goes on
    const known = !Number.isNaN(yval);
    if (isStep && before !== null) context.lineTo(canvasx, before);
    if (known && before === null) context.moveTo(canvasx, canvasy);
    else if (known) context.lineTo(canvasx, canvasy);
    before = known ? canvasy : null;
  }
  context.stroke();
  context.restore();
}

// Axes have room for few digits.
const onAxis = (value, type) => brief(Math.round(value), type).replace(/\.0(?= )/, "");

export class Chart {
  // host: an element. run: {selection, rows, marks, gaps, peak, over}. kept: {hidden, known}, the ids of lines that are
  // not drawn, and of those that have been offered.
  constructor(host, run, app, { hidden, known }) {
    Object.assign(this, { host, run, app, hidden, known, drawn: null });
    this.whole = new WholeLines(run.rows);
    this.length = run.rows.seconds.at(-1);
    this.plot = element("div", { className: "mf-plot" });
    this.layer = element("div", { className: "mf-over" });
    this.legend = element("div", { className: "mf-lines-shown", role: "group", "aria-label": "lines" });
    host.append(element("div", { className: "mf-chart" }, this.plot, this.layer), this.legend);
    this.rule = element("div", { className: "mf-when", hidden: true });
    this.layer.append(...this.gaps(), ...this.marks(), this.rule);
    this.layer.addEventListener("pointermove", (event) => this.point(event));
    this.layer.addEventListener("pointerleave", () => this.point(null));
    const { signal } = run.over;
    signal.addEventListener("abort", () => this.drawn?.destroy());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw(), { signal });
    for (const event of ["beforeprint", "afterprint"])
      window.addEventListener(event, () => {
        host.classList.toggle("mf-paper", event === "beforeprint");  // which is white
        this.redraw();
      }, { signal });
  }

  share(edge) { return this.run.rows.seconds[edge] / this.length; }
  time(edge) { return timeText(this.run.rows.seconds[edge], this.length); }

  gaps() {
    return this.run.gaps.map(({ from, until, words }) => {
      const gap = element("div", { className: "mf-gap-shade", title: words });
      gap.style.left = `${100 * this.share(from)}%`;
      gap.style.width = `${100 * (this.share(until) - this.share(from))}%`;
      return gap;
    });
  }

  marks() {
    const all = this.run.marks.map((mark) => ({ ...mark, className: "mf-mark" }));
    if (this.run.peak > 0) all.push({ edge: this.run.peak, name: "peak", className: "mf-mark mf-peak" });
    this.named = all.sort((a, b) => a.edge - b.edge).map(({ edge, name, className }) => {
      const text = element("span", {}, name), mark = element("div", { className, title: `${name}, ${this.time(edge)}` }, text);
      mark.style.left = `${100 * this.share(edge)}%`;
      return { edge, mark, text };
    });
    return this.named.map(({ mark }) => mark);
  }

  // Names that would lie over each other have only a line.
  placeNames(width) {
    let free = 0;
    for (const { edge, text } of this.named) {
      text.hidden = false;
      const at = this.share(edge) * width, long = text.offsetWidth + 6, before = at + long > width;
      const from = before ? at - long : at;
      text.classList.toggle("mf-left", before);
      text.hidden = from < free;
      if (!text.hidden) free = from + long;
    }
  }

  // The lines that a measure has: [{id, name, line (at the edges) or times and values}].
  linesOf(measure) {
    const { tree } = this.app, column = columnOf(tree, measure), type = tree.about.types[column];
    const whole = { id: "whole", name: this.run.facts.kind === "blocks" ? `whole run, live ${type.name}` : `whole run, ${type.name}`, line: scaled(this.whole.of(column), type) };
    const selected = selectedLine(this.run.selection, this.app.zoomed, column);
    const others = linesFor(this.run.rows.lines, type, this.length).map((line, i) => ({ ...line, id: `${line.name} ${i}` }));
    return { type: { ...type, unit: unitOf(type), decimals: 0 },
             lines: [whole, { id: "selected", name: "of what is shown below", line: selected && scaled(selected, type) }, ...others] };
  }

  update() {
    const made = this.linesOf(this.app.measure);
    const key = made.lines.map(({ id }) => id).join() + made.type.name;
    Object.assign(this, made);
    if (this.key !== key) {
      this.key = key;
      for (const { id, name, gauge } of this.lines) if (gauge !== undefined && !(gauge && shownAtFirst.test(name)) && !this.known.has(id)) this.hidden.add(id);
      for (const { id } of this.lines) this.known.add(id);
      this.makeLegend();
      this.makePoints();
    }
    this.setPoints("selected", 2);
    this.redraw();
    this.tell(null);
  }

  // Rows of the chart: a time, and the value of each line then; null: it goes on, NaN: it is not known.
  makePoints() {
    const { seconds } = this.run.rows, times = [...new Set([...seconds, ...this.lines.flatMap(({ times: some = [] }) => [...some])])].sort((a, b) => a - b);
    const place = new Map(times.map((time, i) => [time, i]));
    this.edgePlaces = Array.from(seconds, (time) => place.get(time));
    this.points = times.map((time) => [time, ...this.lines.map(() => null)]);
    this.lines.forEach(({ line, times: own, values }, k) => {
      if (own) own.forEach((time, i) => { this.points[place.get(time)][k + 1] = values[i] ?? NaN; });
      else if (line) this.setPoints(this.lines[k].id, k + 1);
    });
  }

  setPoints(id, column) {
    const { line } = this.lines.find((one) => one.id === id);
    this.edgePlaces.forEach((place, edge) => { this.points[place][column] = line ? line[edge] : null; });
  }

  redraw() {
    if (!this.points) return;
    const style = getComputedStyle(this.host), colour = (name) => style.getPropertyValue(name).trim();
    const series = Object.fromEntries(this.lines.map(({ id, times }, k) => [id, {
      color: colour(`--mf-line-${colourOf(k)}`), strokePattern: dashOf(k).length ? dashOf(k) : null,
      strokeWidth: id === "selected" ? 2 : 1.4, fillGraph: id === "selected", stepPlot: Boolean(times) }]));
    const options = {
      file: this.points, labels: ["time", ...this.lines.map(({ id }) => id)], series,
      visibility: this.lines.map(({ id }) => !this.hidden.has(id)), gridLineColor: colour("--mf-grid"), axisLineColor: colour("--mf-axis"),
    };
    if (!this.drawn || this.drawnKey !== this.key) this.make(options);
    else this.drawn.updateOptions(options);
  }

  make(options) {
    this.drawn?.destroy();
    const { Dygraph } = window, { Axes, Grid } = Dygraph.Plugins;
    Dygraph.PLUGINS = [Axes, Grid];  // others write styles into HTML, which the page's policy forbids
    this.drawnKey = this.key;
    const { file, ...rest } = options;
    this.drawn = new Dygraph(this.plot, file, {
      ...rest, legend: "never", showLabelsOnHighlight: false, highlightCircleSize: 0, interactionModel: {},
      plotter: [Dygraph.Plotters.fillPlotter, drawLine], connectSeparatedPoints: true, includeZero: true, labelsKMG2: this.type.unit === "bytes", fillAlpha: 0.22,
      dateWindow: [0, this.length], axisLabelFontSize: 11, rightGap: 14, xRangePad: 0,
      axes: {
        x: { drawGrid: false, axisLabelWidth: 70, ticker: (from, to, pixels) =>
          ticksOf(this.length, Math.max(2, pixels / 90)).map((v) => ({ v, label: timeText(v, this.length).replace(/\.0+(?= s|$)/, "") })) },
        y: { axisLabelWidth: 64, axisLabelFormatter: (value) => onAxis(value, this.type) },
      },
      drawCallback: (chart) => this.place(chart.getArea()),
    });
  }

  // The layer lies exactly on the area of the lines.
  place({ x, y, w, h }) {
    for (const [name, value] of Object.entries({ left: x, top: y, width: w, height: h })) this.layer.style[name] = `${value}px`;
    this.placeNames(w);
  }

  makeLegend() {
    this.told = new Map();
    const labels = this.lines.map(({ id, name }, k) => {
      const box = element("input", { type: "checkbox", checked: !this.hidden.has(id) });
      box.addEventListener("change", () => {
        if (box.checked) this.hidden.delete(id);
        else this.hidden.add(id);
        this.redraw();
      });
      const value = element("span", { className: "mf-value" });
      const sample = svgElement("svg", { width: 26, height: 8, "aria-hidden": "true" }, svgElement("path", {
        d: "M0 4H26", class: `mf-sample-${colourOf(k)}`, "stroke-dasharray": dashOf(k).join(" "), "stroke-width": id === "selected" ? 4 : 2 }));
      const label = element("label", {}, box, sample, element("span", {}, name), value);
      this.told.set(id, { value, label });
      return label;
    });
    const first = labels.filter((_, k) => !this.hidden.has(this.lines[k].id)), more = labels.filter((label) => !first.includes(label));
    this.legend.replaceChildren(...first, ...(more.length > 3 ? [element("details", {}, element("summary", {}, `${more.length} more lines`), ...more)] : more));
  }

  point(event) {
    if (!event || event.pointerType === "touch") return this.tell(null);
    const { left, width } = this.layer.getBoundingClientRect();
    return this.tell(this.run.selection.edgeAt(((event.clientX - left) / width) * this.length));
  }

  // The values at an edge, or at the end of the range.
  tell(edge) {
    const at = edge ?? this.run.selection.b, { seconds } = this.run.rows;
    this.rule.hidden = edge === null;
    this.rule.style.left = `${100 * this.share(at)}%`;
    this.rule.dataset.time = this.time(at);
    for (const { id, line, ...rest } of this.lines) {
      const { value, label } = this.told.get(id), known = line ? line[at] : rest.times ? valueAt(rest, seconds[at]) : null;
      label.hidden = !line && !rest.times;
      value.textContent = known === null || Number.isNaN(known) ? "not known" : brief(Math.round(known), this.type);
    }
  }
}
