// SPDX-License-Identifier: BSD-2-Clause
// What is looked at, and how: a tree of views over the profile's tree, made on demand. A view
// stands for all nodes with the same path of frames, after frames were hidden or the direction was
// changed. Nothing is copied, so a change costs only what it shows.
import { hashFrame, hashPath } from "./tree.mjs";

const hashStep = (above, own, nth) => (nth ? hashPath(hashPath(above, own), [nth, nth]) : hashPath(above, own));

// flow "callees": `nodes` are the nodes that it stands for.
// flow "callers": `nodes` are where the paths towards the root have come to. `from` has, at the
// same index, the node where each path began; the figures of these count.
class View {
  constructor(look, parent, frame, nodes, from = nodes) {
    this.look = look;
    this.parent = parent;
    this.frame = frame;  // -1: stands for everything
    this.nodes = nodes;
    this.from = from;
    this.depth = parent ? parent.depth + 1 : 0;
    this.total = look.sum(look.amount, from);
    this.made = this.known = null;
    this.nth = 0;  // in order of time: how many neighbours before it have the same frame
  }

  get callees() { return (this.made ??= this.look.expand(this)); }

  // What its callees leave.
  get own() { return this.callees.reduce((rest, callee) => rest - callee.total, this.total); }

  get hash() {
    const unknown = [];
    for (let view = this; view && !view.known; view = view.parent) unknown.push(view);
    for (const view of unknown.reverse()) {
      const own = view.frame < 0 ? [0, 0] : hashFrame(view.look.tree, view.frame);
      view.known = view.parent ? hashStep(view.parent.known, own, view.nth) : own;
    }
    return this.known;
  }

  // From the root to here.
  path() {
    const path = [];
    for (let view = this; view; view = view.parent) path.push(view);
    return path.reverse();
  }

  get frames() { return this.path().map((one) => one.frame).slice(1); }

  contains(other) {
    while (other && other.depth > this.depth) other = other.parent;
    return other === this;
  }
}

export class Look {
  // measure: see measure.mjs. hidden: set of frames that are left out; their callers call what they
  // call. focus: a frame that is the root, wherever it is called, or -1. order: "name" or "width".
  // flow: "callees" or "callers".
  constructor(tree, { measure, hidden = new Set(), focus = -1, order = "name", flow = "callees" }) {
    Object.assign(this, { tree, measure, hidden, focus, order, flow });
    // With callers first, a path counts the own figures of the function where it begins; with a
    // focus, its totals.
    this.amount = flow === "callers" && focus < 0 ? measure.own : measure.total;
    this.root = this.makeRoot();
  }

  sum(column, nodes) {
    if (nodes.length === 1) return column[nodes[0]];
    let sum = this.tree.zero;
    for (let i = 0; i < nodes.length; ++i) sum += column[nodes[i]];
    return sum;
  }

  makeRoot() {
    if (this.focus >= 0) return new View(this, null, this.focus, this.outermost(this.focus));
    if (this.flow === "callees") return new View(this, null, -1, [0]);
    const from = [], { own } = this.measure;
    for (let n = 0; n < this.tree.size; ++n) if (own[n] > 0) from.push(n);
    return new View(this, null, -1, from);
  }

  // Nodes of a frame that are not below another node of the same frame.
  outermost(frame) {
    const { tree } = this, found = [];
    for (let n = 1; n < tree.size; n = tree.frame[n] === frame ? tree.end[n] : n + 1)
      if (tree.frame[n] === frame) found.push(n);
    return found;
  }

  expand(view) {
    const made = this.flow === "callees" ? this.below(view) : this.above(view);
    const { mergedKind } = this.tree.about, { kind } = this.tree.frames;
    const last = (this.merges ??= kind.includes(mergedKind)) ? (a, b) => (kind[a.frame] === mergedKind) - (kind[b.frame] === mergedKind) : () => 0;
    if (this.order === "width")
      made.sort((a, b) => last(a, b) || (a.total > b.total ? -1 : a.total < b.total ? 1 : a.frame - b.frame));
    else if (!this.tree.inOrderOfTime)
      made.sort((a, b) => last(a, b) || a.frame - b.frame);
    if (this.tree.inOrderOfTime) this.number(made);
    return made;
  }

  number(views) {
    const seen = new Map();
    for (const view of views) {
      view.nth = seen.get(view.frame) ?? 0;
      seen.set(view.frame, view.nth + 1);
    }
  }

  // Callees of hidden frames are callees of their caller.
  below(view) {
    const { tree, hidden } = this, { end } = tree, { total } = this.measure, groups = new Map(), apart = [];
    const once = view.nodes.length === 1;
    for (const node of view.nodes) {
      const to = end[node];
      for (let n = node + 1; n < to;) {
        const frame = tree.frame[n];
        if (hidden.has(frame)) {
          ++n;
          continue;
        }
        if (total[n] > 0) {
          if (tree.inOrderOfTime && once) apart.push(new View(this, view, frame, [n]));
          else if (groups.has(frame)) groups.get(frame).push(n);
          else groups.set(frame, [n]);
        }
        n = end[n];
      }
    }
    return apart.concat(Array.from(groups, ([frame, nodes]) => new View(this, view, frame, nodes)));
  }

  // Lists of the right length, made in two passes: in a hundred thousand lists that grow, most of the memory would be
  // spare room.
  above(view) {
    const { tree, hidden } = this, { parent, frame } = tree, first = view.frame < 0, { nodes, from } = view;
    const slots = (this.slots ??= new Int32Array(tree.frames.name.length));  // by frame, its place in `found` + 1; else 0
    const next = new Int32Array(nodes.length), found = [], counts = [];
    for (let i = 0; i < nodes.length; ++i) {
      let node = first ? nodes[i] : parent[nodes[i]];
      while (node > 0 && hidden.has(frame[node])) node = parent[node];
      next[i] = node;
      if (node <= 0) continue;
      const slot = (slots[frame[node]] ||= found.push(frame[node]));
      counts[slot - 1] = (counts[slot - 1] ?? 0) + 1;
    }
    const made = counts.map((count) => [new Array(count), new Array(count)]);
    counts.fill(0);
    for (let i = 0; i < nodes.length; ++i) {
      if (next[i] <= 0) continue;
      const slot = slots[frame[next[i]]] - 1, at = counts[slot]++;
      made[slot][0][at] = next[i];
      made[slot][1][at] = from[i];
    }
    for (const one of found) slots[one] = 0;
    return made.map(([ends, begins], slot) => new View(this, view, found[slot], ends, begins));
  }

  // Figures of a view in a column: totals, or with callers first and without a focus own figures.
  figure(view, column) {
    const own = this.flow === "callers" && this.focus < 0;
    return this.sum(own ? this.tree.self(column) : this.tree.total(column), view.from);
  }

  frames(view) {
    if (this.flow === "callers") return view.nodes.length;
    let count = 0;
    for (const node of view.nodes) count += this.tree.frameCount(node);
    return count;
  }

  // The view whose path has these frames, except for those hidden here; the last one on the way if
  // there is no such view.
  follow(frames) {
    let view = this.root;
    for (const frame of frames) {
      if (this.hidden.has(frame)) continue;
      const next = view.callees.find((callee) => callee.frame === frame);
      if (!next) break;
      view = next;
    }
    return view;
  }

  // The view with a hash, or null. Mostly it is one of `known`, or has the frames of one: the view chosen or shown
  // before, perhaps with other figures.
  find(wanted, ...known) {
    const same = (view) => view && view.hash[0] === wanted[0] && view.hash[1] === wanted[1];
    for (const one of known) {
      const there = one.look === this ? one : this.follow(one.frames);
      if (same(there)) return there;
    }
    const found = same(this.root) ? this.root : this.flow === "callees" ? this.findBelow(wanted) : this.findAbove(same);
    return same(found) ? found : null;
  }

  // Compares the hashes of all paths, which costs less than making views of all of them.
  findBelow([wantedA, wantedB]) {
    const { tree, hidden, root } = this, { parent, frame } = tree, above = [0, 0];
    const a = new Int32Array(tree.size), b = new Int32Array(tree.size), seen = new Map();
    for (const top of root.nodes) {
      [a[top], b[top]] = root.hash;
      for (let n = top + 1; n < tree.end[top]; ++n) {
        above[0] = a[n] = a[parent[n]];
        above[1] = b[n] = b[parent[n]];
        if (hidden.has(frame[n])) continue;
        [a[n], b[n]] = hashStep(above, hashFrame(tree, frame[n]), tree.inOrderOfTime ? nthCall(tree, seen, n) : 0);
        if (a[n] === wantedA && b[n] === wantedB) return this.viewOf(n, top);
      }
    }
    return null;
  }

  // The view of a node below `top`, which is one of the root's nodes.
  viewOf(node, top) {
    const { tree, hidden } = this, path = [];
    for (let n = node; n !== top; n = tree.parent[n]) path.push(n);
    path.reverse();
    if (!tree.inOrderOfTime) return this.follow(path.map((n) => tree.frame[n]));
    return path.filter((n) => !hidden.has(tree.frame[n])).reduce((view, n) =>
      view && view.callees.find((callee) => callee.nodes.includes(n)), this.root);
  }

  // Level by level, up to `limit` views.
  findAbove(same, limit = 3e5) {
    for (let level = [this.root]; level.length && limit > 0;) {
      const next = [];
      for (const view of level) {
        if (same(view)) return view;
        if (--limit < 0) return null;
        for (const callee of view.callees) next.push(callee);
      }
      level = next;
    }
    return null;
  }
}

// How many calls of the same function its caller has made before. seen: the counts so far.
function nthCall(tree, seen, n) {
  const key = tree.parent[n] * tree.frames.name.length + tree.frame[n], nth = seen.get(key) ?? 0;
  seen.set(key, nth + 1);
  return nth;
}
