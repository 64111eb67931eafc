// SPDX-License-Identifier: BSD-2-Clause
import assert from "node:assert/strict";
import test from "node:test";
import { unnamedIn, unnamedWords } from "../../render/viewer/unnamed.mjs";
import { Tree } from "../../render/viewer/tree.mjs";
import { aboutOf, at, lookOf, nameOf, pathsOf, treeOf } from "./trees.mjs";

const stacks = `
main;parse;grow 7
main;parse 30
main;log;grow 5
main;cache;cache;grow 11
main;cache 2
worker;cache;parse 4
`;

test("callees on callers: every figure, and children with self are the parent", () => {
  const look = lookOf(treeOf(stacks));
  assert.deepEqual(pathsOf(look.root), {
    "all": 59, "all;main": 55, "all;main;cache": 13, "all;main;cache;cache": 11, "all;main;cache;cache;grow": 11,
    "all;main;log": 5, "all;main;log;grow": 5, "all;main;parse": 37, "all;main;parse;grow": 7,
    "all;worker": 4, "all;worker;cache": 4, "all;worker;cache;parse": 4,
  });
  assert.equal(at(look, "main;parse").own, 30);
  assert.equal(at(look, "main;cache").own, 2);
});

test("callers first: what functions themselves have, by who called them", () => {
  const look = lookOf(treeOf(stacks), { flow: "callers" }), paths = pathsOf(look.root);
  assert.equal(paths.all, 59);
  assert.equal(paths["all;grow"], 23);
  assert.equal(paths["all;grow;cache;cache;main"], 11);
  assert.equal(paths["all;parse"], 34);
  assert.equal(paths["all;cache"], 2);
  for (const path of Object.keys(paths)) {
    const view = at(look, path.replace(/^all;?/, ""));
    assert.ok(view.own >= 0 && view.callees.reduce((sum, one) => sum + one.total, view.own) === view.total, path);
  }
});

test("recursion: a focus takes the outermost once, callers first too", () => {
  const tree = treeOf("a;f;f;f 8\nf;b 2\na;c;f 4");
  assert.equal(lookOf(tree, { focus: "f" }).root.total, 14);
  assert.deepEqual(pathsOf(lookOf(tree, { focus: "f" }).root), { "f": 14, "f;b": 2, "f;f": 8, "f;f;f": 8 });
  assert.deepEqual(pathsOf(lookOf(tree, { focus: "f", flow: "callers" }).root), { "f": 14, "f;a": 8, "f;c": 4, "f;c;a": 4 });
  const above = lookOf(tree, { flow: "callers" }), f = above.root.callees.find((one) => nameOf(one) === "f");
  assert.equal(f.total, 12);
});

test("hidden functions are not there, and their callees are their callers'", () => {
  const look = lookOf(treeOf(stacks), { hidden: ["cache"] });
  assert.deepEqual(pathsOf(look.root), {
    "all": 59, "all;main": 55, "all;main;grow": 11, "all;main;log": 5, "all;main;log;grow": 5,
    "all;main;parse": 37, "all;main;parse;grow": 7, "all;worker": 4, "all;worker;parse": 4,
  });
  assert.equal(at(look, "main").own, 2);
  const above = lookOf(treeOf(stacks), { hidden: ["cache"], flow: "callers" });
  assert.equal(pathsOf(above.root)["all;grow;main"], 11);
  assert.equal(above.root.total, 59);
  assert.equal(pathsOf(lookOf(treeOf(stacks), { hidden: ["main", "worker", "cache", "log"] }).root)["all;grow"], 16);
});

test("neighbours by name, by width, and merged ones last", () => {
  const tree = treeOf("m;b 5\nm;a 9\nm;c 7\nm;(+3) 100"), names = (look) => look.root.callees[0].callees.map((view) => view.total);
  assert.deepEqual(names(lookOf(tree)), [9, 5, 7, 100]);
  assert.deepEqual(names(lookOf(tree, { order: "width" })), [9, 7, 5, 100]);
});

test("in order of time equal neighbours stay apart, and each has an id of its own", () => {
  const tree = treeOf("m;a;x 1\nm;b 2\nm;c;x 4", { order: "time" }), frame = (name) => tree.frames.name.indexOf(name);
  tree.frame.forEach((one, n) => { if (one === frame("c")) tree.frame[n] = frame("a"); });
  const [main] = lookOf(tree).root.callees, again = lookOf(tree);
  assert.deepEqual(main.callees.map((view) => [nameOf(view), view.total]), [["a", 1], ["b", 2], ["a", 4]]);
  for (const view of [...main.callees, ...main.callees[0].callees, ...main.callees[2].callees])
    assert.equal(again.find(view.hash).nodes[0], view.nodes[0]);
  assert.equal(new Set(main.callees.map((view) => view.hash.join())).size, 3);
});

test("what has no width is left out, but not what it calls", () => {
  assert.deepEqual(pathsOf(lookOf(treeOf("a;b -5\na;c 3\nd 0")).root), { "all": 3, "all;a": 3, "all;a;c": 3 });
});

test("a view is found by its hash, in other looks too, and followed by its frames", () => {
  const tree = treeOf(stacks), deep = at(lookOf(tree), "main;cache;cache;grow");
  for (const other of [lookOf(tree, { order: "width" }), lookOf(treeOf(stacks + "zzz;other 5000\n"))]) {
    assert.equal(other.find(deep.hash)?.total, 11);
    assert.equal(other.follow(["main", "cache", "cache"].map((name) => other.tree.frames.name.indexOf(name))).total, 11);
  }
  assert.equal(lookOf(tree).find([1, 2]), null);
  const hashes = Object.keys(pathsOf(lookOf(tree).root)).map((path) => at(lookOf(tree), path.replace(/^all;?/, "")).hash.join());
  assert.equal(new Set(hashes).size, hashes.length);
  const above = lookOf(tree, { flow: "callers" }), caller = at(above, "grow;cache;cache");
  assert.equal(lookOf(tree, { flow: "callers", order: "width" }).find(caller.hash).total, 11);
  const without = lookOf(tree, { hidden: ["cache"] });
  assert.equal(without.find(at(without, "main;grow").hash).total, 11);
});

test("sixteen thousand levels do not make the viewer recurse", () => {
  const size = 16001, { frames } = treeOf(Array.from({ length: 7 }, (_, i) => `f${i} 1`).join("\n"));
  const tree = new Tree({ about: aboutOf(), frames, up: new Int32Array(size - 1), merged: null,
    frame: Int32Array.from({ length: size }, (_, n) => n % 7), own: [Float64Array.from({ length: size }, (_, n) => (n === size - 1 ? 10 : 0))] });
  const look = lookOf(tree);
  let view = look.root, depth = 0;
  for (; view.callees.length; ++depth) view = view.callees[0];
  assert.equal(depth, 16000);
  assert.equal(look.find(view.hash), view);
  assert.equal(view.path().length, 16001);
});

test("functions without a symbol may be left out, and are counted", () => {
  const tree = treeOf("main;[a+0x1];f 5\nmain;[a+0x1] 2\n[a+0x2] 1");
  tree.frames.kind.set([4, 4], 0);
  assert.deepEqual(tree.frames.name.slice(0, 2), ["[a+0x1]", "[a+0x2]"]);
  assert.deepEqual(unnamedIn(tree), [0, 1]);
  assert.equal(unnamedWords(tree, "hidden"), "2 functions without a symbol hidden");
  assert.equal(unnamedWords(tree, ""), "");
  assert.equal(unnamedWords(treeOf("main 1"), "hidden"), "");
  assert.deepEqual(pathsOf(lookOf(tree, { hidden: ["[a+0x1]", "[a+0x2]"] }).root), { "all": 8, "all;main": 7, "all;main;f": 5 });
});
