// SPDX-License-Identifier: BSD-2-Clause
// Which frames a pattern finds, and how much lies in them.
import { beyondOf, functionsOf } from "./functions.mjs";

// {hit: one byte per frame, wrong: true if the pattern is not a regular expression}, or null
// without a pattern. Merged boxes and the root have no names to be found.
export function findFrames(tree, pattern, sameCase) {
  if (!pattern) return null;
  const { name } = tree.frames, hit = new Uint8Array(name.length);
  let expression;
  try {
    expression = new RegExp(pattern, sameCase ? "" : "i");
  } catch (error) {
    return { hit, wrong: true };
  }
  for (let i = 0; i < name.length; ++i) hit[i] = !tree.isMerged(i) && expression.test(name[i]) ? 1 : 0;
  return { hit, wrong: false };
}

function isWithin(view, hit) {
  for (let around = view; around; around = around.parent) if (around.frame >= 0 && hit[around.frame]) return true;
  return false;
}

// How much of a view lies in frames with a hit. A hit below or above another one is not counted
// again.
export function covered(view, hit) {
  return isWithin(view, hit) ? view.total : view.look.flow === "callers" ? coveredAbove(view, hit) : coveredBelow(view, hit);
}

// The same for a function that is shown with its callers: what a hit calls counts too.
export function coveredAround({ look, nodes }, hit) {
  const within = nodesWithin(look, hit);
  return nodes.reduce((sum, node) =>
    sum + (within[node] ? look.measure.total[node] : coveredBelow({ look, nodes: [node] }, hit)), look.tree.zero);
}

function coveredBelow({ look, nodes }, hit) {
  const { frame, end, zero } = look.tree, { total } = look.measure, found = shownHits(look, hit);
  let sum = zero;
  for (const node of nodes)
    for (let n = node + 1, last = end[node]; n < last;) {
      if (found[frame[n]]) {
        sum += total[n];
        n = end[n];
      } else {
        ++n;
      }
    }
  return sum;
}

function coveredAbove({ look, nodes, from }, hit) {
  const within = nodesWithin(look, hit);
  let sum = look.tree.zero;
  for (let i = 0; i < nodes.length; ++i) if (within[nodes[i]]) sum += look.amount[from[i]];
  return sum;
}

// The hits without hidden functions.
function shownHits({ hidden }, hit) {
  if (!hidden.size) return hit;
  const found = hit.slice();
  for (const frame of hidden) found[frame] = 0;
  return found;
}

// For each node whether it or one of its callers is a hit.
function nodesWithin(look, hit) {
  const { parent, frame, size } = look.tree, within = new Uint8Array(size), found = shownHits(look, hit);
  for (let n = 1; n < size; ++n) within[n] = within[parent[n]] | found[frame[n]];
  return within;
}

// Returns a function of views: whether the view, or one that is reached through it, is a hit. So a
// hit that is too narrow to be seen can still be pointed out.
export function hasHit(look, hit) {
  if (look.flow === "callers") {
    const within = nodesWithin(look, hit);
    return (view) => view.nodes.some((n) => within[n]);
  }
  const { end, frame, size } = look.tree, { total } = look.measure, found = shownHits(look, hit);
  const before = new Int32Array(size + 1);  // how many hits there are before a node
  for (let n = 1; n < size; ++n) before[n + 1] = before[n] + (found[frame[n]] && total[n] > 0 ? 1 : 0);
  return (view) => view.nodes.some((n) => before[end[n]] > before[n]);
}

// Returns a function of views: what covered() says, for many of them.
export function coverage(look, hit) {
  const { tree, measure: { total }, amount, flow } = look, { end, frame, size } = tree;
  if (flow === "callers") {
    const within = nodesWithin(look, hit);
    return (view) => (isWithin(view, hit) ? view.total
      : view.nodes.reduce((sum, node, i) => (within[node] ? sum + amount[view.from[i]] : sum), tree.zero));
  }
  const before = new total.constructor(size + 1), found = shownHits(look, hit);  // in outermost hits before a node
  for (let n = 1, last = 0; n < size; ++n) {
    const isOutermost = n >= last && found[frame[n]];
    before[n + 1] = isOutermost ? before[n] + total[n] : before[n];
    if (isOutermost) last = end[n];
  }
  return (view) => (isWithin(view, hit) ? view.total
    : view.nodes.reduce((sum, node) => sum + before[end[node]] - before[node], tree.zero));
}

// {sum, sure}: how much of a look lies in hits, merged boxes included. Not sure: it may be more,
// because the picture does not say which hits call each other there, nor what functions without
// names do.
// inNodes: what covered() says of the root.
export function coveredInAll(look, hit, inNodes = covered(look.root, hit)) {
  const { tree } = look, more = beyondOf(look);
  if (!more) return { sum: inNodes, sure: !tree.merged };
  const rows = functionsOf(look).filter(({ frame }) => hit[frame]), larger = (a, b) => (a > b ? a : b);
  const own = rows.reduce((all, row) => all + row.own, tree.zero);
  const sum = rows.reduce((all, row) => larger(all, row.total), larger(own, inNodes));
  const told = rows.length < 2 || rows.every(({ frame }) => !more.total[frame]);
  return { sum, sure: told && !tree.about.functionsLeft };
}

// How much lies in merged boxes, whose names are unknown.
export function mergedIn(view) {
  const { tree } = view.look, hit = new Uint8Array(tree.frames.name.length);
  for (let i = 0; i < hit.length; ++i) hit[i] = tree.isMerged(i) ? 1 : 0;
  return covered(view, hit);
}
