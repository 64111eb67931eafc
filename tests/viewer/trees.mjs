// SPDX-License-Identifier: BSD-2-Clause
// Trees for tests, made from folded text.
import { Tree } from "../../render/viewer/tree.mjs";
import { firstMeasure, measuresOf } from "../../render/viewer/measure.mjs";
import { Look } from "../../render/viewer/view.mjs";

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const mergedKind = 8;

export const aboutOf = (rest = {}) => ({
  version: 1, types: [{ name: "live", unit: "bytes" }], shown: 0, big: false, merged: false, mergedKind, ...rest });

// The columns of a tree: stacks like "a;b 5" or, with several types, "a;b 5 1". "(+3)" is a merged box
// of three frames.
export function columnsOf(text, about) {
  const top = { callees: new Map(), own: about.types.map(() => 0n) };
  for (const line of text.trim().split("\n")) {
    const figures = line.trim().split(" ").slice(-about.types.length).map(BigInt);
    let node = top;
    for (const name of line.trim().split(" ").slice(0, -about.types.length).join(" ").split(";").filter(Boolean)) {
      if (!node.callees.has(name)) node.callees.set(name, { name, callees: new Map(), own: about.types.map(() => 0n) });
      node = node.callees.get(name);
    }
    figures.forEach((figure, i) => { node.own[i] += figure; });
  }
  const names = [], up = [], nodes = [];
  const walk = (node, depth) => {
    if (nodes.length) up.push(nodes.at(-1).depth + 1 - depth);
    nodes.push({ ...node, depth });
    for (const one of [...node.callees.values()].sort((a, b) => compare(a.name, b.name))) walk(one, depth + 1);
  };
  walk(top, 0);
  names.push(...new Set(nodes.slice(1).map(({ name }) => name.replace(/^\(\+\d+\)$/, "\uffff"))));
  names.sort();
  const merged = nodes.map(({ name = "" }) => Number(/^\(\+(\d+)\)$/.exec(name)?.[1] ?? 0));
  const count = (n) => (about.big ? n : Number(n));
  return {
    names: names.map((name) => (name === "\uffff" ? "" : name)),
    kinds: names.map((name) => (name === "\uffff" ? mergedKind : 0)),
    up, frame: nodes.map(({ name }, n) => (n ? names.indexOf(merged[n] ? "\uffff" : name) : 0)),
    own: about.types.map((_, i) => nodes.map(({ own }) => count(own[i]))), merged,
  };
}

export function treeOf(text, rest = {}) {
  const about = aboutOf({ ...rest, merged: /\(\+\d+\)/.test(text) }), { names, kinds, up, frame, own, merged } = columnsOf(text, about);
  const Column = about.big ? BigInt64Array : Float64Array;
  return new Tree({
    about, up: Int32Array.from(up), frame: Int32Array.from(frame),
    frames: { name: names, module: names.map(() => ""), kind: Uint8Array.from(kinds), colour: new Uint32Array(names.length) },
    own: own.map((column) => Column.from(column)), merged: about.merged ? Int32Array.from(merged) : null,
  });
}

// A view of a tree; `hidden` and `focus` are names.
export function lookOf(tree, { hidden = [], focus = null, value = null, ...rest } = {}) {
  const measures = measuresOf(tree), frame = (name) => tree.frames.name.indexOf(name);
  const measure = measures.find(({ id }) => id === value) ?? firstMeasure(tree, measures);
  return new Look(tree, { measure, hidden: new Set(hidden.map(frame)), focus: focus === null ? -1 : frame(focus), ...rest });
}

export const nameOf = (view) => (view.frame < 0 ? "all" : view.look.tree.frames.name[view.frame]);

// Everything reachable from a view: {"all;a;b": total}.
export function pathsOf(view) {
  const found = {}, pending = [[view, nameOf(view)]];
  while (pending.length) {
    const [next, path] = pending.pop();
    found[path] = next.total;
    for (const callee of next.callees) pending.push([callee, `${path};${nameOf(callee)}`]);
  }
  return found;
}

export function at(look, path) {
  return path.split(";").filter(Boolean).reduce((view, name) => view.callees.find((one) => nameOf(one) === name), look.root);
}
