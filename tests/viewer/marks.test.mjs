// SPDX-License-Identifier: BSD-2-Clause
import assert from "node:assert/strict";
import test from "node:test";
import { layOut } from "../../render/viewer/layout.mjs";
import { layerOf, marksOf, shapesOf, verdictsOf } from "../../render/viewer/marks.mjs";
import { at, lookOf, nameOf, treeOf } from "./trees.mjs";

const stacks = `
main;cache 94
main;handle;leak;malloc 4
main;handle 2
`;

// Nodes are depth-first, in the order of names: root, main, cache, handle, leak, malloc.
const marked = (list = [{ node: 5, text: "leak: 2 %", label: "leak", flag: "leak 1 KiB/s" }]) =>
  treeOf(stacks, { marks: { colour: "#940024", edge: "#ffffff", list } });
const layer = (tree, look, zoomed = look.root, least = 0) => layerOf(tree, layOut(zoomed, least), zoomed);
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

test("stripes lie one over the other, and what is mostly leak is outlined", () => {
  const tree = marked(), { stripes, flags } = layer(tree, lookOf(tree));
  assert.deepEqual(stripes.map(({ box, outlined }) => [nameOf(box.view), outlined]),
    [["main", false], ["handle", true], ["leak", true], ["malloc", true]]);
  for (const { x, width } of stripes) {
    near(x, 0.94);
    near(width, 0.04);
  }
  assert.deepEqual(flags.map(({ box, text }) => [nameOf(box.view), text]), [["malloc", "leak 1 KiB/s"]]);
});

test("zoomed to the way, and beside it", () => {
  const tree = marked(), look = lookOf(tree);
  near(layer(tree, look, at(look, "main;handle")).stripes.at(-1).width, 4 / 6);
  assert.deepEqual(layer(tree, look, at(look, "main;cache")), { stripes: [], flags: [] });
});

test("too narrow for a box: the merged box has the flag", () => {
  const tree = marked(), look = lookOf(tree), { flags, stripes } = layer(tree, look, look.root, 0.1);
  assert.equal(flags.length, 1);
  assert.equal(flags[0].box.view, null);
  assert.ok(stripes.every(({ width }) => width === 0));
});

test("callers first, hidden functions, a focus", () => {
  const tree = marked();
  const names = (options) => layer(tree, lookOf(tree, options)).stripes.map(({ box }) => nameOf(box.view));
  assert.deepEqual(names({ flow: "callers" }), ["malloc", "leak", "handle", "main"]);
  assert.deepEqual(names({ hidden: ["leak"] }), ["main", "handle", "malloc"]);
  assert.deepEqual(names({ hidden: ["malloc"] }), ["main", "handle", "leak"]);
  assert.deepEqual(names({ focus: "handle" }), ["handle", "leak", "malloc"]);
  assert.deepEqual(names({ focus: "cache" }), []);
});

test("what a box says", () => {
  const tree = marked(), look = lookOf(tree);
  assert.deepEqual(verdictsOf(at(look, "main;handle;leak;malloc")), ["leak: 2 %"]);
  assert.deepEqual(verdictsOf(at(look, "main;handle")), ["leads to a leak: leak"]);
  assert.deepEqual(verdictsOf(at(look, "main;cache")), []);
  assert.deepEqual(verdictsOf(look.root), []);
});

test("other verdicts are words only, and damaged ones are left out", () => {
  const tree = marked([{ node: 2, text: "cache or pool", label: "cache" }, { node: 99, text: "x", label: "y", flag: "z" },
                       { node: 1.5, text: "x", label: "y", flag: "z" }, { node: 0, text: "x", label: "y", flag: "z" }]);
  const look = lookOf(tree);
  assert.equal(marksOf(tree).length, 1);
  assert.deepEqual(layer(tree, look), { stripes: [], flags: [] });
  assert.deepEqual(verdictsOf(at(look, "main;cache")), ["cache or pool"]);
});

test("every stripe is wide enough to be seen, and nothing leaves the stage", () => {
  const tree = marked(), look = lookOf(tree);
  for (const width of [1200, 300, 120])
    for (const outwards of [-1, 1]) {
      const shapes = shapesOf(layer(tree, look), tree.about.marks, { width, rowHeight: 19, fontSize: 12, outwards, top: (row) => 100 + row * 19 });
      for (const one of shapes.filter(({ text }) => !text)) {
        assert.ok(one.x >= 0 && one.x + one.width <= width + 1e-9, JSON.stringify(one));
        assert.ok(one.width >= 3 || one.stroke, JSON.stringify(one));
      }
    }
});
