// SPDX-License-Identifier: BSD-2-Clause
// Searches, the table of functions, measures, and the state in the address.
import assert from "node:assert/strict";
import test from "node:test";
import { firstOrder, functionsOf, functionsOfViews, inOrder } from "../../render/viewer/functions.mjs";
import { measuresOf } from "../../render/viewer/measure.mjs";
import { coverage, covered, coveredAround, findFrames, hasHit, mergedIn } from "../../render/viewer/search.mjs";
import { initialState, readState, writeState } from "../../render/viewer/state.mjs";
import { hashFrame, hashName } from "../../render/viewer/tree.mjs";
import { at, lookOf, nameOf, treeOf } from "./trees.mjs";

const stacks = "main;parse;grow 7\nmain;parse 30\nmain;log;grow 5\nmain;cache;cache;grow 11\nmain;cache 2\nworker;cache;parse 4";
const search = (look, pattern, sameCase = false) => covered(look.root, findFrames(look.tree, pattern, sameCase).hit);

test("a search counts what lies in it once, in both directions", () => {
  const tree = treeOf(stacks);
  for (const flow of ["callees", "callers"])
    for (const hidden of [[], ["log"]])
      for (const [pattern, total] of [["cache|parse", 54], ["grow", 23], ["^main$", 55], ["cache", 17], ["nothing", 0], [".", 59], ["PARSE", 41]])
        assert.equal(search(lookOf(tree, { flow, hidden }), pattern), total, `${pattern} ${flow}`);
});

test("how much of each view matches, at once or one by one", () => {
  const tree = treeOf(stacks);
  for (const flow of ["callees", "callers"])
    for (const rest of [{}, { hidden: ["log", "cache"] }, { focus: "cache" }])
      for (const pattern of ["cache|parse", "grow", "^main$", "worker", "nothing", "."]) {
        const look = lookOf(tree, { flow, ...rest }), { hit } = findFrames(tree, pattern, false), of = coverage(look, hit);
        const views = [look.root];
        for (const view of views) views.push(...view.callees);
        for (const view of views) assert.equal(of(view), covered(view, hit), `${pattern} ${flow} ${view.path().map(nameOf)}`);
      }
});

test("hidden functions are not found, focused ones bound the search, capitals matter when they should", () => {
  const tree = treeOf(stacks);
  assert.equal(search(lookOf(tree, { hidden: ["cache"] }), "^cache$"), 0);
  assert.equal(search(lookOf(tree, { focus: "cache" }), "grow"), 11);
  assert.equal(search(lookOf(tree, { focus: "cache" }), "cache"), 17);
  assert.equal(search(lookOf(tree, { focus: "cache", flow: "callers" }), "worker"), 4);
  assert.equal(search(lookOf(tree), "PARSE", true), 0);
  const above = lookOf(tree, { flow: "callers" });
  assert.equal(covered(at(above, "grow"), findFrames(tree, "cache", false).hit), 11);
});

test("around a function, what its callers are counts too, once", () => {
  const look = lookOf(treeOf(stacks), { focus: "cache" });
  for (const [pattern, total] of [["worker", 4], ["main", 13], ["grow", 11], ["parse", 4], ["worker|parse", 4], ["main|grow|cache", 17], ["log", 0]])
    assert.equal(coveredAround(look.root, findFrames(look.tree, pattern, false).hit), total, pattern);
});

test("no pattern, no regular expression, and merged boxes", () => {
  const tree = treeOf("main;a 5\nmain;(+3) 9");
  assert.equal(findFrames(tree, "", false), null);
  assert.equal(findFrames(tree, "main(", false).wrong, true);
  assert.equal(search(lookOf(tree), "^$"), 0);
  assert.equal(mergedIn(lookOf(tree).root), 9);
});

test("what holds a hit, however deep", () => {
  for (const [flow, yes, no] of [["callees", "main", "worker"], ["callers", "grow", "parse"]]) {
    const look = lookOf(treeOf("main;log;grow 5\nworker;parse 4"), { flow });
    const holds = hasHit(look, findFrames(look.tree, flow === "callees" ? "grow" : "log", false).hit);
    assert.deepEqual([yes, no].map((name) => holds(at(look, name))), [true, false]);
  }
});

test("functions: own and total, recursion once, hidden ones their callers' own", () => {
  const tree = treeOf(stacks), figures = (options, name) => {
    const look = lookOf(tree, options), row = functionsOf(look).find(({ frame }) => tree.frames.name[frame] === name);
    return row && [row.own, row.total];
  };
  assert.deepEqual(figures({}, "cache"), [2, 17]);
  assert.deepEqual(figures({}, "grow"), [23, 23]);
  assert.deepEqual(figures({}, "main"), [0, 55]);
  assert.deepEqual(figures({ hidden: ["grow"] }, "parse"), [41, 41]);
  assert.equal(figures({ hidden: ["grow"] }, "grow"), undefined);
  assert.deepEqual(figures({ focus: "cache" }, "parse"), [4, 4]);
  assert.equal(figures({ focus: "cache" }, "main"), undefined);
  for (const options of [{}, { hidden: ["grow", "parse"] }, { flow: "callers" }])
    assert.equal(functionsOf(lookOf(tree, options)).reduce((sum, row) => sum + row.own, 0), 59);
});

test("a table begins with who has it, or with what has changed", () => {
  assert.equal(firstOrder(treeOf(stacks)), "own");
  assert.equal(firstOrder({ about: { difference: { before: 0, after: 1 } } }), "change");
});

test("functions in order, both ways", () => {
  const look = lookOf(treeOf(stacks)), names = (sort) => inOrder(functionsOf(look), sort).map(({ frame }) => look.tree.frames.name[frame]);
  assert.deepEqual(names("total"), ["main", "parse", "grow", "cache", "log", "worker"]);
  assert.deepEqual(names("-total"), names("total").reverse());
  assert.deepEqual(names("own").slice(0, 2), ["parse", "grow"]);
  assert.deepEqual(names("name"), ["cache", "grow", "log", "main", "parse", "worker"]);
  assert.deepEqual(names("constructor"), names("total"));
  assert.deepEqual(functionsOfViews(look.root.callees).map(({ own, total, view }) => [nameOf(view), own, total]), [["main", 0, 55], ["worker", 0, 4]]);
});

const difference = { types: [{ name: "before", unit: "bytes" }, { name: "after", unit: "bytes" }, { name: "blocks", unit: "count" }],
                     shown: 1, difference: { before: 0, after: 1 } };

test("measures of a difference", () => {
  const tree = treeOf("grown 100 300 1\nnew 0 7 1\ngone 50 0 1\nfreed 3 -4 1", difference);
  const totals = Object.fromEntries(measuresOf(tree).map((measure) => [measure.id, measure.total[0]]));
  assert.deepEqual(totals, { max: 300 + 7 + 50 + 3, after: 307, before: 153, sum: 460, delta: 200 + 7 + 50 + 7, blocks: 4 });
  const rows = functionsOf(lookOf(tree));
  assert.deepEqual(inOrder(rows, "change").map(({ frame }) => tree.frames.name[frame]), ["grown", "new", "freed", "gone"]);
});

test("measures have names of their own, also where a column has that of one", () => {
  const types = ["before", "after", "delta", "max"].map((name) => ({ name, unit: "bytes" }));
  const tree = treeOf("a 5 7 2 9", { types, difference: { before: 0, after: 1 } });
  assert.deepEqual(measuresOf(tree).map(({ id }) => id), ["max", "after", "before", "sum", "delta"]);
});

test("measures: what is negative has no width, but in net mode its size", () => {
  const types = [{ name: "net", unit: "bytes" }, { name: "v", unit: "variance" }];
  assert.deepEqual(measuresOf(treeOf("a 5 0\nb -7 0", { types })).map(({ id, total }) => [id, total[0]]), [["net", 5]]);
  assert.deepEqual(measuresOf(treeOf("a 5 0\nb -7 0", { types, net: true })).map(({ total }) => total[0]), [12]);
  assert.equal(measuresOf(treeOf("a 5 0\nb -7 0", { types, net: true, big: true }))[0].total[0], 12n);
});

test("an address keeps a state, and another picture of the program understands it", () => {
  const tree = treeOf(stacks), frame = (name) => tree.frames.name.indexOf(name);
  const state = {
    zoom: at(lookOf(tree), "main;parse").hash, search: "a&b=#%|ü", sameCase: true, value: "live", view: "around",
    focus: frame("cache"), hidden: [frame("log"), frame("grow")], order: "width", root: "top", cut: "left", table: "-own", marks: "off", hits: "place",
    blame: "user", boxes: "", unknown: "hidden", runtime: "shown" };
  assert.deepEqual(readState(writeState(state, tree), tree), state);
  assert.deepEqual(readState(writeState(initialState(), tree), tree), initialState());
  assert.equal(writeState(initialState(), tree), "");
  const other = treeOf(`aaa;bbb 1\n${stacks}`), read = readState(writeState(state, tree), other);
  assert.deepEqual([read.focus, ...read.hidden].map((one) => other.frames.name[one]), ["cache", "log", "grow"]);
});

test("an address that means nothing is not a state", () => {
  const tree = treeOf(stacks);
  for (const text of ["", "%%%", "zoom=1&focus=2&hide=3,,", "view=x&order=y&root=z&cut=toString&table=__proto__&marks=on&blame=none&boxes=rows&unknown=x",
                      "focus=0123456789abcdef&hide=0123456789abcdef,0123456789abcdef"])
    assert.deepEqual(readState(text, tree), initialState(), text);
});

test("ids of frames are hashes that differ", () => {
  const names = Array.from({ length: 20000 }, (_, i) => `ns::function_${i}`), tree = treeOf(names.map((name) => `${name} 1`).join("\n"));
  assert.equal(new Set(names.map((_, i) => hashName(hashFrame(tree, i)))).size, names.length);
  assert.match(hashName([-1, 5]), /^ffffffff00000005$/);
});
