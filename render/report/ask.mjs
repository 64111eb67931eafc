// SPDX-License-Identifier: BSD-2-Clause
// The upper part of a report: what is shown, how much it is, of which time; the chart; and the command
// that gives the same figures.
import { brief, commas, percent } from "../viewer/format.mjs";
import { nameOfView } from "../viewer/figures.mjs";
import { marksOf } from "../viewer/marks.mjs";
import { copyText, element } from "../viewer/page.mjs";
import { Brush } from "./brush.mjs";
import { Chart } from "./chart.mjs";
import { commandOf, exactSeconds } from "./command.mjs";
import { errorOfSum } from "./lines.mjs";
import { partsOf } from "./selection.mjs";
import { parseTime, timeText } from "./times.mjs";

const gapsListed = 4;

const askButton = (text, title, act) => {
  const made = element("button", { type: "button", title }, text);
  made.addEventListener("click", act);
  return made;
};

export class Ask {
  // goTo(leaf): zooms to a stack. kept: see report_main.mjs.
  constructor(host, run, app, goTo, kept) {
    Object.assign(this, { host, run, app, goTo, before: null });
    this.headline = element("p", { className: "mf-headline", role: "status" });
    this.details = element("p", { className: "mf-details" });
    host.append(this.headline, this.details, ...this.worst());
    this.chart = new Chart(host, run, app, kept);
    this.brush = new Brush(this.chart.layer, run.selection, this.chart, {
      range: () => this.next ?? [run.selection.a, run.selection.b], preview: (a, b) => this.preview(a, b), settle: () => this.settle(), giveUp: () => this.giveUp() });
    if (run.gaps.length) host.append(this.gapNote());
    this.command = element("code", { tabIndex: 0, role: "group", "aria-label": "command with the same figures" });
    this.copied = element("span", { role: "status", className: "mf-copied" });
    host.append(element("div", { className: "mf-choice" }, this.rangeLine(), this.partLine()));
    if (run.facts.file) host.append(this.commandLine());  // else nobody could run it
  }

  // The reader moves an edge, or types a time.
  get isBusy() { return this.before !== null || this.brush.drag !== null || this.inputs.includes(document.activeElement); }

  get length() { return this.run.rows.seconds.at(-1); }

  // The worst leak, as pictures have it in their first line.
  worst() {
    const [first, ...others] = marksOf(this.app.base).filter(({ flag }) => flag);
    if (!first) return [];
    const more = others.length ? ` (${commas(others.length)} more ${others.length === 1 ? "stack leaks" : "stacks leak"})` : "";
    const made = askButton(`${first.text} – ${first.label}${more}`, "Zoom to this stack", () => this.goTo(first.leaf));
    made.className = "mf-worst";
    return [made];
  }

  gapNote() {
    const { gaps } = this.run, more = gaps.length - gapsListed;
    const list = gaps.slice(0, gapsListed).map(({ words }) => words).concat(more > 0 ? [`and ${commas(more)} more`] : []);
    return element("p", { className: "mf-gap-note" }, `Gaps in the recording (hatched): ${list.join("; ")}`);
  }

  rangeLine() {
    const names = element("datalist", { id: "mf-report-times" },
      ...["start", "peak", "end", ...this.run.marks.map(({ name }) => name)].map((value) => element("option", { value })));
    this.inputs = ["from", "to"].map((side) => {
      const input = element("input", { type: "text", size: 17, spellcheck: false, autocomplete: "off",
        title: "A time: 90, 1m30s, 1:30, 50%, start, peak, end, or the name of a mark" });
      input.setAttribute("list", names.id);
      input.addEventListener("change", () => this.typed(side));
      input.addEventListener("keydown", (event) => { if (event.key === "Enter") this.typed(side); });
      return input;
    });
    const [from, to] = this.inputs, { rows, peak } = this.run;
    const buttons = [askButton("Whole run", "Everything that was recorded", () => this.go(0, rows.bins))];
    if (peak > 0) buttons.push(askButton("Peak", "What was live when the most was", () => this.go(0, peak, "end")));
    return element("div", { className: "mf-row" }, element("label", {}, "From ", from), element("label", {}, "to ", to), ...buttons, names);
  }

  partLine() {
    this.radios = partsOf[this.run.selection.kind].map(([id, label]) => {
      const radio = element("input", { type: "radio", name: "mf-report-part", value: id });
      radio.addEventListener("change", () => this.app.change({ part: id }));
      return element("label", {}, radio, element("span", {}, label));
    });
    return element("fieldset", { className: "mf-parts" }, element("legend", { className: "mf-unseen" }, "what is shown of the range"), ...this.radios);
  }

  commandLine() {
    const copy = askButton("Copy", "Copy the command", async () => {
      const done = await copyText(this.command.textContent, (text) => this.app.byHand.show(text));
      this.copied.textContent = done ? "copied" : "";
    });
    return element("div", { className: "mf-row mf-command" }, element("span", { "aria-hidden": "true" }, "$ "), this.command, copy, this.copied);
  }

  // ---- from one range to another

  // Only the address of a range that stays is kept: browsers take few a second.
  preview(a, b) {
    this.before ??= this.app.state;
    this.next = [a, b];
    this.frame ??= requestAnimationFrame(() => this.showNext());
  }

  showNext() {
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    if (!this.next) return;
    this.app.state = { ...this.before, during: this.textOf(...this.next) };
    this.next = null;
    this.app.show();
  }

  settle() {
    if (!this.before) return;
    this.showNext();
    const { during } = this.app.state;
    this.giveUp(false);
    this.app.change({ during });
  }

  giveUp(show = true) {
    this.next = null;
    this.showNext();
    this.app.state = this.before ?? this.app.state;
    this.before = null;
    if (show) this.app.show();
  }

  textOf(a, b) {
    const { edges, bins } = this.run.rows;
    return a === 0 && b === bins ? "" : `${exactSeconds(edges[a])}-${exactSeconds(edges[b])}`;
  }

  go(a, b, part = null) { this.app.change({ during: this.textOf(a, b), ...(part ? { part } : {}) }); }

  typed(side) {
    const { selection, rows, marks, peak } = this.run, input = this.inputs[side === "from" ? 0 : 1];
    const time = parseTime(input.value, { end: this.length, peak: rows.seconds[peak], marks: marks.map(({ name, edge }) => [name, rows.seconds[edge]]) });
    input.setAttribute("aria-invalid", String(time === null));
    if (time === null) return;
    const edge = selection.edgeAt(time);
    let { a, b } = selection;
    if (side === "from") [a, b] = [Math.min(edge, rows.bins - 1), Math.max(b, edge + 1)];
    else [a, b] = [Math.min(a, Math.max(0, edge - 1)), Math.max(edge, 1)];
    if (a !== selection.a || b !== selection.b) this.go(a, Math.min(b, rows.bins));
    else this.showRange();
  }

  // ---- what is shown

  showRange() {
    const { selection: { a, b }, rows: { edges } } = this.run;
    [a, b].forEach((edge, side) => {
      this.inputs[side].value = `${exactSeconds(edges[edge])} s`;
      this.inputs[side].removeAttribute("aria-invalid");
    });
  }

  showSums() {
    const { app, run: { selection, rows } } = this, { tree, measure } = app, { a, b, part } = selection;
    const [from, to] = [a, b].map((edge) => this.timeOf(edge));
    const type = tree.about.types[measure.column], net = tree.total(measure.column)[0], isError = type.unit === "variance";
    const error = isError ? 0 : errorOfSum(tree, type), sign = part[0] === "growth" && net > 0 ? "+" : "";
    const word = type.name === "blocks" ? " blocks" : "";
    const figure = isError ? measure.human(net) : `${sign}${brief(net, type)}${error ? ` (± ${brief(error, type)})` : ""}${word}`;
    this.headline.replaceChildren(element("b", {}, figure), ` ${part[2](from, to, type.name)}`);
    this.details.textContent = this.detailsOf(net).join(" · ");
  }

  // "35.5 s, the peak"
  timeOf(edge) {
    const { rows, peak } = this.run, time = timeText(rows.seconds[edge], this.length);
    const name = edge === rows.bins ? "end" : edge === 0 ? "start" : edge === peak ? "peak" : "";
    return name ? `the ${name} (${time})` : time;
  }

  detailsOf(net) {
    const { app } = this, { tree, measure, zoomed } = app, { types } = tree.about, lines = [];
    const grown = measure.total[0];
    if (grown > net) lines.push(`${measure.brief(grown)} in stacks that grew, less ${measure.brief(grown - net)} in stacks that shrank, which have no box`);
    const exact = /\((.*)\)$/.exec(measure.human(net));  // what the headline has rounded
    if (exact) lines.push(exact[1]);
    types.forEach((type, column) => {
      if (type.unit === "variance" || column === measure.column) return;
      const error = errorOfSum(tree, type), name = type.name === "blocks" ? "" : `${type.name} `, word = name ? "" : " blocks";
      lines.push(`${name}${brief(tree.total(column)[0], type)}${error ? ` (± ${brief(error, type)})` : ""}${word}`);
    });
    if (zoomed.parent || zoomed.frame >= 0)
      lines.push(`in ${nameOfView(zoomed)}: ${measure.brief(zoomed.total)}, ${percent(zoomed.total, grown)}`);
    return lines;
  }

  update() {
    const { run: { selection, facts }, app } = this;
    this.showSums();
    this.showRange();
    for (const { firstChild } of this.radios) firstChild.checked = firstChild.value === selection.part[0];
    const command = commandOf(selection, facts, app.measure);
    if (command !== this.command.textContent) this.copied.textContent = "";
    this.command.textContent = command;
    this.chart.update();
    this.brush.update();
  }
}
