// SPDX-License-Identifier: BSD-2-Clause
import assert from "node:assert/strict";
import test from "node:test";
import { hiddenWords, setBlame, showTree, withChoice } from "../../render/viewer/blame.mjs";
import { functionsOf } from "../../render/viewer/functions.mjs";
import { layerOf } from "../../render/viewer/marks.mjs";
import { measuresOf } from "../../render/viewer/measure.mjs";
import { treeFor } from "../../render/viewer/modules.mjs";
import { hasHit } from "../../render/viewer/search.mjs";
import { initialState, readState, writeState } from "../../render/viewer/state.mjs";
import { Tree, movedTo } from "../../render/viewer/tree.mjs";
import { aboutOf, at, lookOf, pathsOf, treeOf } from "./trees.mjs";

const stacks = `
main;parse;operator new;malloc 7
main;parse 30
main;parse;std::grow;operator new;malloc 5
main;malloc;handler;log;malloc 11
main;malloc 2
malloc;sysmalloc 4
`;

// What core/inner_frame.h would say of these names.
export function blamable(text, rest) {
  const tree = treeOf(text, rest), allocators = new Set(["malloc", "sysmalloc", "operator new"]);
  tree.inner = Uint8Array.from(tree.frames.name, (name) => (allocators.has(name) ? 1 : name.startsWith("std::") ? 2 : 0));
  return tree;
}

const whole = (tree) => measuresOf(tree)[0].total[0];

test("figures belong to the allocator's caller, and totals stay", () => {
  const tree = blamable(stacks);
  assert.equal(whole(tree), 59);
  assert.ok(setBlame(tree, "caller"));
  assert.ok(!setBlame(tree, "caller"));
  assert.equal(whole(tree), 59);
  const look = lookOf(tree);
  assert.deepEqual(pathsOf(look.root), {
    "all": 59, "all;main": 55, "all;main;malloc": 11, "all;main;malloc;handler": 11, "all;main;malloc;handler;log": 11,
    "all;main;parse": 42, "all;main;parse;std::grow": 5, "all;malloc": 4,
  });
  assert.deepEqual([at(look, "main").own, at(look, "main;parse").own, at(look, "main;malloc").own], [2, 37, 0]);
  assert.equal(hiddenWords(tree, measuresOf(tree)[0]), "3 functions of the allocator hidden");
});

test("the second step passes over containers, too", () => {
  const tree = blamable(stacks);
  setBlame(tree, "user");
  assert.equal(whole(tree), 59);
  assert.equal(at(lookOf(tree), "main;parse").own, 42);
  assert.equal(hiddenWords(tree, measuresOf(tree)[0]), "4 functions of the allocator and of containers hidden");
  setBlame(tree, "all");
  assert.equal(hiddenWords(tree, measuresOf(tree)[0]), "");
  assert.deepEqual(pathsOf(lookOf(tree).root), pathsOf(lookOf(treeOf(stacks)).root));
});

test("callers first, the table and search follow", () => {
  const tree = blamable(stacks);
  setBlame(tree, "caller");
  const above = pathsOf(lookOf(tree, { flow: "callers" }).root);
  assert.equal(above.all, 59);
  assert.equal(above["all;parse"], 37);
  assert.equal(above["all;log;handler;malloc;main"], 11);
  assert.equal(above["all;operator new"], undefined);
  const rows = new Map(functionsOf(lookOf(tree)).map((row) => [tree.frames.name[row.frame], [row.own, row.total]]));
  assert.deepEqual([rows.get("parse"), rows.get("malloc"), rows.has("sysmalloc")], [[37, 42], [4, 15], false]);
  const hit = Uint8Array.from(tree.frames.name, (name) => (name === "sysmalloc" ? 1 : 0)), look = lookOf(tree);
  assert.ok(!hasHit(look, hit)(look.root));
});

test("a stack of the allocator alone keeps its outermost function, also below a process", () => {
  const tree = blamable("app;malloc;sysmalloc 4\napp;f;malloc 1"), process = 5;
  tree.frames.kind[tree.frames.name.indexOf("app")] = process;
  setBlame(tree, "user");
  assert.deepEqual(pathsOf(lookOf(tree).root), { "all": 5, "all;app": 5, "all;app;f": 1, "all;app;malloc": 4 });
});

test("figures with signs and of both states keep their widths", () => {
  const tree = blamable("f;malloc 10\nf;operator new -4");
  assert.equal(whole(tree), 10);
  setBlame(tree, "caller");
  assert.equal(whole(tree), 10);
  assert.equal(tree.total(0)[0], 6);
  const types = [{ name: "before", unit: "bytes" }, { name: "after", unit: "bytes" }];
  const changed = blamable("f;malloc 10 0\nf;operator new 0 4", { types, difference: { before: 0, after: 1 } });
  const larger = () => measuresOf(changed).find(({ id }) => id === "max").total[0];
  assert.equal(larger(), 14);
  setBlame(changed, "caller");
  assert.equal(larger(), 14);
  const big = blamable("f;malloc 9007199254740993", { big: true });
  setBlame(big, "caller");
  assert.equal(at(lookOf(big), "f").own, 9007199254740993n);
});

test("merged boxes stay where they are, and their frames are counted", () => {
  const tree = blamable("f;(+3) 5\nf;malloc;(+2) 1\nf;g;malloc 1");
  const all = tree.frameCount(0);
  assert.equal(all, 10);
  setBlame(tree, "caller");
  assert.equal(tree.frameCount(0), 9);
  assert.equal(at(lookOf(tree), "f").own, 0);
  assert.equal(at(lookOf(tree), "f;g").own, 1);
  assert.equal(whole(tree), 7);
});

// An app as far as these functions know it.
function appOf(tree, state) {
  const app = { tree, base: tree, state: { ...initialState(), ...state }, controls: { blame: {}, boxes: {} }, matches: {} };
  app.look = (flow, focus) => lookOf(app.tree, { flow, focus: focus >= 0 ? tree.frames.name[focus] : null });
  app.forget = () => {};
  return Object.assign(app, { mainLook: { flow: "callees", focus: -1 } });
}

test("what is zoomed to survives, and a hidden box gives way to its caller", () => {
  const tree = blamable(stacks, { blame: "caller" }), app = appOf(tree, {});
  assert.ok(showTree(app));
  assert.equal(app.controls.blame.value, "caller");
  app.zoomed = at(lookOf(tree), "main;parse");
  const { hash } = app.zoomed;
  assert.deepEqual(withChoice(app, "blame", "all"), { blame: "all", zoom: hash });
  assert.equal(lookOf(tree).find(hash).total, 42);
  app.zoomed = at(lookOf(tree), "main;parse;operator new;malloc");
  assert.deepEqual(withChoice(app, "blame", "caller"), { blame: "caller", zoom: hash });
});

test("a function that is not drawn cannot be looked at", () => {
  const tree = blamable(stacks), app = appOf(tree, { blame: "caller", focus: tree.frames.name.indexOf("sysmalloc"), view: "around" });
  showTree(app);
  assert.deepEqual([app.state.focus, app.state.view], [-1, ""]);
  const kept = appOf(tree, { blame: "user", focus: tree.frames.name.indexOf("malloc") });
  showTree(kept);
  assert.notEqual(kept.state.focus, -1);
});

test("a leak is pointed out where its figures are drawn, as wide as it is", () => {
  const marks = { colour: "#000", edge: "#fff", list: [{ node: 4, text: "leaks", label: "parse", flag: "leak" }] };
  const tree = blamable("f;g;operator new;malloc 6\nf;g;zalloc 2\nf;h 2", { marks });
  const view = (path) => at(lookOf(tree), path), box = (path, row) => ({ view: view(path), x: 0, row, width: Number(view(path).total) / 10, role: "" });
  const rows = () => [[box("", 0)], [box("f", 1)], [box("f;g", 2)]];
  setBlame(tree, "caller");
  const { stripes, flags } = layerOf(tree, rows(), lookOf(tree).root);
  assert.deepEqual(flags.map((flag) => [flag.box.row, flag.text]), [[2, "leak"]]);
  assert.deepEqual(stripes.map(({ width }) => width), [0.6, 0.6]);
});

// With files: "libc.so.6" has the allocator, "app" all others.
function withFiles(text, rest) {
  const tree = blamable(text, rest);
  tree.frames.module = tree.frames.name.map((_, frame) => (tree.inner[frame] === 1 ? "/lib/libc.so.6" : "/bin/app"));
  return tree;
}

test("boxes that are modules: consecutive frames of one file", () => {
  const tree = withFiles("main;f;malloc;sysmalloc 5\nmain;g;malloc 2\nmain;malloc;handler;f 4\nmain 1");
  assert.equal(treeFor(tree, { boxes: "" }), tree);
  const modules = treeFor(tree, { boxes: "modules" });
  assert.equal(treeFor(tree, { boxes: "modules" }), modules);
  assert.equal(whole(modules), 12);
  assert.deepEqual(pathsOf(lookOf(modules).root), { "all": 12, "all;app": 12, "all;app;libc.so.6": 11, "all;app;libc.so.6;app": 4 });
  assert.deepEqual(pathsOf(lookOf(modules, { flow: "callers" }).root)["all;libc.so.6;app"], 7);
  setBlame(tree, "caller");
  assert.deepEqual(pathsOf(lookOf(treeFor(tree, { boxes: "modules" })).root), { "all": 12, "all;app": 12, "all;app;libc.so.6": 4, "all;app;libc.so.6;app": 4 });
  assert.equal(treeFor(treeOf(stacks), { boxes: "modules" }).base, null);
});

test("modules keep the widths of differences, and an address of theirs is read back", () => {
  const types = [{ name: "before", unit: "bytes" }, { name: "after", unit: "bytes" }];
  const tree = withFiles("f;malloc 10 0\ng;malloc 0 4", { types, difference: { before: 0, after: 1 } });
  const modules = treeFor(tree, { boxes: "modules" }), larger = measuresOf(modules).find(({ id }) => id === "max");
  assert.equal(larger.total[0], 14);
  const state = { ...initialState(), boxes: "modules", focus: modules.frames.name.indexOf("libc.so.6") };
  assert.deepEqual(readState(writeState(state, modules), tree), state);
});

test("an app goes to modules and back", () => {
  const tree = withFiles(stacks, { blame: "caller", match: "#f277d3" }), app = appOf(tree, {});
  showTree(app);
  app.zoomed = lookOf(tree).root;
  Object.assign(app.state, withChoice(app, "boxes", "modules"));
  assert.ok(showTree(app));
  assert.equal(app.tree.base, tree);
  assert.equal(app.controls.boxes.value, "modules");
  assert.equal(hiddenWords(app.tree, measuresOf(app.tree)[0]), "3 functions of the allocator hidden");
  Object.assign(app.state, withChoice(app, "boxes", ""));
  assert.ok(showTree(app));
  assert.equal(app.tree, tree);
});

test("a million nodes are moved in an instant", () => {
  const callers = 333_333, size = 1 + 3 * callers, own = new Float64Array(size), frame = new Int32Array(size);
  const up = new Int32Array(size - 1);  // callers of "operator new", and that of "malloc"
  for (let n = 1; n < size; ++n) {
    frame[n] = (n - 1) % 3;
    if (n > 1 && frame[n] === 0) up[n - 1] = 3;
    if (frame[n] === 2) own[n] = n;
  }
  const frames = { name: ["f", "operator new", "malloc"], module: ["", "", ""], kind: new Uint8Array(3), colour: new Uint32Array(3) };
  const tree = new Tree({ about: aboutOf(), frames, up, frame, own: [own], merged: null, inner: Uint8Array.of(0, 1, 1) });
  const before = whole(tree), begun = performance.now();
  setBlame(tree, "caller");
  assert.equal(whole(tree), before);
  assert.equal(hiddenWords(tree, measuresOf(tree)[0]), "2 functions of the allocator hidden");
  assert.ok(performance.now() - begun < 10000, `it took ${performance.now() - begun} ms`);
  assert.equal(lookOf(tree).root.callees[0].own, before);
  assert.equal(movedTo(null, own), own);
});
