// SPDX-License-Identifier: BSD-2-Clause
// Whose figures are drawn: own figures of frames at the inner end of a stack that only allocate for
// others move to the first caller that does not, and frames without figures fall out. Totals stay.
// render/picture/blame.h does the same for readers without scripts.
import { fills } from "./colour.mjs";
import { commas } from "./format.mjs";
import { treeFor } from "./modules.mjs";
import { foldedPath, hasRuntime } from "./runtime.mjs";
import { baseOf } from "./tree.mjs";

// What a frame is (core/inner_frame.h) must be at most this to be passed over.
const passes = { caller: 1, user: 2, all: 0 };

export const blameWords = [["caller", "caller of the allocator"], ["user", "caller of containers too"], ["all", "all frames"]];

// Other kinds are processes, notes, losses and merged boxes.
const isCode = (kind) => kind < 5;

// For each node the one that has its own figures; null: each has its own.
function placesAt(tree, blame) {
  const most = passes[blame], { inner, frame, parent, frames, size } = tree;
  const passed = (n) => inner[frame[n]] > 0 && inner[frame[n]] <= most;
  const places = new Int32Array(size);
  let any = false;
  for (let n = 1; n < size; ++n) {
    const caller = parent[n], moves = passed(n) && caller > 0 && isCode(frames.kind[frame[caller]]);
    places[n] = moves ? places[caller] : n;
    any ||= moves;
  }
  return any ? places : null;
}

// {places, kept, shown, drawn}: kept[n]: whether node n is drawn; shown[n]: how many of the nodes before n
// are, merged frames counted one by one; drawn: by frame, whether it is drawn somewhere.
function blamed(tree, blame) {
  const places = blame === "all" || !tree.inner ? null : placesAt(tree, blame);
  if (!places) return { places, kept: null, shown: null, drawn: null };
  const { size, parent, merged, frame } = tree, kept = new Uint8Array(size);
  const drawn = new Uint8Array(tree.frames.name.length);
  for (let n = size - 1; n > 0; --n) {
    if (places[n] === n) kept[n] = 1;
    if (kept[n]) kept[parent[n]] = drawn[frame[n]] = 1;
  }
  const shown = new Int32Array(size + 1);
  for (let n = 0; n < size; ++n) shown[n + 1] = shown[n] + (kept[n] ? merged?.[n] || 1 : 0);
  return { places, kept, shown, drawn };
}

// Makes the figures of a tree those of a blame; whether that changed anything.
export function setBlame(tree, blame) {
  if (!tree.inner || tree.blame === blame) return false;
  const known = (tree.blames ??= new Map());
  if (!known.has(blame)) known.set(blame, blamed(tree, blame));
  Object.assign(tree, known.get(blame), { blame });
  tree.renew();
  return true;
}

// Sets the tree, its figures and the controls to an app's state, with a choice that it does not have yet;
// whether anything has changed. What is not drawn cannot be looked at.
export function showTree(app, choice = {}) {
  const { base, state, controls } = app, before = app.tree, wanted = { ...state, ...choice };
  const blame = wanted.blame || base.about.blame || "all", changed = setBlame(base, blame);
  app.tree = treeFor(base, wanted);
  controls.blame.value = blame;
  controls.boxes.value = app.tree.ofModules ? "modules" : app.tree.ofLines ? "lines" : "";
  if (app.tree !== before) {
    app.matches.pattern = app.listed = null;
    app.fill = fills(app.tree, (box) => app.matches.of(box));
  }
  const { focus, view } = state;
  if (focus >= 0 && app.tree.drawn && !app.tree.drawn[focus])
    Object.assign(state, { focus: -1, view: view === "around" ? "" : view, zoom: null });
  return changed || app.tree !== before;
}

// What changes in a state. The box that is zoomed to may be hidden then: its caller is instead.
export function withChoice(app, key, value) {
  const { view, hidden } = app.state, { flow, focus } = app.mainLook, { frames } = app.zoomed;
  if (key === "unknown") {
    const there = app.look(flow, focus, hidden, value).follow(frames);
    return { unknown: value, zoom: there.parent ? there.hash : null };
  }
  if (key === "boxes") return { boxes: value, zoom: null, focus: -1, hidden: [], view: view === "around" ? "" : view };
  const byLine = app.tree.ofLines;
  if (showTree(app, { [key]: value })) app.forget();
  if (key === "runtime" && (byLine || app.tree.ofLines)) return { runtime: value, zoom: null, focus: -1, hidden: [], view: view === "around" ? "" : view };
  const path = key === "runtime" && value === "folded" ? foldedPath(app.tree, frames) : frames;
  const there = app.look(flow, app.tree.drawn && focus >= 0 && !app.tree.drawn[focus] ? -1 : focus).follow(path);
  return { [key]: value, zoom: there.parent ? there.hash : null };
}

export function showRuntime(app, shown) {
  if (hasRuntime(app.base)) app.change(withChoice(app, "runtime", shown ? "shown" : "folded"));
}

// How many functions have a node that would be drawn, but is hidden.
function hiddenFunctions({ kept, parent, frame, size }, { raw }) {
  const wide = new Uint8Array(size), hidden = new Set();
  for (let n = size - 1; n > 0; --n) {
    if (raw[n] > 0) wide[n] = 1;
    if (!wide[n]) continue;
    wide[parent[n]] = 1;
    if (!kept[n]) hidden.add(frame[n]);
  }
  return hidden.size;
}

// "3 functions of the allocator hidden", or "".
export function hiddenWords(tree, measure) {
  const whole = baseOf(tree), { blame, kept } = whole;
  const functions = kept ? (measure.hiddenFunctions ??= hiddenFunctions(whole, measure.innermost)) : 0;
  if (!functions) return "";
  const of = blame === "user" ? "the allocator and of containers" : "the allocator";
  return `${commas(functions)} ${functions === 1 ? "function" : "functions"} of ${of} hidden`;
}
