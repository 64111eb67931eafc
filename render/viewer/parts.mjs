// SPDX-License-Identifier: BSD-2-Clause
// The parts of an App.
import { Breadcrumb } from "./breadcrumb.mjs";
import { hasLineBoxes } from "./by_line.mjs";
import { fills } from "./colour.mjs";
import { Menu, Tip, makeControls } from "./controls.mjs";
import { Divider } from "./divider.mjs";
import { figuresOf, titleOf } from "./figures.mjs";
import { Marks } from "./marks.mjs";
import { Matches } from "./matches.mjs";
import { Minimap } from "./minimap.mjs";
import { hasModules } from "./modules.mjs";
import { element, unusedPrefix } from "./page.mjs";
import { CopyByHand, Help, Table } from "./panels.mjs";
import { hasRuntime, isFolded } from "./runtime.mjs";
import { SpokenTree } from "./spoken.mjs";
import { Tabs } from "./tabs.mjs";
import { unnamedIn } from "./unnamed.mjs";

export function makeParts(app) {
  const { host, tree, stage } = app, leave = () => app.closePanels(), prefix = unusedPrefix();
  app.prefix = prefix;
  app.bar = element("div", { className: "mf-bar" });
  host.append(app.bar);
  Object.assign(app, { tabs: new Tabs(app), crumbs: new Breadcrumb(app), minimap: new Minimap(app) });
  app.controls = makeControls(app.bar, {
    measures: app.measures, inOrderOfTime: tree.inOrderOfTime, blame: tree.inner, unnamed: unnamedIn(tree).length > 0, runtime: hasRuntime(tree),
    boxes: [hasLineBoxes(tree) && "lines", hasModules(tree) && "modules"].filter(Boolean), tabs: app.tabs.element, map: app.minimap.element, crumbs: app.crumbs.element });
  Object.assign(app, { matches: new Matches(app), marks: new Marks(app) });
  app.fill = fills(tree, (box) => app.matches.of(box));
  const say = (box) => `${titleOf(box)}, ${figuresOf(box, app.zoomed).join(", ")}`;
  app.spoken = new SpokenTree(stage.scrolls || host, prefix, say);
  app.table = new Table(host, "Functions", leave, {
    choose: ({ frame }) => app.lookAround(frame),
    sort: (table) => app.change({ table }, { replace: true }),
  });
  app.table.element.classList.add("mf-pinned");
  app.divider = new Divider(host, stage, app.table.element, () => app.show());
  app.list = new Table(host, "Too narrow to be drawn", leave, {
    choose: ({ view }) => { app.list.hide(); app.zoom(view); },
  });
  Object.assign(app, { help: new Help(host, leave, Boolean(tree.lines)), byHand: new CopyByHand(host, leave) });
  Object.assign(app, { tip: new Tip(host), menu: new Menu(host) });
}

// Sets the controls to the state that is shown.
export function showControls(app) {
  const { state, controls, order, cut, measure } = app;
  controls.back.hidden = app.trail.length === 0;
  controls.reset.hidden = !state.zoom;
  controls.restore.hidden = !state.hidden.length && state.focus < 0;
  controls.measure.value = measure.id;
  controls.order.value = order;
  controls.cut.value = cut;
  controls.hits.value = state.hits;
  controls.unknown.setAttribute("aria-pressed", String(Boolean(state.unknown)));
  controls.runtime.setAttribute("aria-pressed", String(isFolded(app)));
  if (document.activeElement !== controls.search) controls.search.value = state.search;
  controls.sameCase.setAttribute("aria-pressed", String(state.sameCase));
  controls.table.setAttribute("aria-pressed", String(Boolean(state.table)));
  controls.table.hidden = state.view === "table";
  for (const part of [app.marks, app.tabs, app.crumbs, app.minimap]) part.showControls(controls);
}
