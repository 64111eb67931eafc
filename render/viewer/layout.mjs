// SPDX-License-Identifier: BSD-2-Clause
// Where boxes lie. Everything is in shares of the zoomed width, [0, 1]; the stages turn these into
// pixels.

// layOut's limits, from the stage's width and what the picture says: px, or percent of the zoomed
// box.
export const limitsOf = ({ width, most }, { least = 0.7, leastPercent = 0 }) =>
  [Math.max(least / Math.max(1, width), leastPercent / 100), most];

export const leastWithTable = 700;  // px: in narrower windows a table lies over the boxes

// Few rows are a little higher, so that they use the room.
export const rowHeightIn = (usual, rows, room) => Math.max(usual, Math.min(Math.round(usual * 1.4), Math.floor(room / Math.max(1, rows))));

// Room above rows whose middle is at `middle`, so that it comes to the middle of the room; `rest` is what rows leave.
export const aboveMiddle = (rest, room, middle) => Math.max(0, Math.min(rest || Infinity, room / 2 - middle));

// A box: {view, x, width, row, role}; role is "caller" for callers of the zoomed box. Views that
// are too narrow become one box per caller: {view: null, caller, narrow, total, frames, x, width,
// row}, where `narrow` lists its views; so the boxes of a caller and its own share fill it.
//
// zoomed: a View. least: the smallest share that gets a box of its own. most: at most this many
// views have one; beyond it the narrowest have none, and among equally wide ones the innermost.
// Returns rows[depth] of boxes from left to right.
export function layOut(zoomed, least, most = Infinity) {
  const rows = place(zoomed, (width) => width >= least);
  const widths = rows.slice(zoomed.depth + 1).flat().filter((box) => box.view).map((box) => box.width);
  if (widths.length <= most) return rows;
  const limit = widths.sort((a, b) => b - a)[most];
  let ties = most - widths.indexOf(limit);
  return place(zoomed, (width) => width > limit || (width === limit && ties-- > 0));
}

function place(zoomed, fits) {
  const rows = zoomed.path().map((view, row) =>
    [{ view, x: 0, width: 1, row, role: view === zoomed ? "" : "caller" }]);
  const whole = Number(zoomed.total) || 1;
  for (let row = zoomed.depth; rows[row]; ++row) {
    const next = [];
    for (const box of rows[row]) if (box.view) placeCallees(box, row + 1, whole, fits, next);
    if (next.length) rows.push(next);
  }
  return rows;
}

function placeCallees({ view, x }, row, whole, fits, into) {
  const narrow = [];
  let at = x;
  for (const callee of view.callees) {
    const width = Number(callee.total) / whole;
    if (!fits(width)) {
      narrow.push(callee);
      continue;
    }
    into.push({ view: callee, x: at, width, row, role: "" });
    at += width;
  }
  if (!narrow.length) return;
  let total = view.look.tree.zero, frames = 0;
  for (const one of narrow) {
    total += one.total;
    frames += view.look.frames(one);
  }
  into.push({ view: null, caller: view, narrow, total, frames, x: at, width: Number(total) / whole, row, role: "" });
}

// Rows of a function with its callers above and what it calls below: its own row is number
// `middle`.
export function layOutAround(callers, callees, least, most = Infinity) {
  const above = layOut(callers, least, most / 2), below = layOut(callees, least, most / 2);
  const rows = above.slice(1).reverse().concat(below);
  rows.forEach((boxes, row) => boxes.forEach((box) => { box.row = row; }));
  return { rows, middle: above.length - 1 };
}
