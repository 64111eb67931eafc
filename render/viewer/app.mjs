// One picture: what is looked at, and what happens when something is clicked or typed.
import { colours } from "./colour.mjs";
import { Menu, Tip, makeControls, tell } from "./controls.mjs";
import { figuresOf, foldedText, nameOf, nameOfView, stackText } from "./figures.mjs";
import { brief, percent } from "./format.mjs";
import { layOut, layOutAround } from "./layout.mjs";
import { firstMeasure, measuresOf } from "./measure.mjs";
import { element, copyText, unusedPrefix } from "./page.mjs";
import { CopyByHand, Help, Table } from "./panels.mjs";
import { covered, findFrames, mergedIn } from "./search.mjs";
import { SpokenTree, neighbour } from "./spoken.mjs";
import { initialState, readState, writeState } from "./state.mjs";
import { Look } from "./view.mjs";

const leastPx = 0.7;  // narrower boxes are drawn as one per caller

export class App {
  // host: an element that controls and panels go into. stage: where boxes are drawn. alone: the
  // picture has the window, its address and its keys for itself.
  constructor({ tree, stage, host, alone }) {
    Object.assign(this, { tree, stage, host, alone });
    this.measures = measuresOf(tree);
    this.first = firstMeasure(tree, this.measures);
    this.colour = colours(tree);
    this.trail = [];
    this.looks = new Map();
    this.state = initialState();
    this.makeParts();
    this.listen();
    if (alone && location.hash.length > 1) this.state = readState(location.hash.slice(1), tree);
    this.show();
  }

  makeParts() {
    const { host, tree } = this, leave = () => this.closePanels();
    this.bar = element("div", { className: "mf-bar" });
    host.append(this.bar);
    this.controls = makeControls(this.bar, { measures: this.measures, callersFirst: !tree.inOrderOfTime });
    const { measure, order } = this.controls;
    measure.value = this.first.id;
    order.hidden = tree.inOrderOfTime;
    const say = (box) => `${nameOf(box)}, ${figuresOf(box, this.zoomed).join(", ")}`;
    this.spoken = new SpokenTree(host, unusedPrefix(), say);
    this.table = new Table(host, { close: leave, choose: (frame) => this.lookAround(frame) });
    this.help = new Help(host, leave);
    this.byHand = new CopyByHand(host, leave);
    this.tip = new Tip(host);
    this.menu = new Menu(host);
  }

  // ---- from state to picture

  get measure() { return this.measures.find(({ id }) => id === this.state.value) || this.first; }
  get order() { return this.state.order || (this.tree.about.order === "width" ? "width" : "name"); }
  get upwards() { return (this.state.root || this.tree.about.root) === "bottom"; }

  // Looks are kept: to go back costs nothing.
  look(flow, focus) {
    const hidden = new Set(this.state.hidden), { measure, order } = this;
    const key = [measure.id, order, flow, focus, ...hidden].join();
    if (!this.looks.has(key)) {
      if (this.looks.size > 8) this.looks.delete(this.looks.keys().next().value);
      this.looks.set(key, new Look(this.tree, { measure, hidden, focus, order, flow }));
    }
    return this.looks.get(key);
  }

  layOut() {
    const { state, stage } = this, least = leastPx / Math.max(1, stage.width);
    const around = state.view === "around" && state.focus >= 0;
    const main = this.look(state.view === "callers" ? "callers" : "callees", state.focus);
    this.zoomed = (state.zoom && this.known(main, state.zoom)) || main.root;
    if (this.zoomed === main.root) state.zoom = null;
    if (!around) return { rows: layOut(this.zoomed, least), middle: this.zoomed.depth };
    return layOutAround(this.look("callers", state.focus).root, this.zoomed, least);
  }

  known(look, hash) {
    const last = this.zoomed;
    if (last && last.look === look && last.hash[0] === hash[0] && last.hash[1] === hash[1]) return last;
    return look.find(hash);
  }

  show() {
    const { state, controls } = this;
    const { rows, middle } = this.layOut();
    this.rows = rows;
    this.search();
    const upwards = this.upwards && state.view !== "around";
    this.current = rows[middle][0];
    this.stage.draw({
      rows, upwards, colour: this.colour, name: nameOf, current: null,
      hit: (box) => this.isHit(box),
    });
    this.placeControls();
    controls.back.hidden = this.trail.length === 0;
    controls.reset.hidden = !state.zoom;
    controls.restore.hidden = !state.hidden.length && state.focus < 0;
    controls.measure.value = this.measure.id;
    controls.direction.value = state.view === "callers" ? "callers" : "";
    controls.order.value = this.order;
    controls.search.value = state.search;
    controls.sameCase.setAttribute("aria-pressed", String(state.sameCase));
    if (!this.table.element.hidden) this.table.show(this.zoomed.look);
    this.spoken.show(rows, this.current);
    this.say(null);
  }

  isHit(box) { return Boolean(box.view && box.view.frame >= 0 && this.found?.hit[box.view.frame]); }

  say(box) {
    const { state, tree, zoomed } = this;
    if (box) return tell(this.controls.info, nameOf(box), figuresOf(box, zoomed));
    if (zoomed.parent || zoomed.frame >= 0)
      return tell(this.controls.info, nameOfView(zoomed), figuresOf({ view: zoomed }, zoomed));
    const hidden = state.hidden.map((frame) => tree.frames.name[frame]).join(", ");
    tell(this.controls.info, "", [hidden ? `hidden: ${hidden}` : "Click a box to zoom, right-click it for more. Press ? for keys."]);
  }

  // ---- search

  search() {
    const { state, controls, zoomed } = this;
    this.found = findFrames(this.tree, state.search, state.sameCase);
    this.hits = this.found ? this.rows.flat().filter((box) => this.isHit(box)) : [];
    this.hitNow = -1;
    controls.search.classList.toggle("wrong", Boolean(this.found?.wrong));
    controls.previous.hidden = controls.next.hidden = !this.hits.length;
    controls.matched.textContent = !this.found ? "" : this.found.wrong ? "not a regular expression" : this.matchText(zoomed);
  }

  matchText(zoomed) {
    const { measure } = this, { root } = zoomed.look, all = covered(root, this.found.hit);
    let text = `matched ${measure.human(all)}, ${percent(all, root.total)}`;
    if (zoomed !== root) {
      const here = covered(zoomed, this.found.hit);
      text += `; here ${measure.human(here)}, ${percent(here, zoomed.total)}`;
    }
    if (this.tree.merged) {
      const merged = mergedIn(root);
      if (merged > 0) text += `; ${brief(merged, measure.type)} in merged boxes, which have no names`;
    }
    return text;
  }

  step(by) {
    if (!this.hits.length) return;
    this.hitNow = (this.hitNow + by + this.hits.length + (this.hitNow < 0 && by < 0 ? 1 : 0)) % this.hits.length;
    this.goTo(this.hits[this.hitNow]);
    this.controls.matched.textContent = `${this.hitNow + 1} of ${this.hits.length}; ${this.matchText(this.zoomed)}`;
  }

  // ---- from one state to another

  // replace: instead of the step before, as it is more of the same.
  change(changes, { replace = false } = {}) {
    if (!replace) this.trail.push(this.state);
    this.state = { ...this.state, ...changes };
    this.record(replace ? "replaceState" : "pushState");
    this.show();
  }

  record(how) {
    if (!this.alone) return;
    try {
      history[how](null, "", "#" + writeState(this.state, this.tree));
    } catch (error) {
      // A page in a sandbox has no history; the picture works without.
    }
  }

  back() {
    if (!this.trail.length) return;
    this.state = this.trail.pop();
    this.record("pushState");
    this.show();
  }

  zoom(view) {
    const { state } = this, root = view.look.root;
    if (view.look.flow === "callers" && state.view === "around") return this.lookAround(view.frame);
    this.change({ zoom: view === root ? null : view.hash });
    return undefined;
  }

  choose(box) {
    if (box) this.zoom(box.view || box.caller);
  }

  lookAround(frame) { if (frame >= 0) this.change({ view: "around", focus: frame, zoom: null }); }
  hide(frame) { if (frame >= 0) this.change({ hidden: [...this.state.hidden, frame], zoom: null }); }
  focus(frame) { if (frame >= 0) this.change({ focus: frame, zoom: null, view: "" }); }
  restore() { this.change({ hidden: [], focus: -1, view: this.state.view === "around" ? "" : this.state.view, zoom: null }); }

  cycle(select, key) {
    const values = Array.from(select.options, (option) => option.value);
    if (values.length > 1) this.set(key, values[(values.indexOf(select.value) + 1) % values.length]);
  }

  set(key, value) {
    if (key === "view") this.change({ view: value, focus: -1, zoom: null });
    else this.change({ [key]: value });
  }

  openTable() {
    if (!this.table.element.hidden) return this.closePanels();
    this.closePanels();
    this.host.classList.add("mf-beside");
    this.table.show(this.zoomed.look);
    this.controls.table.setAttribute("aria-pressed", "true");
    this.show();
    return this.table.filter.focus();
  }

  closePanels() {
    for (const panel of [this.table, this.help, this.byHand]) panel.hide();
    this.controls.table.setAttribute("aria-pressed", "false");
    if (this.host.classList.contains("mf-beside")) {
      this.host.classList.remove("mf-beside");
      this.show();
    }
    this.spoken.element.focus({ preventScroll: true });
  }

  async copy(text) {
    if (await copyText(text, (refused) => this.byHand.show(refused)))
      tell(this.controls.info, "copied", [`${text.length} letters`]);
  }

  openMenu(box, x, y) {
    const view = box.view || box.caller, { frame } = view;
    const rows = [["Zoom", "Enter", () => this.choose(box)]];
    if (frame >= 0 && !this.tree.isMerged(frame))
      rows.push(["Callers and callees", "s", () => this.lookAround(frame)],
                ["Only below this function", "f", () => this.focus(frame)],
                ["Hide this function", "h", () => this.hide(frame)],
                ["Search for it", "", () => this.searchFor(literal(nameOfView(view)))],
                ["Copy name", "", () => this.copy(nameOfView(view))]);
    rows.push(["Copy stack", "y", () => this.copy(stackText(view))],
              ["Copy all below as folded text", "Y", () => this.copy(foldedText(view))]);
    this.tip.hide();
    this.menu.show(x, y, nameOf(box), rows, () => this.spoken.element.focus({ preventScroll: true }));
  }

  searchFor(text) { this.change({ search: text }, { replace: true }); }

  goTo(box) {
    this.current = box;
    this.stage.mark(box);
    this.stage.reveal(box);
    this.spoken.show(this.rows, box);
    this.say(box);
  }

  // ---- what is done with mouse, fingers and keys

  listen() {
    const { controls } = this, area = this.stage.element;
    area.addEventListener("click", (event) => this.choose(this.stage.boxAt(event)));
    area.addEventListener("contextmenu", (event) => {
      const box = this.stage.boxAt(event);
      if (!box) return;
      event.preventDefault();
      this.openMenu(box, event.clientX, event.clientY);
    });
    area.addEventListener("pointermove", (event) => this.point(event));
    area.addEventListener("pointerleave", () => this.point(null));
    this.listenToTouch(area);
    let timer = 0;
    controls.search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.searchFor(controls.search.value), 150);
    });
    controls.search.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Enter" && event.key !== "Escape") return;
      clearTimeout(timer);
      this.searchFor(event.key === "Enter" ? controls.search.value : "");
      if (event.key === "Escape") this.spoken.element.focus({ preventScroll: true });
      else this.step(1);
    });
    const clicks = {
      back: () => this.back(), reset: () => this.change({ zoom: null }), restore: () => this.restore(),
      sameCase: () => this.change({ sameCase: !this.state.sameCase }, { replace: true }),
      previous: () => this.step(-1), next: () => this.step(1), table: () => this.openTable(),
      help: () => this.help.show(), turn: () => this.turn(),
    };
    for (const [name, act] of Object.entries(clicks)) controls[name].addEventListener("click", act);
    controls.measure.addEventListener("change", () => this.set("value", controls.measure.value));
    controls.direction.addEventListener("change", () => this.set("view", controls.direction.value));
    controls.order.addEventListener("change", () => this.set("order", controls.order.value));
    this.spoken.element.addEventListener("focus", () => this.stage.mark(this.current));
    this.spoken.element.addEventListener("blur", () => this.stage.mark(null));
    (this.alone ? window : this.host).addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("resize", () => this.show());
    if (!this.alone) return;
    window.addEventListener("scroll", () => this.placeControls(), { passive: true });
    window.addEventListener("popstate", () => {
      this.state = readState(location.hash.slice(1), this.tree);
      this.show();
    });
  }

  listenToTouch(area) {
    let timer = 0;
    const stop = () => clearTimeout(timer);
    area.addEventListener("touchstart", (event) => {
      stop();
      const touch = event.touches[0], box = event.touches.length === 1 && this.stage.boxAt(touchPoint(event));
      if (box) timer = setTimeout(() => this.openMenu(box, touch.clientX, touch.clientY), 550);
    }, { passive: true });
    for (const end of ["touchend", "touchmove", "touchcancel"]) area.addEventListener(end, stop, { passive: true });
  }

  point(event) {
    const box = event && this.stage.boxAt(event);
    if (!event || !box) this.tip.hide();
    if (box && event.pointerType !== "touch") this.tip.show(event, nameOf(box), figuresOf(box, this.zoomed));
    if (box === this.pointed) return;
    this.pointed = box;
    this.say(box);
  }

  turn() { this.change({ root: this.upwards ? "top" : "bottom" }); }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input, textarea, select")) return;
    const onButton = event.target.closest?.("button") && (event.key === "Enter" || event.key === " ");
    const act = !onButton && this.action(event.key);
    if (!act) return;
    event.preventDefault();
    act();
  }

  action(key) {
    const { current, controls } = this;
    const view = current.view || current.caller;
    const next = neighbour(this.rows, current, key, this.upwards && this.state.view !== "around");
    if (next) return () => this.goTo(next);
    return {
      Enter: () => this.choose(current),
      " ": () => {
        const place = this.stage.place(current);
        this.openMenu(current, place.left + 20, place.top + place.height);
      },
      Escape: () => this.back(), 0: () => this.change({ zoom: null }),
      "/": () => { controls.search.focus(); controls.search.select(); },
      n: () => this.step(1), N: () => this.step(-1),
      c: () => controls.sameCase.click(), m: () => this.cycle(controls.measure, "value"),
      v: () => this.cycle(controls.direction, "view"), o: () => this.cycle(controls.order, "order"),
      s: () => this.lookAround(view.frame), h: () => this.hide(view.frame), f: () => this.focus(view.frame),
      r: () => this.restore(), i: () => this.turn(), t: () => this.openTable(),
      y: () => this.copy(stackText(view)), Y: () => this.copy(foldedText(view)), "?": () => this.help.show(),
    }[key];
  }

  // In a picture that is higher than the window, controls stay in sight.
  placeControls() { this.stage.placeControls?.(this.host, this.bar); }
}

const touchPoint = (event) => ({ clientX: event.touches[0].clientX, clientY: event.touches[0].clientY, target: event.target });
const literal = (text) => "^" + text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
