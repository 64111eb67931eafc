// SPDX-License-Identifier: BSD-2-Clause
// What an interpreter does between two functions of its language, as one box.
import assert from "node:assert/strict";
import test from "node:test";
import { setBlame } from "../../render/viewer/blame.mjs";
import { decodeLines } from "../../render/viewer/decode.mjs";
import { hasLineBoxes } from "../../render/viewer/by_line.mjs";
import { Lines, placeText, placesOf } from "../../render/viewer/lines.mjs";
import { marksOf } from "../../render/viewer/marks.mjs";
import { measuresOf } from "../../render/viewer/measure.mjs";
import { treeFor } from "../../render/viewer/modules.mjs";
import { foldedPath, hasRuntime, isNative } from "../../render/viewer/runtime.mjs";
import { at, lookOf, nameOf, pathsOf, treeOf } from "./trees.mjs";

const stacks = `
main;loop;f.py;call;loop;g.py;malloc 5
main;loop;f.py;call;malloc 7
main;loop;f.py;call;sort;loop;g.py;malloc 11
main;loop;f.py;g.py 13
main;loop 2`;

// Names that end in ".py" are functions of the language. The frame of the box is in the data, without a node.
function example(text = stacks, rest = {}) {
  const tree = treeOf(`${text}\n[native] 0`, rest), { name } = tree.frames;
  const numbers = [...name.keys()];
  tree.about.runtime = { native: name.indexOf("[native]"), scripts: numbers.filter((i) => name[i].endsWith(".py")) };
  return tree;
}

const folded = { boxes: "", runtime: "" }, shown = { boxes: "", runtime: "shown" };

test("functions between two of the language are one box, others stay", () => {
  const tree = example();
  assert.ok(hasRuntime(tree));
  assert.deepEqual(pathsOf(lookOf(treeFor(tree, folded)).root), {
    all: 38, "all;main": 38, "all;main;loop": 38, "all;main;loop;f.py": 36,
    "all;main;loop;f.py;[native]": 16, "all;main;loop;f.py;[native];g.py": 16, "all;main;loop;f.py;[native];g.py;malloc": 16,
    "all;main;loop;f.py;call": 7, "all;main;loop;f.py;call;malloc": 7, "all;main;loop;f.py;g.py": 13 });
  assert.equal(treeFor(tree, shown), tree);
  const box = at(lookOf(treeFor(tree, folded)), "main;loop;f.py;[native]");
  assert.ok(isNative(box.look.tree, box.frame));
});

test("so are they with callers first, and in figures beyond 2^53", () => {
  const tree = treeFor(example(), folded), callers = pathsOf(lookOf(tree, { flow: "callers" }).root);
  assert.equal(callers["all;malloc;g.py;[native];f.py;loop;main"], 16);
  assert.equal(callers["all;malloc;call;f.py;loop;main"], 7);
  assert.equal(callers["all;malloc;g.py;loop"], undefined);
  const big = treeFor(example(stacks, { big: true }), folded);
  assert.equal(pathsOf(lookOf(big).root)["all;main;loop;f.py;[native]"], 16n);
});

test("figures go where blame has them, and hidden functions are not drawn", () => {
  const tree = example();
  tree.inner = Uint8Array.from(tree.frames.name, (name) => Number(name === "malloc"));
  setBlame(tree, "caller");
  const made = treeFor(tree, folded), paths = pathsOf(lookOf(made).root), frame = (name) => tree.frames.name.indexOf(name);
  assert.equal(paths["all;main;loop;f.py;[native];g.py"], 16);
  assert.equal(paths["all;main;loop;f.py;[native];g.py;malloc"], undefined);
  assert.equal(paths["all;main;loop;f.py;call"], 7);
  assert.deepEqual(["malloc", "sort", "call", "[native]"].map((name) => made.drawn[frame(name)]), [0, 0, 1, 1]);
  // main, loop, f, [native], g from either way, call, g.
  assert.equal(lookOf(made).frames(lookOf(made).root.callees[0]), 8);
  setBlame(tree, "all");
  assert.equal(pathsOf(lookOf(treeFor(tree, folded)).root)["all;main;loop;f.py;[native];g.py;malloc"], 16);
});

test("merged boxes stay, and count as before", () => {
  const tree = treeFor(example("f.py;call;g.py 4\nf.py;call;(+3) 2"), folded), look = lookOf(tree);
  assert.equal(look.frames(at(look, "f.py")), 7);
  assert.equal(at(look, "f.py;call").total, 2);
});

test("a leak is pointed out where it is drawn", () => {
  const tree = example("f.py;call;loop;g.py;malloc 5\nf.py;call;malloc 7");
  const leaf = [...tree.frame.keys()].find((n) => tree.own[0][n] === 5);
  tree.about.marks = { list: [{ node: leaf, text: "leaks", label: "g", flag: "leak" }] };
  const made = treeFor(tree, folded), [mark] = marksOf(made), measure = measuresOf(made)[0];
  assert.equal(tree.frames.name[made.frame[mark.node]], "malloc");
  assert.equal(made.frame[made.parent[mark.node]], tree.frames.name.indexOf("g.py"));
  assert.equal(measure.innermost.raw[mark.leaf], 5);
});

test("boxes keep their source lines, and can be lines", () => {
  const text = (string) => [string.length, ...Buffer.from(string)];
  const tree = example("f.py;call;g.py 4\nf.py;x 3");
  assert.deepEqual(tree.frames.name, ["[native]", "call", "f.py", "g.py", "x"]);
  // f is at line 3 or 4, g at 9.
  tree.lines = decodeLines(tree, Uint8Array.from([1, ...text("a.py"), 3, 0, 0, 0, 3, 4, 9, 0, 0, 2, 1, 0, 2, 1, 2, 3, 1, 2, 0, 1]));
  const made = treeFor(tree, folded), look = lookOf(made);
  assert.equal(placeText(made, placesOf(at(look, "f.py"))), "a.py:4, 1 more line");
  assert.equal(placeText(made, placesOf(at(look, "f.py;[native];g.py"))), "a.py:9");
  tree.lines = new Lines({ ...tree.lines, places: Int32Array.from([1, 3]), frameFirst: Int32Array.from([0, 0, 0, 1, 2, 2]) });
  const one = example("f.py;call;g.py 4\nf.py;x 3");
  one.lines = new Lines({ ...tree.lines, tree: one });
  assert.ok(hasLineBoxes(one));
  const byLine = treeFor(one, { boxes: "lines", runtime: "" }), lines = pathsOf(lookOf(byLine).root);
  assert.equal(lines["all;f.py a.py:3;[native];g.py a.py:9"], 4);
  const box = lookOf(byLine).root.callees[0].callees.find((view) => nameOf(view) === "[native]");
  assert.ok(isNative(byLine, box.frame));
});

test("a path is found again when it is folded", () => {
  const tree = example(), frames = (path) => path.split(";").map((name) => tree.frames.name.indexOf(name));
  assert.deepEqual(foldedPath(tree, frames("main;loop;f.py;call;sort;loop;g.py;malloc")), frames("main;loop;f.py;[native];g.py;malloc"));
  assert.deepEqual(foldedPath(tree, frames("main;loop;f.py;g.py")), frames("main;loop;f.py;g.py"));
  assert.deepEqual(foldedPath(tree, frames("main;loop;f.py;call")), frames("main;loop;f.py;call"));
});
