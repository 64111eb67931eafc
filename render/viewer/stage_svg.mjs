// SPDX-License-Identifier: BSD-2-Clause
// Boxes as elements of the picture itself.
import { svgElement } from "./page.mjs";
import { padding, shorten } from "./label.mjs";
import { aboveMiddle, leastWithTable, rowHeightIn } from "./layout.mjs";
import { shapesOf } from "./marks.mjs";
import { narrowHead } from "./phone.mjs";

// How much a browser has shrunk the page: that of a telephone lays out an SVG for a window of a
// desktop, and the text would be 5 px high.
function shrunkBy() {
  const { scale } = window.visualViewport ?? { scale: 1 };
  return scale > 0.1 && scale < 0.9 ? 1 / scale : 1;
}

export class SvgStage {
  // svg: the picture, with its boxes in .frames.
  constructor(svg, { fontSize, rowHeight, boxes }) {
    this.svg = svg;
    this.most = boxes;  // at once
    this.element = svg.querySelector(".frames");
    this.fontSize = fontSize;
    this.usualHeight = this.rowHeight = rowHeight || fontSize + 7;
    this.hasControlsBelow = true;
    this.above = 0;  // px between the head and the boxes
    this.margin = Number(svg.dataset.margin);
    this.head = Number(svg.dataset.head);  // px above the boxes
    this.bar = Number(svg.dataset.bar);    // px below them
    this.size = { width: Number(svg.getAttribute("width")), height: Number(svg.getAttribute("height")) };
    this.alone = svg === document.documentElement;
    this.scale = this.alone ? shrunkBy() : 1;
    if (this.scale > 1) this.head = narrowHead(svg, window.innerWidth / this.scale);
    this.cell = this.letterWidth();
    this.fit(0);
  }

  // The width of one letter. The boxes of the file are removed first, as the browser would lay them
  // out once more.
  letterWidth() {
    this.element.replaceChildren();
    this.element.removeAttribute("display");
    const probe = this.element.appendChild(svgElement("text", {}, "M".repeat(100)));
    const width = probe.getComputedTextLength() / 100;
    probe.remove();
    return width || this.fontSize * 0.62;
  }

  // A picture with a window of its own fills it, and is high enough for its rows.
  fit(rows) {
    const { svg, size, scale, alone } = this;
    const window_ = alone ? [window.innerWidth / scale, window.innerHeight / scale] : [0, 0];
    const { width: leastWidth, height: leastHeight } = scale > 1 ? { width: 0, height: 0 } : size;
    if (alone) this.rowHeight = rowHeightIn(this.usualHeight, Math.max(rows, this.picture?.levels ?? 0), window_[1] - this.head - this.bar);
    const { upwards, middle = null } = this.picture ?? {}, least = this.head + rows * this.rowHeight + this.bar, room = window_[1] - this.head - this.bar;
    // A flame stands at the lower end, a function that is looked at is in the middle.
    this.above = middle === null || !alone ? 0 : aboveMiddle(Math.max(0, window_[1] - least), room, (middle + 0.5) * this.rowHeight);
    const needed = least + this.above;
    this.whole = { width: Math.max(leastWidth, svg.clientWidth && alone && scale === 1 ? svg.clientWidth : 0, window_[0]),
                   height: Math.max(leastHeight, needed, window_[1]) };
    // With a scroll bar there is less room than the window is wide.
    if (alone && scale === 1 && this.whole.height > window_[1]) this.whole.width = Math.max(size.width, svg.clientWidth || window_[0]);
    if (upwards && alone) this.above = Math.max(0, this.whole.height - needed);
    svg.setAttribute("width", this.whole.width * scale);
    svg.setAttribute("height", this.whole.height * scale);
    svg.setAttribute("viewBox", `0 0 ${this.whole.width} ${this.whole.height}`);
  }

  get width() { return this.whole.width - 2 * this.margin - this.tableWidth; }
  get room() { return this.shown * this.scale; }  // with a table, px of the window

  get isNarrow() { return this.shown < leastWithTable; }
  get tableWidth() { return this.beside && !this.isNarrow ? this.share * this.shown + this.whole.width - this.shown : 0; }

  // The visible width.
  get shown() {
    const { width } = this.whole;
    return !this.alone || this.scale > 1 ? width : Math.min(width, this.svg.clientWidth || width, window.innerWidth);
  }

  get baseLine() { return this.fontSize + 0.5 + (this.rowHeight - this.fontSize - 7) / 2; }

  draw(picture) {
    const { picture: before, scale } = this, fromEnd = before?.upwards ? this.whole.height * scale - window.scrollY : 0;
    this.picture = picture;
    this.fit(this.lines);
    const { rows, middle } = picture;
    this.boxes = new Map();
    this.element.replaceChildren(...rows.map((boxes, row) => svgElement("g", {
      class: "row", transform: `translate(0 ${this.top(row)})`,
    }, ...boxes.map((box) => this.make(box)))), ...this.makeLayer());
    const height = this.whole.height * scale, isHigher = this.alone && height > window.innerHeight;
    // A flame stands on its root, which therefore has to stay in sight.
    if (isHigher && picture.upwards) window.scrollTo(0, height - (fromEnd || window.innerHeight));
    if (isHigher && middle !== null && before?.rows[before.middle]?.[0].view !== rows[middle][0].view)
      window.scrollTo(0, (this.top(middle) + this.rowHeight / 2) * scale - (window.innerHeight - this.bar * scale) / 2);
  }

  // Flags have a row of their own beyond the boxes.
  get lines() { return this.picture.rows.length + (this.picture.layer ? 1 : 0); }

  top(row) {
    return this.head + this.above + (this.picture.upwards ? this.lines - 1 - row : row) * this.rowHeight;
  }

  makeLayer() {
    const { picture: { layer, upwards }, margin } = this;
    if (!layer) return [];
    const place = { width: this.width, rowHeight: this.rowHeight, fontSize: this.fontSize,
                    outwards: upwards ? -1 : 1, top: (row) => this.top(row) };
    return [svgElement("g", { class: "marks" }, ...shapesOf(layer, layer.colours, place).map((one) =>
      (one.text ? svgElement("text", { class: "flag", x: margin + one.x, y: one.y, "font-size": one.size }, one.text)
        : svgElement("rect", { x: margin + one.x, y: one.y, width: one.width, height: one.height,
            fill: one.fill ?? "none", stroke: one.stroke ?? "none", "stroke-width": one.line ?? 0 }))))];
  }

  make(box) {
    const { picture } = this, left = box.x * this.width, width = box.width * this.width;
    const rect = svgElement("rect", {
      x: this.margin + left, width: width - Math.min(0.8, width / 8), height: this.rowHeight - 1,
      fill: picture.fill(box),
    });
    const g = svgElement("g", {}, rect);
    const classes = [box.role, box.view ? "" : "merged", ["", "some", "hit"][picture.hit(box) * 2],
                     box === picture.current ? "current" : "",
                     picture.middle !== null && box === picture.rows[picture.middle][0] ? "middle" : ""].filter(Boolean).join(" ");
    if (classes) g.setAttribute("class", classes);
    const fits = Math.floor((width - 2 * padding) / this.cell);
    const label = fits < 1 ? "" : shorten(picture.label(box), fits, picture.cut);
    if (label)
      g.append(svgElement("text", { x: this.margin + left + padding, y: this.baseLine }, label));
    g.box = box;
    this.boxes.set(box, g);
    return g;
  }

  mark(box) {
    this.boxes.get(this.picture.current)?.classList.remove("current");
    this.picture.current = box;
    this.boxes.get(box)?.classList.add("current");
  }

  // The title, if it may be out of sight.
  get caption() { return this.alone && this.whole.height * this.scale > window.innerHeight + 1 ? this.svg.querySelector("title").textContent : ""; }

  reveal(box) { this.boxes.get(box)?.scrollIntoView({ block: "nearest", inline: "nearest" }); }

  boxAt(event) { return event.target.closest?.(".row > g")?.box || null; }

  // In a narrow window the controls are higher.
  leaveRoom(bar) { this.bar = Math.max(this.bar, bar.offsetHeight); }

  // The layer of controls covers the picture; they are at the lower edge of its visible part.
  placeControls(host, bar) {
    const { width, height } = this.whole, { alone, shown, scale } = this;
    const left = alone ? window.scrollX / scale : 0, top = alone ? window.scrollY / scale : 0;
    const bottom = alone ? Math.min(top + window.innerHeight / scale, height) : height;
    const set = (name, px) => host.style.setProperty(`--mf-${name}`, `${px}px`);
    set("left", left);
    set("width", shown);
    set("right", Math.max(0, width - left - shown));
    set("top", top);
    set("height", bottom - top - bar.offsetHeight);
    bar.style.top = `${bottom - bar.offsetHeight}px`;
  }

  place(box) { return this.boxes.get(box).getBoundingClientRect(); }
}
