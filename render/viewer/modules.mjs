// SPDX-License-Identifier: BSD-2-Clause
// Boxes that are modules: consecutive frames of one file are one box. And what else boxes may be.
import { hasLineBoxes, treeOfLines } from "./by_line.mjs";
import { firstRuntime, hasRuntime, treeOfRuntime } from "./runtime.mjs";
import { Tree } from "./tree.mjs";

// By kind of code that belongs to no file: user, kernel, inlined, jit, unknown.
const withoutFile = ["[file not known]", "[kernel]", "[file not known]", "[code made at run time]", "[file not known]"];
const codeKinds = withoutFile.length, inlined = 2;
const lastPart = (path) => path.replace(/.*\/(?=[^/])/, "");

// What a frame becomes. Processes, notes and merged boxes are what they are.
function moduleOf({ name, module, kind, colour }, frame) {
  const known = { name: name[frame], module: module[frame], kind: kind[frame], colour: colour[frame] };
  if (kind[frame] >= codeKinds) return known;
  const path = module[frame];
  return { ...known, name: path ? lastPart(path) : withoutFile[kind[frame]], kind: path ? 0 : kind[frame] };
}

const keyOf = ({ name, module, kind }) => `${name}\0${module}\0${kind}`;

// {list, of}: the frames by name, merged boxes last, and which of them each frame of a tree becomes.
function modulesIn({ frames, inner, about }) {
  const found = new Map(), made = frames.name.map((_, frame) => moduleOf(frames, frame));
  // The colour is that of a function, if possible not of the pale allocator.
  for (const plain of [true, false])
    made.forEach((one, frame) => { if (!(plain && inner?.[frame]) && !found.has(keyOf(one))) found.set(keyOf(one), one); });
  const isLast = ({ kind }) => (kind === about.mergedKind ? 1 : 0);
  const keys = [...found.keys()].sort((a, b) => isLast(found.get(a)) - isLast(found.get(b)) || (a < b ? -1 : 1));
  const place = new Map(keys.map((key, i) => [key, i]));
  return { list: keys.map((key) => found.get(key)), of: Int32Array.from(made, (one) => place.get(keyOf(one))) };
}

// The tree of a tree's modules, with figures where it draws them. `base` is that tree, to[n] the node in which its node n
// is, and join(column) adds up one of its columns.
function treeOfModules(tree) {
  const { list, of } = (tree.modules ??= modulesIn(tree)), { parent, size, places, frames, about } = tree;
  const to = new Int32Array(size), frame = [0], depth = [0], up = [];
  for (let n = 1; n < size; ++n) {
    const above = to[parent[n]], own = of[tree.frame[n]], kind = list[own].kind;
    const isIn = above > 0 && list[frame[above]].kind < codeKinds && kind < codeKinds &&
      (frame[above] === own || (frames.kind[tree.frame[n]] === inlined && !list[own].module));
    if (isIn) {
      to[n] = above;
      continue;
    }
    to[n] = frame.length;
    up.push(depth.at(-1) - depth[above]);
    frame.push(own);
    depth.push(depth[above] + 1);
  }
  const join = (column) => {
    const out = new column.constructor(frame.length);
    for (let n = 0; n < size; ++n) out[to[n]] += column[n];
    return out;
  };
  const merged = tree.merged && frame.map(() => 0);
  if (merged) tree.merged.forEach((count, n) => { merged[to[n]] = count; });
  const column = (key) => list.map((one) => one[key]);
  const made = new Tree({
    about: { ...about, marks: undefined }, up: Int32Array.from(up), frame: Int32Array.from(frame),
    frames: { name: column("name"), module: column("module"), kind: Uint8Array.from(column("kind")), colour: Uint32Array.from(column("colour")) },
    own: about.types.map((_, type) => join(tree.self(type))), merged: merged && Int32Array.from(merged),
  });
  return Object.assign(made, { base: tree, to, join, blame: tree.blame, moreWords: tree.moreWords, from: places, ofModules: true });
}

// Whether a picture knows files.
export const hasModules = ({ frames }) => frames.module.some(Boolean);

// A tree made of another one: it is made anew when figures are drawn elsewhere, and takes them over when they change.
function made(tree, key, make) {
  const known = tree[key];
  if (!known || known.from !== tree.places) {
    tree[key] = make(tree);
  } else if (known.made !== tree.figures) {
    known.own = known.join ? tree.own.map((_, type) => known.join(tree.self(type))) : tree.own;
    known.renew();
  }
  tree[key].made = tree.figures;
  return tree[key];
}

// The tree whose boxes are functions, lines or modules. Modules fold an interpreter themselves.
export function treeFor(tree, { boxes, runtime }) {
  if (boxes === "modules" && hasModules(tree)) return made(tree, "byModule", treeOfModules);
  const functions = hasRuntime(tree) && (runtime || firstRuntime(tree)) === "folded" ? made(tree, "folded", treeOfRuntime) : tree;
  return boxes === "lines" && hasLineBoxes(tree) ? made(functions, "byLine", treeOfLines) : functions;
}
