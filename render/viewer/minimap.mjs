// SPDX-License-Identifier: BSD-2-Clause
// A strip with the whole picture while a part of it fills the width.
import { layOut } from "./layout.mjs";
import { element } from "./page.mjs";

const mapHeight = 24;  // px, as in controls.css

// The box of a view in rows of the whole, or the one that it is merged in.
function boxOf(rows, view) {
  let found = rows[0][0];
  for (const one of view.path().slice(1)) {
    const box = (rows[one.depth] || []).find((other) => other.view === one || (!other.view && other.narrow.includes(one)));
    if (!box) break;
    found = box;
  }
  return found;
}

export class Minimap {
  constructor(app) {
    this.app = app;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.marker = element("span", { className: "mf-part" });
    this.element = element("button", { type: "button", className: "mf-map" }, this.canvas, this.marker);
    this.element.addEventListener("click", (event) => this.click(event));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  showControls() { this.element.hidden = !this.app.zoomed.parent || this.app.state.view === "table"; }

  update() {
    const { app } = this, { zoomed } = app;
    if (this.element.hidden) return;
    const { look } = zoomed, width = Math.max(1, this.canvas.clientWidth);
    if (this.look !== look || this.width !== width) Object.assign(this, { look, width, rows: layOut(look.root, 1 / width) });
    this.paint();
    this.box = boxOf(this.rows, zoomed);
    const part = Math.max(this.box.width, 3 / width);
    this.marker.style.left = `${100 * Math.min(this.box.x, 1 - part)}%`;
    this.marker.style.width = `${100 * part}%`;
    const text = "The whole picture; click to zoom there, arrow keys go to neighbours";
    this.element.title = text;
    this.element.setAttribute("aria-label", `the whole picture; the zoomed part is ${(100 * this.box.width).toFixed(1)} % of it`);
  }

  // Rows are 2 px mapHeight or less, so that all of them fit.
  paint() {
    const { canvas, rows, width, app } = this, dense = window.devicePixelRatio || 1, context = canvas.getContext("2d");
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(mapHeight * dense);
    context.setTransform(dense, 0, 0, dense, 0, 0);
    this.step = Math.min(3, mapHeight / rows.length);
    rows.forEach((boxes, row) => {
      const top = app.upright ? mapHeight - (row + 1) * this.step : row * this.step;
      for (const box of boxes) {
        context.fillStyle = app.fill(box);
        context.fillRect(box.x * width, top, Math.max(box.width * width - 0.3, 0.4), Math.max(this.step - 0.3, 0.4));
      }
    });
  }

  // The box at a point, or the last one on the way to it.
  boxAt(event) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect(), x = (event.clientX - left) / width;
    const y = ((event.clientY - top) / height) * mapHeight, wanted = Math.floor((this.app.upright ? mapHeight - y : y) / this.step);
    let found = this.rows[0][0];
    for (const boxes of this.rows.slice(1, Math.max(wanted, 0) + 1)) {
      const box = boxes.find((one) => one.x <= x && x < one.x + one.width);
      if (!box) break;
      found = box;
    }
    return found;
  }

  click(event) {
    const { app } = this;
    if (event.detail === 0) app.change({ zoom: null });  // by a key
    else app.choose(this.boxAt(event));
    if (this.element.hidden) app.takeFocus();
  }

  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const boxes = this.rows[this.box.row].filter((one) => one.view), next = boxes[boxes.indexOf(this.box) + by];
    if (next) this.app.zoom(next.view);
  }
}
