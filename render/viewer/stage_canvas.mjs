// SPDX-License-Identifier: BSD-2-Clause
// Boxes on a canvas that is only as large as its visible part, so a picture may be of any depth.
import { element } from "./page.mjs";
import { padding, shorten } from "./label.mjs";
import { aboveMiddle, leastWithTable, rowHeightIn } from "./layout.mjs";
import { shapesOf } from "./marks.mjs";

export class CanvasStage {
  // host: where it goes. fills: it has the rest of a window, which rows use.
  constructor(host, { fontSize, rowHeight, font }, { fills = true } = {}) {
    this.fills = fills;
    // Fingers need more than a mouse.
    const touched = !rowHeight && window.matchMedia("(pointer: coarse)").matches;
    this.fontSize = touched ? Math.max(fontSize, 13) : fontSize;
    this.usualHeight = rowHeight || (touched ? Math.max(this.fontSize + 11, 24) : this.fontSize + 7);
    this.rowHeight = this.usualHeight;
    this.font = font ? `${font}, sans-serif` : `ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace`;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.rule = element("div", { className: "mf-rule" });
    this.element = element("div", { className: "mf-stage" }, this.canvas, this.rule);
    this.scrolls = this.element;  // what has the focus must be in it, so that keys can scroll
    host.append(this.element);
    this.context = this.canvas.getContext("2d");
    this.element.addEventListener("scroll", () => this.paint());
    // What is above it unfolds, or has more lines.
    new ResizeObserver(() => { if (this.picture) this.draw(this.picture); }).observe(this.element);
  }

  get width() { return this.element.clientWidth; }
  get room() { return this.element.parentElement.clientWidth; }  // with a table

  get isNarrow() { return this.room < leastWithTable; }

  // picture: {rows, upwards, cut, fill(box), label(box), hit(box), current, levels, middle}. levels: rows of the whole.
  // middle: the row of the function that is looked at, or null.
  draw(picture) {
    const before = this.picture, { upwards, middle } = picture, { clientHeight } = this.element;
    this.picture = picture;
    const fromEnd = this.element.scrollHeight - this.element.scrollTop - (this.seen ?? clientHeight);
    this.seen = clientHeight;
    if (this.fills) this.rowHeight = rowHeightIn(this.usualHeight, Math.max(picture.levels, this.lines), clientHeight);
    this.rule.style.height = `${this.above + this.lines * this.rowHeight}px`;
    // A flame stands on its root, which therefore has to stay in sight.
    if (upwards) this.element.scrollTop = before?.upwards ? this.element.scrollHeight - clientHeight - fromEnd : this.element.scrollHeight;
    const isNew = middle !== null && before?.rows[before.middle]?.[0].view !== picture.rows[middle][0].view;
    if (isNew) this.element.scrollTop = this.above + (middle + 0.5) * this.rowHeight - clientHeight / 2;
    this.paint();
  }

  mark(box) {
    this.picture.current = box;
    this.paint();
  }

  reveal(box) {
    const top = this.top(box.row), { element: view } = this;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + this.rowHeight > view.scrollTop + view.clientHeight)
      view.scrollTop = top + this.rowHeight - view.clientHeight;
  }

  // Flags have a row of their own beyond the boxes.
  get lines() { return this.picture.rows.length + (this.picture.layer ? 1 : 0); }

  // Above the boxes: a flame stands at the lower end, a function that is looked at is in the middle.
  get above() {
    const { upwards, middle } = this.picture, { clientHeight } = this.element;
    const rest = Math.max(0, clientHeight - this.lines * this.rowHeight);
    if (upwards || middle === null) return upwards && this.fills ? rest : 0;
    return aboveMiddle(rest, clientHeight, (middle + 0.5) * this.rowHeight);
  }

  top(row) { return this.above + (this.picture.upwards ? this.lines - 1 - row : row) * this.rowHeight; }

  boxAt(event) {
    const edge = this.element.getBoundingClientRect(), { rows, upwards } = this.picture;
    let row = Math.floor((event.clientY - edge.top + this.element.scrollTop - this.above) / this.rowHeight);
    if (upwards) row = this.lines - 1 - row;
    const x = (event.clientX - edge.left) / this.width;
    return (rows[row] || []).find((box) => box.x <= x && x < box.x + box.width) || null;
  }

  // Where a box is in the window.
  place(box) {
    const edge = this.element.getBoundingClientRect();
    return { left: edge.left + box.x * this.width, top: edge.top + this.top(box.row) - this.element.scrollTop,
             width: box.width * this.width, height: this.rowHeight };
  }

  // Panels are below the controls.
  placeControls(host, bar) { host.style.setProperty("--mf-top", `${bar.offsetHeight}px`); }

  // Once before the browser shows the next frame, however much changes until then.
  paint() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      if (this.picture) this.paintAll();
    });
  }

  paintAll() {
    const { clientWidth: width, clientHeight: height, scrollTop } = this.element;
    const { canvas, context } = this, dense = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * dense)) canvas.width = Math.round(width * dense);
    if (canvas.height !== Math.round(height * dense)) canvas.height = Math.round(height * dense);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `${this.fontSize}px ${this.font}`;
    if (this.measured !== context.font) {
      this.measured = context.font;
      this.cell = context.measureText("M".repeat(100)).width / 100;
    }
    const style = getComputedStyle(this.element);
    this.ink = style.color;
    const { rows, upwards, layer } = this.picture, last = this.lines - 1, { above } = this;
    const first = Math.max(0, Math.floor((scrollTop - above) / this.rowHeight));
    const end = Math.min(this.lines, Math.ceil((scrollTop - above + height) / this.rowHeight));
    for (let line = first; line < end; ++line)
      for (const box of rows[upwards ? last - line : line] || [])
        this.paintBox(box, above + line * this.rowHeight - scrollTop, width);
    if (layer) this.paintLayer(layer, scrollTop, width);
  }

  paintLayer(layer, scrollTop, width) {
    const { context } = this, place = {
      width, rowHeight: this.rowHeight, fontSize: this.fontSize, outwards: this.picture.upwards ? -1 : 1,
      top: (row) => this.top(row) - scrollTop };
    for (const one of shapesOf(layer, layer.colours, place)) {
      context.fillStyle = one.text ? layer.colours.edge : one.fill;
      context.strokeStyle = one.stroke;
      context.lineWidth = one.line ?? 1;
      if (one.text) {
        context.font = `600 ${one.size}px system-ui, "DejaVu Sans", sans-serif`;
        context.fillText(one.text, one.x, one.y);
      }
      if (!one.text && one.fill) context.fillRect(one.x, one.y, one.width, one.height);
      if (!one.text && one.stroke) context.strokeRect(one.x, one.y, one.width, one.height);
    }
  }

  paintBox(box, top, whole) {
    const { context, picture } = this, left = box.x * whole, width = box.width * whole;
    if (width < 0.2) return;
    const inner = width - Math.min(0.8, width / 8), height = this.rowHeight - 1;
    context.globalAlpha = box.role === "caller" ? 0.5 : 1;
    context.fillStyle = picture.fill(box);
    context.fillRect(left, top, inner, height);
    context.globalAlpha = 1;
    const isMiddle = picture.middle !== null && box === picture.rows[picture.middle][0];
    if (box === picture.current || isMiddle) {
      context.strokeStyle = this.ink;
      context.lineWidth = isMiddle ? 3 : 2;
      context.strokeRect(left + 1, top + 1, Math.max(inner - 2, 0.5), height - 2);
    }
    const fits = Math.floor((width - 2 * padding) / this.cell);
    if (fits < 1) return;
    const label = shorten(picture.label(box), fits, picture.cut);
    if (!label) return;
    context.fillStyle = box.role === "caller" ? this.ink : "#000";
    context.fillText(label, left + padding, top + this.fontSize + 1 + (this.rowHeight - this.fontSize - 7) / 2, width - padding);
  }
}
