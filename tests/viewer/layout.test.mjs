// SPDX-License-Identifier: BSD-2-Clause
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { layOut, layOutAround, limitsOf } from "../../render/viewer/layout.mjs";
import { at, lookOf, nameOf, treeOf } from "./trees.mjs";

let seed = 7;
const random = (below) => (seed = Math.imul(seed, 48271) >>> 1) % below;
const program = Array.from({ length: 300 }, () =>
  `${Array.from({ length: 1 + random(7) }, () => `f${random(9)}`).join(";")} ${random(1000)}`).join("\n");

// Boxes fill the space that their caller leaves, without gaps, and no figure is lost.
function check(rows, whole) {
  for (const boxes of rows) for (const box of boxes) {
    if (!box.view || box.role === "caller") continue;
    const inside = (rows[box.row + 1] || []).filter((one) => (one.view ? one.view.parent : one.caller) === box.view);
    const total = inside.reduce((sum, one) => sum + (one.view ? one.view.total : one.total), box.view.own);
    assert.equal(total, box.view.total, nameOf(box.view));
    let x = box.x;
    for (const one of inside) {
      assert.ok(Math.abs(one.x - x) < 1e-9);
      x += one.width;
    }
    assert.ok(x <= box.x + box.width + 1e-9);
    assert.ok(Math.abs(box.width - Number(box.view.total) / Number(whole)) < 1e-12);
  }
}

for (const big of [false, true])
  for (const options of [{}, { order: "width" }, { flow: "callers" }, { hidden: ["f3"] }, { focus: "f4" }])
    test(`sums, in ${big ? "BigInt" : "Number"}, ${JSON.stringify(options)}`, () => {
      const look = lookOf(treeOf(program, { big }), options);
      for (const least of [0, 0.001, 0.02, 0.3]) {
        const rows = layOut(look.root, least);
        check(rows, look.root.total);
        assert.ok(rows.flat().every((box) => !box.view || box.view === look.root || box.width >= least));
        const leaves = rows.flat().reduce((sum, box) => sum + (box.view ? box.view.own : box.total), look.tree.zero);
        assert.equal(leaves, look.root.total, "the leaves are the total");
      }
      const zoomed = look.root.callees[0];
      check(layOut(zoomed, 0.01), zoomed.total);
    });

test("what is zoomed has all of the width, and its callers around it", () => {
  const look = lookOf(treeOf("a;b;c 6\na;b 2\nd 8")), rows = layOut(at(look, "a;b"), 0);
  assert.deepEqual(rows.map((boxes) => boxes.map((box) => [nameOf(box.view), box.x, box.width, box.role])), [
    [["all", 0, 1, "caller"]], [["a", 0, 1, "caller"]], [["b", 0, 1, ""]], [["c", 0, 0.75, ""]]]);
});

test("narrow ones are one box that knows how many frames it stands for", () => {
  const look = lookOf(treeOf("m;wide 96\nm;a;x 1\nm;b;y;z 2\nm;c 1")), rows = layOut(look.root, 0.05);
  const [narrow] = rows[2].filter((box) => !box.view);
  assert.deepEqual([narrow.total, narrow.frames, narrow.width, narrow.narrow.length], [4, 6, 0.04, 3]);
  assert.equal(rows.length, 3);
});

test("no more boxes than can be drawn at once: the widest, of equally wide ones the outermost", () => {
  const look = lookOf(treeOf(program)), all = layOut(look.root, 0).flat().filter((box) => box.view);
  for (const most of [1, 7, 50, 200, all.length]) {
    const rows = layOut(look.root, 0, most), drawn = rows.flat().filter((box) => box.view && box.view !== look.root);
    assert.ok(drawn.length <= most && drawn.length > most / 3, `${drawn.length} of ${most}`);
    check(rows, look.root.total);
    assert.deepEqual(drawn.map((box) => box.width).sort().reverse(),
      all.filter((box) => box.view !== look.root).map((box) => box.width).sort().reverse().slice(0, drawn.length));
  }
  const equal = lookOf(treeOf("a;b;c;d 5\ne;f;g;h 5")), rows = layOut(equal.root, 0, 5);
  assert.deepEqual(rows.map((boxes) => boxes.map((box) => (box.view ? nameOf(box.view) : `+${box.frames}`)).join()),
    ["all", "a,e", "b,f", "c,+2", "+1"]);
  assert.deepEqual(layOut(at(equal, "a;b"), 0, 1).map((boxes) => boxes.length), [1, 1, 1, 1, 1]);
});

test("how narrow a box may be: pixels, or percent of what is zoomed", () => {
  assert.deepEqual(limitsOf({ width: 1000, most: 5 }, {}), [0.0007, 5]);
  assert.deepEqual(limitsOf({ width: 1000 }, { least: 3 }), [0.003, undefined]);
  assert.deepEqual(limitsOf({ width: 1000 }, { least: 0, leastPercent: 5 }), [0.05, undefined]);
});

test("the width of the narrowest box is the one that --help tells", () => {
  const options = readFileSync(new URL("../../render/picture/options.h", import.meta.url), "utf8");
  const [, told] = options.match(/script_min_width = ([\d.]+)/);
  assert.equal(limitsOf({ width: 1 }, {})[0], Number(told));
});

test("a profile of nothing is its root", () => {
  const rows = layOut(lookOf(treeOf("a 0")).root, 0.1);
  assert.equal(rows.flat().length, 1);
});

test("callers above a function, callees below", () => {
  const tree = treeOf("a;f;x 6\nb;c;f;y 2\nf 4"), { rows, middle } = layOutAround(
    lookOf(tree, { focus: "f", flow: "callers" }).root, lookOf(tree, { focus: "f" }).root, 0);
  assert.deepEqual(rows.map((boxes) => boxes.map((box) => nameOf(box.view)).join()), ["b", "a,c", "f", "x,y"]);
  assert.equal(middle, 2);
  assert.ok(rows.every((boxes, row) => boxes.every((box) => box.row === row)));
});
