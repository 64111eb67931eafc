// SPDX-License-Identifier: BSD-2-Clause
// Source lines of boxes and functions: those of a block as render/picture/data_block.h describes it.
import assert from "node:assert/strict";
import test from "node:test";
import { decodeLines } from "../../render/viewer/decode.mjs";
import { figuresOf } from "../../render/viewer/figures.mjs";
import { placeText, placesOf, placesOfFrame } from "../../render/viewer/lines.mjs";
import { at, lookOf, treeOf } from "./trees.mjs";

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
