// SPDX-License-Identifier: BSD-2-Clause
// Boxes as elements of the picture itself.
import { svgElement } from "./page.mjs";
import { padding, shorten } from "./label.mjs";
import { shapesOf } from "./marks.mjs";

export class SvgStage {
  // svg: the picture, with its boxes in .frames.
  constructor(svg, { fontSize, rowHeight, boxes }) {
    this.svg = svg;
    this.most = boxes;  // at once
    this.element = svg.querySelector(".frames");
    this.fontSize = fontSize;
    this.rowHeight = rowHeight || fontSize + 7;
    this.baseLine = fontSize + 0.5 + (this.rowHeight - fontSize - 7) / 2;
    this.margin = Number(svg.dataset.margin);
    this.head = Number(svg.dataset.head);  // px above the boxes
    this.bar = Number(svg.dataset.bar);    // px below them
    this.size = { width: Number(svg.getAttribute("width")), height: Number(svg.getAttribute("height")) };
    this.alone = svg === document.documentElement;
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
    const { svg, size } = this;
    const needed = this.head + rows * this.rowHeight + this.bar;
    const window_ = this.alone ? [window.innerWidth, window.innerHeight] : [0, 0];
    this.whole = { width: Math.max(size.width, svg.clientWidth && this.alone ? svg.clientWidth : 0, window_[0]),
                   height: Math.max(size.height, needed, window_[1]) };
    // With a scroll bar there is less room than the window is wide.
    if (this.alone && this.whole.height > window_[1]) this.whole.width = Math.max(size.width, svg.clientWidth || window_[0]);
    svg.setAttribute("width", this.whole.width);
    svg.setAttribute("height", this.whole.height);
    svg.setAttribute("viewBox", `0 0 ${this.whole.width} ${this.whole.height}`);
  }

  get width() { return this.whole.width - 2 * this.margin; }

  draw(picture) {
    const fromEnd = this.picture ? this.whole.height - window.scrollY : 0;
    this.picture = picture;
    this.fit(this.lines);
    const { rows } = picture;
    this.boxes = new Map();
    this.element.replaceChildren(...rows.map((boxes, row) => svgElement("g", {
      class: "row", transform: `translate(0 ${this.top(row)})`,
    }, ...boxes.map((box) => this.make(box)))), ...this.makeLayer());
    // A flame stands on its root, which therefore has to stay in sight; but a picture that is little
    // higher than the window begins with its title.
    if (this.alone && picture.upwards && this.whole.height > window.innerHeight * (fromEnd ? 1 : 1.5)) window.scrollTo(0, this.whole.height - (fromEnd || window.innerHeight));
  }

  // Flags have a row of their own beyond the boxes.
  get lines() { return this.picture.rows.length + (this.picture.layer ? 1 : 0); }

  top(row) {
    return this.head + (this.picture.upwards ? this.lines - 1 - row : row) * this.rowHeight;
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
                     box === picture.current ? "current" : ""].filter(Boolean).join(" ");
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
  get caption() { return this.alone && this.whole.height > window.innerHeight ? this.svg.querySelector("title").textContent : ""; }

  reveal(box) { this.boxes.get(box)?.scrollIntoView({ block: "nearest", inline: "nearest" }); }

  boxAt(event) { return event.target.closest?.(".row > g")?.box || null; }

  // The layer of controls covers the picture; they are at the lower edge of its visible part.
  placeControls(host, bar) {
    if (bar.offsetHeight > this.bar) {  // in a narrow window
      this.bar = bar.offsetHeight;
      this.fit(this.lines);
    }
    const { width, height } = this.whole, { alone } = this;
    const left = alone ? window.scrollX : 0, top = alone ? window.scrollY : 0;
    const shown = alone ? Math.min(width, this.svg.clientWidth || width, window.innerWidth) : width;
    const bottom = alone ? Math.min(top + window.innerHeight, height) : height;
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
