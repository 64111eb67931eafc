// SPDX-License-Identifier: BSD-2-Clause
// The way from the root to the zoomed box, each step a button.
import { nameOfView } from "./figures.mjs";
import { commas } from "./format.mjs";
import { element } from "./page.mjs";

const firstSteps = 2, lastSteps = 3;  // steps in sight at both ends of a long way

export class Breadcrumb {
  constructor(app) {
    this.app = app;
    this.open = null;  // the view whose way is shown as a whole
    this.list = element("ol", {});
    this.element = element("nav", { className: "mf-crumbs", "aria-label": "way to the zoomed box" }, this.list);
  }

  showControls() {
    const { app } = this, { zoomed } = app, path = zoomed.path();
    // The root shall not move at the first zoom.
    const moves = app.stage.hasControlsBelow ? app.upright : !app.upright && !app.around;
    this.element.hidden = app.state.view === "table" || (!zoomed.parent && !moves);
    if (this.element.hidden) return;
    const left = this.open === zoomed ? 0 : path.length - firstSteps - lastSteps;
    const steps = path.map((view) => this.step(view, view === zoomed));
    if (left > 1) steps.splice(firstSteps, left, this.more(left, zoomed));
    this.list.replaceChildren(...steps.map((one) => element("li", {}, one)));
  }

  step(view, isLast) {
    const name = nameOfView(view);
    if (isLast) return element("span", { title: name, "aria-current": "location" }, name);
    const made = element("button", { type: "button", title: name }, name);
    made.addEventListener("click", () => this.app.zoom(view));
    return made;
  }

  more(count, zoomed) {
    const made = element("button", { type: "button", className: "mf-more-crumbs", "aria-expanded": "false", title: "Show all steps", "aria-label": `${commas(count)} more steps` }, "…");
    made.addEventListener("click", () => {
      this.open = zoomed;
      this.showControls();
      this.app.placeControls();
      this.list.children[firstSteps].firstChild.focus();
    });
    return made;
  }
}
