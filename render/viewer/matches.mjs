// SPDX-License-Identifier: BSD-2-Clause
// The search in a picture: what it finds, its text, and the way from match to match.
import { percent } from "./format.mjs";
import { coverage, coveredAround, coveredInAll, findFrames, hasHit, mergedIn } from "./search.mjs";

export class Matches {
  constructor(app) {
    this.app = app;
    this.found = null;
    this.inside = new WeakMap();   // by look, hasHit() of what was found
    this.amounts = new WeakMap();  // and coverage()
    this.boxes = [];  // drawn boxes that are a match or contain one
    this.known = new Map();  // by merged box, what of() says
  }

  update() {
    const { app } = this, { state, controls, rows } = app;
    if (this.pattern !== state.search || this.sameCase !== state.sameCase) {
      this.found = findFrames(app.tree, state.search, state.sameCase);
      this.inside = new WeakMap();
      this.amounts = new WeakMap();
    }
    this.pattern = state.search;
    this.sameCase = state.sameCase;
    this.known.clear();
    this.boxes = this.found && !this.found.wrong ? rows.flat().filter((box) => this.of(box)) : [];
    this.now = -1;
    this.steps = null;
    controls.search.classList.toggle("wrong", Boolean(this.found?.wrong));
    controls.search.setAttribute("aria-invalid", String(Boolean(this.found?.wrong)));
    controls.previous.hidden = controls.next.hidden = !this.boxes.length;
    controls.hits.parentElement.hidden = this.boxes.length < 2;
    this.tell(this.text());
  }

  // 1: the box is a match. 0.5: it stands for several, and one of them is.
  of(box) {
    if (!this.found) return 0;
    const { hit } = this.found;
    if (box.view) return box.view.frame >= 0 && hit[box.view.frame] ? 1 : 0;
    if (!this.known.has(box)) this.known.set(box, this.isInside(box, hit) ? 0.5 : 0);
    return this.known.get(box);
  }

  isInside({ caller: { look }, narrow }, hit) {
    if (!this.inside.has(look)) this.inside.set(look, hasHit(look, hit));
    return narrow.some(this.inside.get(look));
  }

  text() {
    const { found, app: { around, measure, zoomed, tree } } = this;
    if (!found) return "";
    if (found.wrong) return "not a regular expression";
    const { root } = zoomed.look, merged = tree.merged ? mergedIn(root) : 0;
    const { sum, sure } = around ? { sum: coveredAround(root, found.hit), sure: !merged } : coveredInAll(root.look, found.hit, this.amountOf(root));
    let text = `matched ${measure.human(sum)}${sure ? "" : " or more"}, ${percent(sum, root.total)}`;
    if (zoomed !== root) {
      const here = this.amountOf(zoomed);
      text += `; here ${measure.human(here)}, ${percent(here, zoomed.total)}`;
    }
    if (!sure && merged > 0) text += `; ${measure.brief(merged)} in merged boxes, which have no names`;
    return text;
  }

  tell(text) { this.app.controls.matched.textContent = this.app.controls.matched.title = text; }

  // How much of a box matches: a merged one may have a small match in it.
  sizeOf(box) {
    return box.view ? Number(box.view.total) : box.narrow.reduce((sum, view) => sum + Number(this.amountOf(view)), 0);
  }

  // How much of a view matches.
  amountOf(view) {
    const { look } = view;
    if (!this.amounts.has(look)) this.amounts.set(look, coverage(look, this.found.hit));
    return this.amounts.get(look)(view);
  }

  // In the order in which one steps through them.
  inSteps() {
    if (this.steps) return this.steps;
    if (this.app.state.hits === "place") return (this.steps = this.boxes);
    const sized = this.boxes.map((box) => [box, this.sizeOf(box)]);
    return (this.steps = sized.sort(([, a], [, b]) => b - a).map(([box]) => box));
  }

  step(by) {
    const { app } = this, boxes = this.inSteps();
    if (!boxes.length) return;
    this.now = this.now < 0 && by < 0 ? boxes.length - 1 : (this.now + by + boxes.length) % boxes.length;
    app.goTo(boxes[this.now]);
    this.tell(`${this.now + 1} of ${boxes.length}; ${this.text()}`);
  }
}
