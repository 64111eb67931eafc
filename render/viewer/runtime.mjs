// SPDX-License-Identifier: BSD-2-Clause
// What an interpreter does between two functions of its language: one box, or all of its functions.
// render/picture/folded_runtime.h does the same for readers without scripts.
import { Lines } from "./lines.mjs";
import { Tree } from "./tree.mjs";

export const hasRuntime = ({ about }) => Boolean(about.runtime);

export const firstRuntime = ({ about }) => (about.runtime?.shown ? "shown" : "folded");

export const isFolded = ({ state, base }) => (state.runtime || firstRuntime(base)) === "folded";

export const isNative = ({ about }, frame) => Boolean(about.runtime) && frame === about.runtime.native;

export const isFoldedBox = (app, { view }) => Boolean(view) && isNative(app.tree, view.frame) && isFolded(app);

const isScriptOf = ({ frames, about }) => {
  const is = new Uint8Array(frames.name.length);
  for (const frame of about.runtime.scripts) is[frame] = 1;
  return is;
};

// {caller, base}: the nodes of the folded tree as they are found, callers before callees; base[i]: the node
// that node i was, or -1 for a box [native]. Native functions stay where figures end in them, or in other
// native functions that they call.
function foldedNodes(tree) {
  const { parent, frame, size, own, holds } = tree, isScript = isScriptOf(tree);
  const script = new Int32Array(size);  // the last function of the language on the way; 0: none
  for (let n = 1; n < size; ++n) script[n] = isScript[frame[n]] ? n : script[parent[n]];
  const folds = (n) => script[n] === n && script[parent[n]] > 0 && script[parent[n]] !== parent[n];
  const stays = new Uint8Array(size);
  for (let n = size - 1; n > 0; --n) {
    stays[n] ||= holds ? holds[n] : own.some((column) => column[n]);  // 0 or 0n: no figure
    if ((stays[n] || script[n] === n) && !folds(n)) stays[parent[n]] = 1;
  }
  const place = new Int32Array(size), native = new Map(), caller = [-1], base = [0];
  const add = (above, node) => base.push(node) && caller.push(above) - 1;
  for (let n = 1; n < size; ++n) {
    let above = place[parent[n]];
    if (folds(n)) {
      const from = place[script[parent[n]]];
      if (!native.has(from)) native.set(from, add(from, -1));
      above = native.get(from);
    }
    place[n] = stays[n] || script[n] === n ? add(above, n) : above;
  }
  return { caller, base, place };
}

// The same depth-first: {at, up, frame}; at: by place in `caller`, where it is now.
function depthFirst({ caller, base }, tree) {
  const count = caller.length, last = new Int32Array(count).fill(-1), before = new Int32Array(count).fill(-1);
  for (let i = 1; i < count; ++i) {
    before[i] = last[caller[i]];
    last[caller[i]] = i;
  }
  const at = new Int32Array(count), depth = new Int32Array(count), frame = new Int32Array(count), up = new Int32Array(count - 1);
  const pending = [0];
  for (let next = 0, deepest = 0; pending.length; ++next) {
    const i = pending.pop();
    at[i] = next;
    depth[i] = i ? depth[caller[i]] + 1 : 0;
    frame[next] = base[i] < 0 ? tree.about.runtime.native : tree.frame[base[i]];
    if (next) up[next - 1] = deepest + 1 - depth[i];
    deepest = depth[i];
    for (let callee = last[i]; callee >= 0; callee = before[callee]) pending.push(callee);
  }
  return { at, up, frame };
}

// The places of a folded tree's nodes in the source.
function linesOf(made, tree, from) {
  const { lines } = tree, places = Array.from(lines.places.subarray(0, lines.frameFirst.at(-1)));
  const most = lines.most.map((column) => Array.from(column.subarray(0, places.length)));
  const nodeFirst = new Int32Array(made.size + 1);
  for (let n = 0; n < made.size; ++n) {
    nodeFirst[n] = places.length;
    const node = from[n], [begin, end] = node > 0 ? [lines.nodeFirst[node], lines.nodeFirst[node + 1]] : [0, 0];
    for (let i = begin; i < end; ++i) {
      places.push(lines.places[i]);
      most.forEach((column, type) => column.push(lines.most[type][i]));
    }
  }
  nodeFirst[made.size] = places.length;
  return new Lines({ ...lines, tree: made, nodeFirst, places: Int32Array.from(places), most: most.map((column) => Int32Array.from(column)) });
}

// The folded tree of a tree, with figures where it draws them; see modules.mjs for `base`, `to` and join(column).
export function treeOfRuntime(tree) {
  const nodes = (tree.foldedNodes ??= foldedNodes(tree)), { about, own, frames, merged, beyond, blame, places, kept, moreWords, size } = tree;
  const { at, up, frame } = (tree.foldedOrder ??= depthFirst(nodes, tree)), count = frame.length;
  const to = nodes.place.map((place) => at[place]), from = new Int32Array(count).fill(-1);
  nodes.base.forEach((node, i) => { from[at[i]] = node; });
  const join = (column) => {
    const out = new column.constructor(count);
    for (let n = 0; n < size; ++n) out[to[n]] += column[n];
    return out;
  };
  const marks = about.marks && { ...about.marks, list: about.marks.list.map((mark) => ({ ...mark, node: to[places?.[mark.node] ?? mark.node], leaf: mark.node })) };
  const made = new Tree({
    about: { ...about, marks }, frames, up, frame, merged: merged && from.map((node) => (node < 0 ? 0 : merged[node])),
    own: own.map((_, type) => join(tree.self(type))), beyond,
  });
  Object.assign(made, { base: tree, to, join, blame, moreWords, from: places });
  if (tree.lines) made.lines = linesOf(made, tree, from);
  return Object.assign(made, drawnOf(made, from, kept));
}

// As blamed() of blame.mjs has them.
function drawnOf({ size, parent, merged, frame, frames }, from, kept) {
  const is = new Uint8Array(size), shown = new Int32Array(size + 1), drawn = new Uint8Array(frames.name.length);
  for (let n = size - 1; n > 0; --n) {
    if (from[n] >= 0 && (!kept || kept[from[n]])) is[n] = 1;
    if (is[n]) is[parent[n]] = drawn[frame[n]] = 1;
  }
  for (let n = 0; n < size; ++n) shown[n + 1] = shown[n] + (is[n] || !n ? merged?.[n] || 1 : 0);
  return { kept: is, shown, drawn };
}

// A path of frames as it is when runs of native functions between two of the language are one box.
export function foldedPath(tree, path) {
  const isScript = isScriptOf(tree), out = [];
  let run = [], begun = false;
  for (const frame of path) {
    if (!isScript[frame]) {
      run.push(frame);
      continue;
    }
    out.push(...(begun && run.length ? [tree.about.runtime.native] : run), frame);
    run = [];
    begun = true;
  }
  return [...out, ...run];
}
