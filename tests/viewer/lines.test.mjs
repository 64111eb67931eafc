// SPDX-License-Identifier: BSD-2-Clause
// Source lines of boxes and functions: those of a block as render/picture/data_block.h describes it.
import assert from "node:assert/strict";
import test from "node:test";
import { decodeLines } from "../../render/viewer/decode.mjs";
import { hasLineBoxes } from "../../render/viewer/by_line.mjs";
import { figuresOf } from "../../render/viewer/figures.mjs";
import { placeText, placesOf, placesOfFrame } from "../../render/viewer/lines.mjs";
import { setBlame } from "../../render/viewer/blame.mjs";
import { treeFor } from "../../render/viewer/modules.mjs";
import { measuresOf } from "../../render/viewer/measure.mjs";
import { initialState, readState, writeState } from "../../render/viewer/state.mjs";
import { Tree } from "../../render/viewer/tree.mjs";
import { aboutOf, at, lookOf, pathsOf, treeOf } from "./trees.mjs";

const types = [{ name: "live", unit: "bytes" }, { name: "calls", unit: "count" }];
const text = (string) => [string.length, ...Buffer.from(string)];

// main calls f in line 10 and g in line 12. Nothing is known about h, and only the file about g.
function example() {
  const tree = treeOf("main;f 8 1\nmain;f;h 2 0\nmain;g 3 5", { types });
  assert.deepEqual(tree.frames.name, ["f", "g", "h", "main"]);
  const block = [
    2, ...text("/src/a.c"), ...text("b.c"),
    4, 0, 0, 1, 1, 10, 12, 3, 0,
    1, 1, 0, 2,  // of functions
    2,           // of the node of main
    3, 4, 1, 2, 1, 2,
    0, 0, 1, 1,  // which of both has most: of live, of calls
  ];
  tree.lines = decodeLines(tree, Uint8Array.from(block));
  return tree;
}

test("a box has the line with most of what is drawn, and how many others", () => {
  const tree = example(), told = (path, value) => placeText(tree, placesOf(at(lookOf(tree, { value }), path)));
  assert.equal(told("main", "live"), "a.c:10, 1 more line");
  assert.equal(told("main", "calls"), "a.c:12, 1 more line");
  assert.equal(told("main;f", "live"), "b.c:3");
  assert.equal(told("main;g", "live"), "b.c");
  assert.equal(told("main;f;h", "live"), "");
  assert.equal(placeText(tree, placesOf(lookOf(tree).root)), "");
});

test("so has a function, and a box of callers", () => {
  const tree = example(), frame = (name) => tree.frames.name.indexOf(name);
  assert.equal(placeText(tree, placesOfFrame(lookOf(tree), frame("main")), true), "/src/a.c:10, 1 more line");
  assert.equal(placeText(tree, placesOfFrame(lookOf(tree, { value: "calls" }), frame("main"))), "a.c:12, 1 more line");
  assert.deepEqual(placesOfFrame(lookOf(tree), frame("h")), []);
  const callers = lookOf(tree, { flow: "callers", focus: "g" });
  assert.equal(placeText(tree, placesOf(at(callers, "main"))), "a.c, one of 2 lines");
});

test("the path of the file is for those who have room", () => {
  const tree = example(), view = at(lookOf(tree), "main"), zoomed = view.look.root;
  assert.ok(figuresOf({ view }, zoomed).includes("a.c:10, 1 more line"));
  assert.ok(figuresOf({ view }, zoomed, { paths: true }).includes("/src/a.c:10, 1 more line"));
});

test("a picture without lines says none, and damaged ones are refused", () => {
  const tree = treeOf("main;f 8");
  assert.deepEqual(placesOf(at(lookOf(tree), "main")), []);
  assert.throws(() => decodeLines(tree, Uint8Array.from([0, 0, 1, 0, 1])), /a source line is missing/);
  assert.throws(() => decodeLines(tree, Uint8Array.from([0, 9, 1])), /end too early/);
});

// As pages have them: main calls malloc() in line 10, and f in lines 10 and 12, which are nodes of their own.
function apart(rest) {
  const frames = { name: ["f", "main", "malloc"], module: ["", "", "/lib/libc.so.6"], kind: new Uint8Array(3), colour: Uint32Array.of(1, 2, 3) };
  //  main:10 { f { malloc } malloc }  main:12 { f }
  const tree = new Tree({
    about: aboutOf(rest), frames, up: Int32Array.from([0, 0, 0, 2, 2, 0]), frame: Int32Array.from([0, 1, 0, 2, 2, 1, 0]),
    own: [Float64Array.from([0, 1, 0, 5, 2, 0, 4])], merged: null, inner: Uint8Array.of(0, 0, 1) });
  const block = [1, ...text("/src/a.c"), 2, 0, 0, 10, 12, 0, 2, 0, 1, 1, 1, 2, 1, 2, 0, 1];
  tree.lines = decodeLines(tree, Uint8Array.from(block));
  return tree;
}

test("nodes of the lines of a function are one box, or one for each line", () => {
  const tree = apart();
  assert.deepEqual(pathsOf(lookOf(tree).root), { "all": 12, "all;main": 12, "all;main;f": 9, "all;main;f;malloc": 5, "all;main;malloc": 2 });
  assert.equal(placeText(tree, placesOf(at(lookOf(tree), "main"))), "a.c:10, 1 more line");
  assert.ok(hasLineBoxes(tree));
  const lines = treeFor(tree, { boxes: "lines" });
  assert.equal(treeFor(tree, { boxes: "lines" }), lines);
  assert.deepEqual(lines.frames.name, ["f", "main a.c:10", "main a.c:12", "malloc"]);
  assert.deepEqual(pathsOf(lookOf(lines).root), {
    "all": 12, "all;main a.c:10": 8, "all;main a.c:10;f": 5, "all;main a.c:10;f;malloc": 5, "all;main a.c:10;malloc": 2, "all;main a.c:12": 4, "all;main a.c:12;f": 4 });
  assert.equal(placeText(lines, placesOf(at(lookOf(lines), "main a.c:12")), true), "/src/a.c:12");
  assert.deepEqual(pathsOf(lookOf(lines, { flow: "callers", focus: "f" }).root), { "f": 9, "f;main a.c:10": 5, "f;main a.c:12": 4 });
});

test("boxes by line follow a blame, and have addresses", () => {
  const tree = apart({ blame: "caller" });
  setBlame(tree, "caller");
  const lines = treeFor(tree, { boxes: "lines" }), moved = { "all": 12, "all;main a.c:10": 8, "all;main a.c:10;f": 5, "all;main a.c:12": 4, "all;main a.c:12;f": 4 };
  assert.deepEqual(pathsOf(lookOf(lines).root), moved);
  assert.equal(at(lookOf(lines), "main a.c:10").own, 3);
  setBlame(tree, "all");
  assert.notEqual(treeFor(tree, { boxes: "lines" }), lines);
  const state = { ...initialState(), boxes: "lines", focus: lines.frames.name.indexOf("main a.c:12") };
  assert.deepEqual(readState(writeState(state, lines), tree), state);
  assert.deepEqual(measuresOf(lines).map(({ id, total }) => [id, total[0]]), [["live", 12]]);
});

test("no boxes by line if nodes have several lines", () => {
  assert.equal(hasLineBoxes(example()), false);
  assert.equal(treeFor(example(), { boxes: "lines" }).base, null);
  assert.equal(hasLineBoxes(treeOf("main 1")), false);
});
