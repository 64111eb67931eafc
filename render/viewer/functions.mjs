// SPDX-License-Identifier: BSD-2-Clause
// Figures by function, for the table and for text about a whole function.
import { commas } from "./format.mjs";

// What functions have beyond the nodes, by frame, in the measure of a look: {own, total, before,
// after, left}; `left` is the sum of functions in no list. null if only the nodes are known: below
// a focus, if functions are hidden, and for figures too large to be added up.
export function beyondOf({ tree, measure, hidden, focus }) {
  const { beyond, about } = tree, at = beyond && about.functionMeasures.indexOf(measure.id);
  if (!beyond || at < 0 || hidden.size || focus >= 0) return null;
  const group = Math.max(0, about.functionBlames?.indexOf(tree.blame) ?? 0);
  const first = group * (2 * about.functionMeasures.length + (about.difference ? 2 : 0));
  const [before, after] = beyond.slice(first + 2 * about.functionMeasures.length);
  const own = beyond[first + 2 * at], total = beyond[first + 2 * at + 1];
  return { own, total, before, after, left: own[own.length - 1] };
}

// What the rows of a look leave out, in words; "" if they cover all frames and all functions.
export function gapsOf(look) {
  const { tree, measure } = look, more = beyondOf(look), count = tree.about.functionsLeft;
  if (!tree.merged) return "";
  if (!more) return "only the boxes in this picture; merged frames have no names";
  return count ? `${commas(count)} smaller functions are not listed; their self is ${measure.human(more.left)}` : "";
}

// [{frame, own, total, before, after}]: the figures of functions that are not hidden, below the
// root of the look. The figures of a hidden function are its caller's own. A function that calls
// itself counts once in its totals. `before` and `after` are those of a difference.
export function functionsOf(look) {
  const { tree, hidden } = look, { difference } = tree.about, { own, total, before, after } = sumsOf(look), more = beyondOf(look), rows = [];
  for (let frame = 0; frame < own.length; ++frame) {
    const row = { frame, own: own[frame], total: total[frame], before: tree.zero, after: tree.zero };
    if (more) {
      row.own += more.own[frame];
      row.total += more.total[frame];
    }
    if (row.total <= 0 || hidden.has(frame) || tree.isMerged(frame)) continue;
    if (difference) {
      row.before = before[frame] + (more ? more.before[frame] : tree.zero);
      row.after = after[frame] + (more ? more.after[frame] : tree.zero);
    }
    rows.push(row);
  }
  return rows;
}

// The figures of the nodes by frame, in columns.
function sumsOf(look) {
  const { tree, measure, hidden, focus } = look, { frame: frames, end, size } = tree, { own, total } = measure, { difference, big } = tree.about;
  const count = tree.frames.name.length, Column = big ? BigInt64Array : Float64Array;
  const sums = { own: new Column(count), total: new Column(count), before: new Column(count), after: new Column(count) };
  const before = difference && tree.total(difference.before), after = difference && tree.total(difference.after);
  const open = new Int32Array(count);  // how many open callers have this frame
  const path = new Int32Array(size);   // the open callers, the innermost last
  let depth = 0;
  for (const top of focus >= 0 && look.flow === "callees" ? look.root.nodes : [0]) {
    for (let n = Math.max(1, top); n < end[top]; ++n) {
      while (depth && end[path[depth - 1]] <= n) --open[frames[path[--depth]]];
      const frame = frames[n];
      if (hidden.has(frame)) {
        if (depth) sums.own[frames[path[depth - 1]]] += own[n];
        continue;
      }
      path[depth++] = n;
      sums.own[frame] += own[n];
      if (open[frame]++ > 0) continue;
      sums.total[frame] += total[n];
      if (!difference) continue;
      sums.before[frame] += before[n];
      sums.after[frame] += after[n];
    }
    while (depth) --open[frames[path[--depth]]];
  }
  return sums;
}

// {own, total} of a function in all frames of the profile, with none hidden.
export function wholeOf({ tree, measure }, frame) {
  const known = (tree.functionRows ??= new Map());
  if (!known.has(measure.id))
    known.set(measure.id, functionsOf({ tree, measure, hidden: new Set(), focus: -1, flow: "callees" }));
  return known.get(measure.id).find((row) => row.frame === frame) ?? { frame, own: tree.zero, total: tree.zero };
}

// The same for views that share a box.
export const functionsOfViews = (views) => views.map((view) => {
  const { difference } = view.look.tree.about, figure = (column) => view.look.figure(view, column);
  return { frame: view.frame, view, own: view.own, total: view.total,
           ...(difference ? { before: figure(difference.before), after: figure(difference.after) } : {}) };
});

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// The orders of rows by a column: the largest figures come first.
const byTotal = (a, b) => compare(b.total, a.total) || a.frame - b.frame;
const orders = new Map([
  ["name", (a, b) => a.frame - b.frame],
  ["own", (a, b) => compare(b.own, a.own) || a.frame - b.frame],
  ["change", (a, b) => compare(b.after - b.before, a.after - a.before) || a.frame - b.frame],
]);

// The order of a table at first: the largest own figures, in a difference the largest changes.
export const firstOrder = ({ about }) => (about.difference ? "change" : "own");

// sort: a column, with "-" before it for the reverse order.
export function inOrder(rows, sort) {
  const back = sort.startsWith("-"), order = orders.get(back ? sort.slice(1) : sort) || byTotal;
  return rows.slice().sort(back ? (a, b) => order(b, a) : order);
}
