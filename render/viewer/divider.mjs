// SPDX-License-Identifier: BSD-2-Clause
// The edge between the boxes and the table beside them.
import { element, keep, kept } from "./page.mjs";

const narrowest = 20, widest = 80, usualShare = 42, shareStep = 2, tableKey = "memflame-table";  // percent of the width

export class Divider {
  // host: has the table. stage: has the boxes. shown(): the width has changed.
  constructor(host, stage, table, shown) {
    Object.assign(this, { host, stage, table, shown });
    this.element = element("div", {
      className: "mf-divider", role: "separator", tabIndex: 0, "aria-orientation": "vertical", "aria-label": "width of the table",
      "aria-valuemin": narrowest, "aria-valuemax": widest, title: "Drag, or use arrow keys; double click for the usual width" });
    table.prepend(this.element);
    this.set(Number(kept(tableKey)) || usualShare);
    this.element.addEventListener("pointerdown", (event) => this.begin(event));
    this.element.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) this.element.addEventListener(end, () => this.end());
    this.element.addEventListener("dblclick", () => this.settle(usualShare));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  set(share) {
    this.share = Math.min(widest, Math.max(narrowest, share));
    this.host.style.setProperty("--mf-share", String(this.share / 100));
    this.stage.share = this.share / 100;
    this.element.setAttribute("aria-valuenow", String(Math.round(this.share)));
    this.element.setAttribute("aria-valuetext", `${Math.round(this.share)} % of the width`);
  }

  settle(share) {
    this.set(share);
    keep(tableKey, String(this.share));
    this.shown();
  }

  begin(event) {
    event.preventDefault();
    this.element.focus({ preventScroll: true });
    this.element.setPointerCapture(event.pointerId);
    this.dragged = true;
  }

  move(event) {
    if (!this.dragged) return;
    this.set((100 * (this.table.getBoundingClientRect().right - event.clientX)) / this.stage.room);
    this.shown();
  }

  end() {
    if (!this.dragged) return;
    this.dragged = false;
    this.settle(this.share);
  }

  key(event) {
    const to = { ArrowLeft: this.share + shareStep, ArrowRight: this.share - shareStep, Home: widest, End: narrowest }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.settle(to);
  }
}
