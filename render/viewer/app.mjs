// SPDX-License-Identifier: BSD-2-Clause
// One picture: its state, and how it comes from one state to another. Tests, and pages that embed
// pictures, find it as `element.app`: `rows` are the boxes (layout.mjs), `state` says what is looked
// at (state.mjs), `change()` changes that.
import { hiddenWords, showRuntime, showTree, withChoice } from "./blame.mjs";
import { tell } from "./controls.mjs";
import { figuresOf, foldedText, labelOf, nameOf, nameOfView, stackText, titleOf } from "./figures.mjs";
import { firstOrder, functionsOf, functionsOfViews, gapsOf } from "./functions.mjs";
import { listen } from "./input.mjs";
import { layOut, layOutAround, limitsOf } from "./layout.mjs";
import { menuOf } from "./menu.mjs";
import { firstMeasure, measuresOf } from "./measure.mjs";
import { copyText } from "./page.mjs";
import { makeParts, showControls } from "./parts.mjs";
import { isFoldedBox } from "./runtime.mjs";
import { initialState, readState, writeState } from "./state.mjs";
import { unnamedIn, unnamedWords } from "./unnamed.mjs";
import { Look } from "./view.mjs";

const keptLooks = 8;
const stateOf = {
  measure: "value", direction: "view", order: "order", cut: "cut", hits: "hits", blame: "blame", boxes: "boxes",
};

export class App {
  // host: has controls and panels. stage: draws. alone: the window, its address and keys are ours.
  constructor({ tree, stage, host, alone }) {
    Object.assign(this, { tree, base: tree, stage, host, alone });
    this.measures = measuresOf(tree);
    this.first = firstMeasure(tree, this.measures);
    this.trail = [];
    this.zooms = new WeakMap();  // {frames} of the views that states zoom to; looks are not kept for that
    this.looks = new Map();
    this.state = initialState();
    makeParts(this);
    listen(this);
    if (alone && location.hash.length > 1) this.state = readState(location.hash.slice(1), tree);
    this.show();
  }

  // ---- from state to picture

  get measure() { return this.measures.find(({ id }) => id === this.state.value) || this.first; }
  get order() { return this.state.order || (this.tree.about.order === "width" ? "width" : "name"); }
  get cut() { return this.state.cut || this.tree.about.elide || "right"; }
  get around() { return this.state.view === "around" && this.state.focus >= 0; }
  get upwards() { return (this.state.root || this.tree.about.root) === "bottom"; }
  get upright() { return this.upwards && !this.around; }  // as it is drawn

  // Looks are kept, so going back costs nothing.
  look(flow, focus, hidden = this.state.hidden, unknown = this.state.unknown) {
    const { measure, order } = this, key = [measure.id, order, flow, focus, unknown, ...hidden].join();
    if (!this.looks.has(key)) {
      if (this.looks.size >= keptLooks) this.looks.delete(this.looks.keys().next().value);
      this.looks.set(key, new Look(this.tree, { measure, hidden: new Set(unknown ? [...unnamedIn(this.tree), ...hidden] : hidden), focus, order, flow }));
    }
    return this.looks.get(key);
  }

  get mainLook() { return this.look(this.state.view === "callers" ? "callers" : "callees", this.state.focus); }

  layOut() {
    const { state, stage, mainLook } = this, limits = limitsOf(stage, this.tree.about), known = [this.zooms.get(state), this.zoomed].filter(Boolean);
    const wanted = state.zoom && mainLook.find(state.zoom, ...known);
    Object.assign(this, { missed: Boolean(state.zoom) && !wanted, zoomed: wanted || mainLook.root });
    if (this.zoomed === mainLook.root) state.zoom = null;
    this.zooms.set(state, { frames: this.zoomed.frames });
    return this.around ? layOutAround(this.look("callers", state.focus).root, this.zoomed, ...limits)
      : { rows: layOut(this.zoomed, ...limits), middle: this.zoomed.depth };
  }

  // The rows that the whole picture has, as far as it was drawn: rows keep their height while one zooms.
  levelsOf(rows) {
    const { mainLook, zoomed } = this;
    const most = this.levels?.look === mainLook && zoomed !== mainLook.root ? this.levels.most : 0;
    this.levels = { look: mainLook, most: Math.max(most, rows.length) };
    return this.levels.most;
  }

  show() {
    if ([this.base.select?.(this.state), showTree(this)].some(Boolean)) this.forget();
    this.placeTable();
    const { rows, middle } = this.layOut();
    this.rows = rows;
    this.middle = this.current = rows[middle][0];
    this.matches.update();
    this.tip.hide();
    this.showControls();  // before the boxes, which get the room that controls leave
    this.showTable();
    this.say(null);
    this.stage.leaveRoom?.(this.bar);
    this.stage.draw({
      rows, upwards: this.upright, cut: this.cut, fill: this.fill, label: labelOf, name: nameOf,
      current: null, hit: (box) => this.matches.of(box), layer: this.marks.layer(),
      levels: this.levelsOf(rows), middle: this.around ? middle : null,
    });
    this.minimap.update();
    this.placeControls();
    this.spoken.show(rows, this.current);
    this.pointed = null;
    this.say(null);  // now it is known whether the title is in sight
    this.shown?.();
  }

  forget() {  // the tree has other figures than before
    this.measures = measuresOf(this.tree);
    this.first = firstMeasure(this.tree, this.measures);
    this.looks.clear();
  }

  showControls() { showControls(this); }

  // What the boxes have room for depends on where the table is.
  placeTable() {
    const { view, table } = this.state, { host, stage } = this;
    host.classList.toggle("mf-narrow", stage.isNarrow);
    host.classList.toggle("mf-beside", Boolean(table) && view !== "table");
    host.classList.toggle("mf-table-only", view === "table");
    stage.beside = Boolean(table) && view !== "table";
  }

  showTable() {
    const { mainLook, state } = this, table = state.table || (state.view === "table" ? firstOrder(this.tree) : "");
    if (!table) return this.table.hide();
    const look = this.around ? this.look("callees", -1) : mainLook;
    if (!this.listed || this.listed.look !== look) this.listed = { look, rows: functionsOf(look) };
    return this.table.show(look, this.listed.rows, table, gapsOf(look));
  }

  placeControls() { this.stage.placeControls(this.host, this.bar); }  // where they are in sight

  // Shows the text below or above the boxes: about a box, or about the whole picture.
  say(box) {
    const { state, tree, zoomed, controls } = this, hidden = state.hidden.map((frame) => tree.frames.name[frame]).join(", ");
    if (state.view === "table") return tell(controls.info, "", ["Click a function to see its callers and callees."]);
    if (box) return tell(controls.info, nameOf(box), figuresOf(box, zoomed, { paths: true }));
    if (zoomed.parent || zoomed.frame >= 0)
      return tell(controls.info, nameOfView(zoomed), figuresOf({ view: zoomed }, zoomed, { paths: true }));
    return tell(controls.info, this.stage.caption ?? "", [this.missed ? "The box of this link is not in this picture." : hidden ? `hidden: ${hidden}` : "Click a box to zoom, right-click it for more. Press ? for keys.", hiddenWords(tree, this.measure), unnamedWords(tree, state.unknown)].filter(Boolean));
  }

  announce(text) { this.controls.live.textContent = text; }

  // ---- from one state to another

  // replace: the change replaces the step before, which it continues.
  // to: the view that it zooms to, if it is known.
  change(changes, { replace = false, to = null } = {}) {
    if (!replace) this.trail.push(this.state);
    this.state = { ...this.state, ...changes };
    if (to) this.zooms.set(this.state, to);
    this.show();  // which drops from the state what does not exist
    this.record(replace ? "replaceState" : "pushState");
    if (!replace) this.announce(this.spoken.say(this.middle));
  }

  record(how) {
    if (!this.alone) return;
    try {
      history[how](null, "", "#" + writeState(this.state, this.tree));
    } catch (error) {
      // A page in a sandbox has no history; the picture works without it.
    }
  }

  back() {
    if (!this.trail.length) return;
    this.state = this.trail.pop();
    this.show();
    this.record("pushState");
    this.announce(this.spoken.say(this.middle));
  }

  // The browser went to another address.
  cameBack() {
    const { trail, tree, base } = this;
    this.state = readState(location.hash.slice(1), base);
    if (trail.length && writeState(trail.at(-1), tree) === writeState(this.state, tree)) this.state = trail.pop();
    this.show();
  }

  closeOrBack() {
    this.tip.hide();
    if (this.state.table || this.state.view === "table" || this.panels().some((panel) => !panel.element.hidden)) this.closePanels();
    else this.back();
  }

  zoom(view) {
    if (view.look.flow === "callers" && this.around) this.lookAround(view.frame);
    else this.change({ zoom: view === view.look.root ? null : view.hash }, { to: view });
  }

  // A box of narrow ones zooms to their caller, where they are wider; at their caller it lists them.
  choose(box) {
    if (isFoldedBox(this, box)) showRuntime(this, true);
    else if (box.view) this.zoom(box.view);
    else if (box.caller === this.zoomed || !box.caller.parent) this.listNarrow(box);
    else this.zoom(box.caller);
  }

  listNarrow(box) {
    this.list.show(box.caller.look, functionsOfViews(box.narrow), "total");
    this.list.filter.focus();
  }

  isFunction(frame) { return frame >= 0 && !this.tree.isMerged(frame); }
  lookAround(frame) {
    const { view, table } = this.state;
    if (this.isFunction(frame)) this.change({ view: "around", focus: frame, zoom: null, table: view === "table" ? "" : table });
  }

  focus(frame) { if (this.isFunction(frame)) this.change({ focus: frame, zoom: null, view: "" }); }

  hide(frame) {
    if (!this.isFunction(frame)) return;
    const hidden = [...new Set([...this.state.hidden, frame])], { flow, focus } = this.mainLook;
    const there = this.look(flow, focus, hidden).follow(this.zoomed.frames);
    this.change({ hidden, zoom: there.parent ? there.hash : null });
  }

  restore() {
    const { view } = this.state;
    this.change({ hidden: [], focus: -1, view: view === "around" ? "" : view, zoom: null });
  }

  showUnnamed(shown) { if (unnamedIn(this.tree).length) this.change(withChoice(this, "unknown", shown ? "" : "hidden")); }
  searchFor(text) { this.change({ search: text }, { replace: true }); }
  turn() { this.change({ root: this.upwards ? "top" : "bottom" }); }
  turnAround() { if (!this.tree.inOrderOfTime) this.set("direction", ["callers", "around"].includes(this.state.view) ? "" : "callers"); }

  set(control, value) {
    const key = stateOf[control];
    if (key !== "view") this.change(key === "blame" || key === "boxes" ? withChoice(this, key, value) : { [key]: value });
    else if (value !== "around") this.change({ view: value, focus: -1, zoom: null });
  }

  cycle(control) {
    const select = this.controls[control], values = Array.from(select.options).filter((option) => !option.hidden).map((option) => option.value);
    if (values.length > 1) this.set(control, values[(values.indexOf(select.value) + 1) % values.length]);
  }

  // ---- panels, menu and pointer

  panels() { return [this.list, this.help, this.byHand]; }

  toggleTable() {
    const { view, table } = this.state;
    if (view === "table") this.change({ view: "", table: firstOrder(this.tree) });
    else this.change({ table: table ? "" : firstOrder(this.tree) }, { replace: true });
    if (this.state.table) this.table.filter.focus();
  }

  closePanels() {
    const open = this.panels().filter((panel) => !panel.element.hidden);
    for (const panel of open) panel.hide();
    if (!open.length && this.state.view === "table") this.tabs.choose(this.upwards ? "flame" : "icicle");
    else if (!open.length && this.state.table) this.toggleTable();
    this.takeFocus();
  }

  takeFocus() { this.spoken.element.focus({ preventScroll: true }); }

  copyStack(box) { return this.copy(stackText(box.view || box.caller)); }
  copyFolded(box) { return this.copy(foldedText(box.view || box.caller)); }

  async copy(text) {
    if (!await copyText(text, (refused) => this.byHand.show(refused))) return;
    const lines = text.split("\n").filter(Boolean).length;
    tell(this.controls.info, "copied", [lines === 1 ? text.trim() : `${lines} lines`]);
    this.announce("copied");
  }

  openMenuAt(box) {
    const { left, top, height } = this.stage.place(box);
    this.openMenu(box, Math.max(0, left) + 20, top + height);
  }

  openMenu(box, x, y) {
    this.tip.hide();
    this.menu.show(x, y, nameOf(box), menuOf(this, box), () => this.takeFocus());
  }

  goTo(box) {
    this.current = box;
    this.stage.mark(box);
    this.stage.reveal(box);
    this.spoken.show(this.rows, box);
    this.say(box);
  }

  point(event) {
    const box = event && this.stage.boxAt(event);
    if (!box) this.tip.hide();
    else if (event.pointerType !== "touch") this.tip.show(event, titleOf(box), figuresOf(box, this.zoomed));
    if (box === this.pointed) return;
    this.pointed = box;
    this.stage.element.classList.toggle("over", Boolean(box));
    this.say(box);
  }
}
