// SPDX-License-Identifier: BSD-2-Clause
// The range on the chart: by mouse, finger and keys. Its edges are those of bins.
import { element } from "../viewer/page.mjs";

const settleAfter = 400;  // ms without a key

export class Brush {
  // layer: lies on the area of the lines. chart: time(edge), share(edge). range() is [a, b], preview(a, b)
  // shows another one soon, settle() keeps it, giveUp() returns to the one before.
  constructor(layer, selection, chart, { range, preview, settle, giveUp }) {
    Object.assign(this, { layer, selection, chart, range, preview, settle, giveUp, drag: null, timer: 0 });
    this.shades = ["mf-before", "mf-after"].map((className) => element("div", { className: `mf-shade ${className}` }));
    this.handles = ["from", "to"].map((side) => element("div", {
      className: `mf-edge mf-edge-${side}`, role: "slider", tabIndex: 0, "aria-orientation": "horizontal",
      "aria-label": side === "from" ? "begin of the range" : "end of the range", "aria-valuemin": "0",
      "aria-valuemax": String(selection.rows.bins), title: "Drag, or use the arrow keys; with shift they move the other edge" }));
    layer.append(...this.shades, ...this.handles);
    layer.addEventListener("pointerdown", (event) => this.begin(event));
    layer.addEventListener("pointermove", (event) => this.move(event));
    layer.addEventListener("pointerup", () => this.end(true));
    layer.addEventListener("pointercancel", () => this.end(false));
    layer.addEventListener("dblclick", () => {
      this.preview(0, selection.rows.bins);
      this.settle();
    });
    this.handles.forEach((handle, side) => {
      handle.addEventListener("keydown", (event) => this.key(event, side));
      handle.addEventListener("blur", () => this.rest());
    });
  }

  edgeAt({ clientX }) {
    const { left, width } = this.layer.getBoundingClientRect(), { seconds } = this.selection.rows;
    return this.selection.edgeAt(((clientX - left) / width) * seconds.at(-1));
  }

  begin(event) {
    if (event.button !== 0 || !event.isPrimary) return;
    this.rest();
    const [a, b] = this.range(), side = this.handles.indexOf(event.target), at = this.edgeAt(event);
    this.drag = { fixed: side < 0 ? at : side ? a : b, x: event.clientX, moved: false };
    this.layer.setPointerCapture(event.pointerId);
    event.preventDefault();
    if (side >= 0) this.handles[side].focus({ preventScroll: true });
  }

  move(event) {
    const { drag } = this;
    if (!drag || (!drag.moved && Math.abs(event.clientX - drag.x) < 4)) return;
    drag.moved = true;
    const at = this.edgeAt(event), { bins } = this.selection.rows;
    let a = Math.min(at, drag.fixed), b = Math.max(at, drag.fixed);
    if (a === b) [a, b] = event.clientX < drag.x && a > 0 || b === bins ? [a - 1, b] : [a, b + 1];
    this.preview(a, b);
  }

  end(keep) {
    const { drag } = this;
    this.drag = null;
    if (!drag?.moved) return;
    if (keep) this.settle();
    else this.giveUp();
  }

  key(event, side) {
    const [a, b] = this.range(), { bins } = this.selection.rows, page = Math.max(2, Math.round(bins / 16));
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page, PageUp: page, Home: -bins, End: bins }[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = [a, b], moved = event.shiftKey ? 1 - side : side;
    next[moved] = moved ? Math.max(a + 1, Math.min(bins, b + step)) : Math.max(0, Math.min(b - 1, a + step));
    this.preview(...next);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.rest(), settleAfter);
  }

  // The keys have come to rest.
  rest() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    this.settle();
  }

  update() {
    const { a, b } = this.selection, left = 100 * this.chart.share(a), right = 100 * this.chart.share(b);
    this.shades[0].style.width = `${left}%`;
    this.shades[1].style.left = `${right}%`;
    [[a, left], [b, right]].forEach(([edge, at], side) => {
      const handle = this.handles[side];
      handle.style.left = `${at}%`;
      handle.setAttribute("aria-valuenow", String(edge));
      handle.setAttribute("aria-valuetext", this.chart.time(edge));
    });
  }
}
