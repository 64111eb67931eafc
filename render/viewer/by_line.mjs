// SPDX-License-Identifier: BSD-2-Clause
// Boxes that are source lines: a function is a box for each line of it that calls or allocates.
import { Lines } from "./lines.mjs";
import { Tree } from "./tree.mjs";

// Whether each node has one line at most: the data do not say which of several lines leads where.
export function hasLineBoxes(tree) {
  const { lines, size } = tree;
  if (!lines) return false;
  const isOne = (n) => {
    const [first, end] = lines.ofNode(n);
    return end - first < 2;
  };
  if (tree.isByLine === undefined) {
    tree.isByLine = true;
    for (let n = 1; n < size && tree.isByLine; ++n) tree.isByLine = isOne(n);
  }
  return tree.isByLine;
}

// "parse reader.cc:37", as with_lines_in_names() of render/order/source_lines.h writes it.
function nameAt(name, { file, line }, place) {
  if (!place) return name;
  return `${name} ${file[place].replace(/.*\/(?=[^/])/, "")}${line[place] ? `:${line[place]}` : ""}`;
}

// {frames, frame, place}: the frames with their lines, by name, merged boxes last; by node, its frame; by frame, its place.
function linesIn({ frames, frame, lines, size, about }) {
  const keys = new Float64Array(size), known = new Map(), count = lines.file.length;
  for (let n = 1; n < size; ++n) {
    const [first, end] = lines.ofNode(n), place = first < end ? lines.places[first] : 0;
    keys[n] = frame[n] * count + place;
    if (!known.has(keys[n])) known.set(keys[n], { own: frame[n], place, name: nameAt(frames.name[frame[n]], lines, place) });
  }
  const last = ({ own }) => (frames.kind[own] === about.mergedKind ? 1 : 0), order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const list = [...known].sort(([a, one], [b, other]) => last(one) - last(other) || order(one.name, other.name) || a - b);
  const at = new Map(list.map(([key], i) => [key, i])), of = new Int32Array(size);
  for (let n = 1; n < size; ++n) of[n] = at.get(keys[n]);
  const column = (key) => list.map(([, { own }]) => frames[key][own]);
  return {
    frames: { name: list.map(([, { name }]) => name), module: column("module"), kind: Uint8Array.from(column("kind")), colour: Uint32Array.from(column("colour")) },
    native: list.findIndex(([, { own }]) => own === about.runtime?.native),
    frame: of, place: Int32Array.from(list, ([, { place }]) => place),
  };
}

// The tree of a tree's lines. It has the same nodes and the same figures; frames are functions at a line.
export function treeOfLines(tree) {
  const { frames, frame, place, native } = (tree.lineFrames ??= linesIn(tree)), { file, line } = tree.lines;
  const { about, own, merged, blame, places, kept, shown, size, zero, inOrderOfTime, parent, end, moreWords } = tree;
  const made = Object.assign(Object.create(Tree.prototype), {
    about: about.runtime ? { ...about, runtime: { ...about.runtime, native } } : about, frames, frame, own, merged, blame, places, kept, shown, size, zero, inOrderOfTime, parent, end, moreWords, ofLines: true,
    beyond: null, inner: null, drawn: null, select: null, base: tree, from: places,
  });
  made.renew();
  made.lines = new Lines({ tree: made, file, line, places: place, frameFirst: Int32Array.from({ length: place.length + 1 }, (_, i) => i), nodeFirst: null, most: [] });
  return made;
}
