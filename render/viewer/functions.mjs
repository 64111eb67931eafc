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
  const { tree, measure, hidden, focus } = look, { own, total } = measure, { difference } = tree.about;
  const before = difference && tree.total(difference.before), after = difference && tree.total(difference.after);
  const rows = tree.frames.name.map((_, frame) =>
    ({ frame, own: tree.zero, total: tree.zero, before: tree.zero, after: tree.zero }));
  const open = new Int32Array(rows.length);  // how many open callers have this frame
  const path = [];
  const leave = (n) => { while (path.length && tree.end[path[path.length - 1]] <= n) --open[tree.frame[path.pop()]]; };
  const whole = focus >= 0 && look.flow === "callees" ? look.root.nodes : [0];
  for (const top of whole) {
    for (let n = Math.max(1, top); n < tree.end[top]; ++n) {
      leave(n);
      const frame = tree.frame[n];
      if (hidden.has(frame)) {
        if (path.length) rows[tree.frame[path[path.length - 1]]].own += own[n];
        continue;
      }
      const row = rows[frame];
      path.push(n);
      row.own += own[n];
      if (open[frame]++ > 0) continue;
      row.total += total[n];
      if (!difference) continue;
      row.before += before[n];
      row.after += after[n];
    }
    leave(tree.size);
  }
  const more = beyondOf(look);
  if (more) {
    for (const row of rows) {
      row.own += more.own[row.frame];
      row.total += more.total[row.frame];
      if (!difference) continue;
      row.before += more.before[row.frame];
      row.after += more.after[row.frame];
    }
  }
  return rows.filter((row) => row.total > 0 && !hidden.has(row.frame) && !tree.isMerged(row.frame));
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

// sort: a column, with "-" before it for the reverse order.
export function inOrder(rows, sort) {
  const back = sort.startsWith("-"), order = orders.get(back ? sort.slice(1) : sort) || byTotal;
  return rows.slice().sort(back ? (a, b) => order(b, a) : order);
}
