// SPDX-License-Identifier: BSD-2-Clause
// The profile in a picture: a tree of frames in columns, callers before callees.
//
// Node 0 is the root and stands for everything; node n's callees are the nodes in [n + 1, end[n])
// whose parent is n, in the order of the picture. Frames are in order of their names, so that their
// numbers compare as their names do. Figures are Numbers, or BigInts if sums exceed 2^53.

// Own figures at the nodes that are drawn with them; places: of each node's own (blame.mjs).
export function movedTo(places, own) {
  if (!places) return own;
  const out = own.slice();
  for (let n = places.length - 1; n > 0; --n) {
    const place = places[n];
    if (place === n) continue;
    out[place] += own[n];
    out[n] -= own[n];
  }
  return out;
}

export class Tree {
  // about: what the picture says of itself in JSON (see docs/pictures.md).
  // up[n]: how many levels above a callee of node n, node n + 1 is; 0: it is such a callee.
  // own[type][n]: figures of the nodes themselves. merged[n]: frames that one box stands for.
  // beyond: by frame, what functions have that is in no node but merged ones (render/picture/data_block.h).
  // inner: by frame, whether it may be passed over (blame.mjs); null: none may.
  constructor({ about, frames, up, frame, own, merged, beyond = null, inner = null }) {
    this.about = about;
    this.frames = frames;
    this.frame = frame;
    this.own = own;
    this.merged = merged;
    this.beyond = beyond;
    this.inner = inner;
    this.blame = "all";  // and what follows from it:
    this.places = this.kept = this.shown = this.drawn = null;
    this.lines = null;  // source lines (lines.mjs), if known
    this.select = null;  // select(state): sets the figures that a state shows; whether they changed
    this.holds = null;  // by node, whether it may have figures of its own, whatever is selected; null: those that have some
    this.base = null;  // the tree that it was made of (modules.mjs), with to[n]: where node n of that is; null: n
    this.size = frame.length;
    this.zero = about.big ? 0n : 0;
    this.inOrderOfTime = about.order === "time";
    this.place(up);
    this.renew();
  }

  // The figures have changed, or where they are drawn. `figures` counts how often.
  renew() {
    this.figures = (this.figures ?? 0) + 1;
    this.selves = this.own.map(() => null);
    this.totals = this.own.map(() => null);
    this.functionRows = this.marks = null;
  }

  place(up) {
    const { size } = this, parent = new Int32Array(size).fill(-1), end = new Int32Array(size).fill(size);
    let at = 0;  // the node before
    for (let n = 1; n < size; ++n) {
      for (let left = up[n - 1]; left > 0; --left) {
        end[at] = n;
        at = parent[at];
        if (at < 0) throw new Error("the tree leaves its root");
      }
      parent[n] = at;
      at = n;
    }
    Object.assign(this, { parent, end });
  }

  // Inclusive sums of a column of own figures.
  sumUp(own) {
    const total = own.slice(), { parent } = this;
    for (let n = this.size - 1; n > 0; --n) total[parent[n]] += total[n];
    return total;
  }

  // Own figures where they are drawn; `own` has them where they are.
  self(type) { return (this.selves[type] ??= movedTo(this.places, this.own[type])); }

  total(type) {
    return (this.totals[type] ??= this.sumUp(this.self(type)));
  }

  // How many frames are in the boxes from n to its end.
  frameCount(n) {
    if (this.shown) return this.shown[this.end[n]] - this.shown[n];
    if (!this.merged) return this.end[n] - n;
    let count = 0;
    for (let i = n; i < this.end[n]; ++i) count += this.merged[i] || 1;
    return count;
  }

  kind(frame) { return this.frames.kind[frame]; }
  isMerged(frame) { return this.frames.kind[frame] === this.about.mergedKind; }
}

// The tree of a picture, of which others are made (modules.mjs).
export function baseOf(tree) {
  while (tree.base) tree = tree.base;
  return tree;
}

// Where the figures of a node of the innermost tree are drawn.
export function drawnAt({ base, to, places }, node) {
  if (!base) return places?.[node] ?? node;
  const at = drawnAt(base, node);
  return to?.[at] ?? at;
}

// Two 32-bit halves of a hash: of a frame by what it is called, of a path by its frames. Equal in
// every picture of the same program, so that a link outlives the picture it was made for.
const spread = (h) => {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
};

export function hashText(text) {
  let a = 0x811c9dc5 | 0, b = 0x01000193 | 0;
  for (let i = 0; i < text.length; ++i) {
    const c = text.charCodeAt(i);
    a = Math.imul(a ^ c, 0x01000193);
    b = Math.imul(b + c, 0x9e3779b1) ^ (b >>> 15);
  }
  return [spread(a), spread(b ^ text.length)];
}

export const hashPath = ([a, b], [c, d]) => [
  spread(Math.imul(a, 31) + c + 0x7f4a7c15), spread(Math.imul(b, 37) + d + 0x165667b1)];

const half = (n) => (n >>> 0).toString(16).padStart(8, "0");
export const hashName = ([a, b]) => half(a) + half(b);

// The hash of a frame; what it is merged with or what line it is at does not matter.
export function hashFrame(tree, frame) {
  const known = (tree.frameHashes ??= []);
  return (known[frame] ??= hashText(
    [tree.frames.name[frame], tree.frames.module[frame], tree.frames.kind[frame]].join("\0")));
}
