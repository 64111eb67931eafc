// SPDX-License-Identifier: BSD-2-Clause
// The ways to draw a profile, as tabs.
import { functionsOf, inOrder } from "./functions.mjs";
import { element } from "./page.mjs";

const ways = [
  ["flame", "Flame", "Callees on their callers, the root at the bottom (1)"],
  ["icicle", "Icicle", "Callees below their callers, the root at the top (2)"],
  ["callers", "Callers first", "The last functions of stacks, and what calls them (3)"],
  ["around", "Sandwich", "One function with its callers and callees (4)"],
  ["table", "Table", "Functions and their figures (5)"],
];

export class Tabs {
  constructor(app) {
    this.app = app;
    this.buttons = ways.map(([id, text, title]) => {
      const made = element("button", { type: "button", role: "tab", title, id: `${app.prefix}-${id}` }, text);
      made.addEventListener("click", () => this.choose(id));
      return made;
    });
    this.element = element("div", { className: "mf-tabs", role: "tablist", "aria-label": "how the profile is drawn" }, ...this.buttons);
    this.element.addEventListener("keydown", (event) => this.key(event));
    // Time has one direction.
    if (app.tree.inOrderOfTime) this.buttons[2].hidden = true;
  }

  get shown() {
    const { app } = this, { view } = app.state;
    if (view === "table" || view === "callers") return view;
    return app.around ? "around" : app.upwards ? "flame" : "icicle";
  }

  showControls() {
    const { shown } = this;
    this.buttons.forEach((button, i) => {
      const selected = ways[i][0] === shown;
      button.setAttribute("aria-selected", String(selected));
      button.tabIndex = selected ? 0 : -1;
    });
  }

  key(event) {
    const there = this.buttons.filter((button) => !button.hidden), at = there.indexOf(document.activeElement), last = there.length - 1;
    const to = { ArrowLeft: at > 0 ? at - 1 : last, ArrowRight: at < last ? at + 1 : 0, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    there[to].focus();
    there[to].click();
  }

  // nth: from 1.
  chooseNth(nth) { if (!this.buttons[nth - 1].hidden) this.choose(ways[nth - 1][0]); }

  choose(id) {
    const { app } = this, { view, table } = app.state, alone = view === "table";
    if (id === this.shown) return;
    // The table that had a tab of its own does not stay beside what comes next.
    const left = { table: alone ? "" : table };
    if (id === "table") app.change({ view: "table", ...(app.around ? { focus: -1, zoom: null } : view === "callers" ? { zoom: null } : {}) });
    else if (id === "callers") app.change({ view: "callers", focus: -1, zoom: null, ...left });
    else if (id === "around") app.lookAround(this.functionToLookAt());
    else app.change({ view: "", root: id === "flame" ? "bottom" : "top", ...left,
                      ...(app.around ? { focus: -1, zoom: null } : view === "callers" ? { zoom: null } : {}) });
  }

  // The function that is zoomed to or has the keys; else the one with most of its own.
  functionToLookAt() {
    const { app } = this, near = [app.zoomed.frame, app.current.view?.frame ?? -1].find((frame) => app.isFunction(frame));
    if (near !== undefined) return near;
    return inOrder(functionsOf(app.mainLook), "own")[0]?.frame ?? -1;
  }
}
