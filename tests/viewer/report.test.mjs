// SPDX-License-Identifier: BSD-2-Clause
// The sums of a report's rows, against rows that are looked at one by one; commands and times.
import assert from "node:assert/strict";
import test from "node:test";
import { commandOf, exactSeconds } from "../../render/report/command.mjs";
import { quoted } from "../../render/viewer/command_line.mjs";
import { selectedLine, valueAt } from "../../render/report/lines.mjs";
import { decodeRows, never } from "../../render/report/rows.mjs";
import { addUp, liveLine, nodesOf, partOf, partsOf, Selection, sharesOf } from "../../render/report/selection.mjs";
import { gather } from "../../render/report/shapes.mjs";
import { lineOfMark } from "../../render/report/verdicts.mjs";
import { setBlame } from "../../render/viewer/blame.mjs";
import { marksOf } from "../../render/viewer/marks.mjs";
import { treeFor } from "../../render/viewer/modules.mjs";
import { drawnAt } from "../../render/viewer/tree.mjs";
import { parseTime, ticksOf, timeText } from "../../render/report/times.mjs";
import { at, lookOf, pathsOf, treeOf } from "./trees.mjs";

let seed = 7;
const below = (limit) => (seed = (seed * 48271) % 2147483647) % limit;

// Rows as decodeRows() returns them; `big`: figures near 2^60.
function randomRows(nodes, { bins, count, big = false, signed = false }) {
  const made = Array.from({ length: count }, () => {
    const born = below(bins), freed = signed || below(3) === 0 ? never : born + below(bins - born);
    const value = () => {
      const one = BigInt(below(1000) - (signed ? 500 : 0)) + (big ? 1n << BigInt(50 + below(3)) : 0n);
      return big ? one : Number(one);
    };
    return { node: below(nodes), born, freed, figures: [value(), value()] };
  }).sort((a, b) => a.node - b.node);
  const Column = big ? BigInt64Array : Float64Array, seconds = Float64Array.from({ length: bins + 1 }, (_, i) => i * 1.5);
  return {
    edges: Array.from(seconds, (time) => BigInt(time * 1e9)), seconds, bins,
    node: Int32Array.from(made, ({ node }) => node), born: Uint16Array.from(made, ({ born }) => born),
    freed: Uint16Array.from(made, ({ freed }) => freed), columns: [0, 1].map((c) => Column.from(made, ({ figures }) => figures[c])),
  };
}

// By what is true of a single block: allocated in the bin `born`, that is after edge `born`, until the next one.
const naive = {
  blocks: {
    end: ({ born, freed }, a, b) => (born + 1 <= b && freed + 1 > b ? 1 : 0),
    growth: (row, a, b) => naive.blocks.end(row, a, b) - naive.blocks.end(row, 0, a),
    allocated: ({ born }, a, b) => (a < born + 1 && born + 1 <= b ? 1 : 0),
    freed: ({ freed }, a, b) => (a < freed + 1 && freed + 1 <= b ? 1 : 0),
    leaked: (row, a, b) => (row.freed === Infinity ? naive.blocks.allocated(row, a, b) : 0),
    live: ({ born, freed }, a, b) => (born + 1 <= b && freed + 1 > a ? 1 : 0),
  },
  changes: {
    end: ({ born }, a, b) => (born < b ? 1 : 0),
    growth: (row, a, b) => naive.changes.end(row, a, b) - naive.changes.end(row, 0, a),
  },
};

const types = [{ name: "bytes", unit: "bytes" }, { name: "blocks", unit: "count" }];

for (const kind of ["blocks", "changes"])
  for (const big of [false, true])
    test(`sums of random rows: ${kind}, ${big ? "more than 53 bits" : "numbers"}`, () => {
      assert.deepEqual(partsOf[kind].map(([id]) => id).sort(), Object.keys(naive[kind]).sort());
      for (let round = 0; round < 60; ++round) {
        const bins = 1 + below(20), rows = randomRows(9, { bins, count: below(300), big, signed: kind === "changes" });
        const a = below(bins), b = a + 1 + below(bins - a);
        for (const part of partsOf[kind]) {
          const own = rows.columns.map((column) => new column.constructor(9).fill(big ? 5n : 5));
          const shares = sharesOf(rows, part, a, b);
          addUp(rows, shares, types, own);
          const wanted = [0, 1].map(() => Array.from({ length: 9 }, () => 0n));
          for (let i = 0; i < rows.node.length; ++i) {
            const row = { born: rows.born[i], freed: rows.freed[i] === never ? Infinity : rows.freed[i] };
            const times = naive[kind][part[0]](row, a, b);
            assert.equal(shares[i], times, `${part[0]} ${JSON.stringify(row)} ${a}..${b}`);
            rows.columns.forEach((column, c) => { wanted[c][rows.node[i]] += BigInt(times) * BigInt(column[i]); });
          }
          assert.deepEqual(own.map((column) => Array.from(column, BigInt)), wanted, part[0]);
        }
      }
    });

test("errors add up, of what has gone too", () => {
  const rows = { node: [0, 0], born: [0, 1], freed: [1, never], columns: [Float64Array.of(8, 5), Float64Array.of(4, 3)] };
  const own = [new Float64Array(1), new Float64Array(1)];
  addUp(rows, sharesOf(rows, partOf("blocks", "growth"), 1, 2), [{ unit: "bytes" }, { unit: "variance" }], own);
  assert.deepEqual(own.map(([sum]) => sum), [-3, 7]);
});

test("the line of live figures", () => {
  const bins = 12, rows = randomRows(5, { bins, count: 200 }), line = liveLine(rows, 0, (i) => rows.node[i] === 2);
  for (let edge = 0; edge <= bins; ++edge) {
    let sum = 0;
    for (let i = 0; i < rows.node.length; ++i)
      if (rows.node[i] === 2 && rows.born[i] < edge && rows.freed[i] >= edge) sum += rows.columns[0][i];
    assert.equal(line[edge], sum);
  }
});

const stacks = "main;a;x 1 1\nmain;b 2 1\nmain;b;x 4 1";
const treeWith = () => treeOf(stacks, { types, shown: 0 });

test("a verdict has the figures of its stack, whoever is blamed for them", () => {
  const tree = treeOf("main;f;malloc 8 1", { types });
  const leaf = [...tree.frame.keys()].find((n) => tree.own[0][n] === 8);
  tree.inner = Uint8Array.from(tree.frames.name, (name) => Number(name === "malloc"));
  tree.about.marks = { list: [{ node: leaf, text: "leak" }] };
  setBlame(tree, "caller");
  const [mark] = marksOf(tree), rows = { node: Int32Array.of(leaf), born: Uint16Array.of(1), freed: Uint16Array.of(never), columns: [Float64Array.of(8)], bins: 3 };
  assert.notEqual(mark.node, leaf);
  assert.deepEqual([...lineOfMark(rows, mark, 0)], [0, 0, 8, 8]);
});

test("which nodes a view stands for", () => {
  const tree = treeWith(), nodes = (view) => { const inside = nodesOf(view); return inside && [...inside.keys()].filter((n) => inside[n]); };
  const look = lookOf(tree), callers = lookOf(tree, { flow: "callers" });
  assert.equal(nodes(look.root), null);
  assert.deepEqual(nodes(at(look, "main;b")), [4, 5]);
  assert.deepEqual(nodes(at(callers, "x")), [3, 5]);
  assert.deepEqual(nodes(at(callers, "b")), [4]);
});

test("a state sets the figures of the tree, once", () => {
  const tree = treeWith(), rows = randomRows(6, { bins: 8, count: 100 }), selection = new Selection(tree, "blocks", rows);
  assert.equal(selection.select({ during: "", part: "" }), true);
  assert.equal(selection.isWhole, true);
  const before = tree.total(0)[0];
  assert.equal(selection.select({ during: "", part: "end" }), false);
  assert.equal(selection.select({ during: "1.5-6", part: "allocated" }), true);
  assert.deepEqual([selection.a, selection.b, selection.part[0]], [1, 4, "allocated"]);
  assert.notEqual(tree.total(0)[0], before);
  assert.equal(selection.select({ during: "1.6-5.9", part: "allocated" }), false);  // the nearest edges
  assert.deepEqual(selection.rangeOf("6-1.5"), [0, 8]);
  assert.deepEqual(selection.rangeOf("3-3"), [0, 8]);
  assert.equal(selectedLine(selection, lookOf(tree).root, 0).length, 9);
});

test("an interpreter is one box in any selection, and its box has the rows of what it stands for", () => {
  const tree = treeOf("main;f.py;call;g.py;malloc 8 1\nmain;f.py;call;malloc 4 1\n[native] 0 0", { types, shown: 0 }), { name } = tree.frames;
  tree.about.runtime = { native: name.indexOf("[native]"), scripts: [name.indexOf("f.py"), name.indexOf("g.py")] };
  tree.inner = Uint8Array.from(name, (one) => Number(one === "malloc"));
  const [deep, flat] = [8, 4].map((bytes) => tree.own[0].indexOf(bytes));
  const list = [[deep, 0, 8], [flat, 1, 4]].sort(([a], [b]) => a - b), column = (i) => list.map((row) => row[i]);
  const rows = { seconds: Float64Array.of(0, 1, 2), edges: [0n, 10n ** 9n, 2n * 10n ** 9n], bins: 2, node: Int32Array.from(column(0)), born: Uint16Array.from(column(1)),
                 freed: Uint16Array.of(never, never), columns: [Float64Array.from(column(2)), Float64Array.of(1, 1)] };
  const selection = new Selection(tree, "blocks", rows), folded = () => treeFor(tree, { boxes: "", runtime: "" });
  const inside = (path, flow) => [...nodesOf(at(lookOf(folded(), flow), path)).keys()].filter((n) => nodesOf(at(lookOf(folded(), flow), path))[n] && tree.own[0][n]);
  for (const blame of ["all", "caller"]) {
    setBlame(tree, blame);
    const last = blame === "all" ? ";malloc" : "";
    selection.select({ during: "0-1", part: "allocated" });
    const made = folded();
    assert.deepEqual(pathsOf(lookOf(made).root)[`all;main;f.py;[native];g.py${last}`], 8);
    assert.equal(pathsOf(lookOf(made).root)["all;main;f.py;call"], undefined);
    selection.select({ during: "1-2", part: "allocated" });
    assert.equal(folded(), made);
    const paths = pathsOf(lookOf(made).root);
    assert.equal(paths[`all;main;f.py;call${last}`], 4);
    assert.equal(paths["all;main;f.py;[native]"], undefined);
    selection.select({ during: "", part: "end" });
    assert.equal(pathsOf(lookOf(folded()).root)["all;main;f.py"], 12);
    assert.deepEqual(inside("main;f.py;[native]"), [deep]);
    assert.deepEqual(inside("main;f.py;call"), [flat]);
    assert.deepEqual(inside("main;f.py"), [deep, flat].sort((a, b) => a - b));
    assert.deepEqual(inside(blame === "all" ? "malloc" : "g.py", { flow: "callers" }), blame === "all" ? [deep, flat].sort((a, b) => a - b) : [deep]);
    assert.equal(made.frames.name[made.frame[drawnAt(made, deep)]], blame === "all" ? "malloc" : "g.py");
  }
});

test("commands", () => {
  const edges = [0n, 1000000001n, 12500000000n, 40000000000n], rows = { edges, bins: 3 };
  const of = (kind, part, a, b, { column = 0, file = "run.mfr", options = [] } = {}) => {
    const tree = { about: { types } };
    return commandOf({ kind, part: partOf(kind, part), a, b, rows, tree }, { file, icicle: false, options }, { column, type: types[column], id: types[column].name })
      .replace("memflame render ", "").replace(" > part.svg", "");
  };
  assert.equal(of("blocks", "end", 0, 3), "run.mfr --view live");
  assert.equal(of("blocks", "end", 1, 2), "run.mfr --view live --at 12.5s");
  assert.equal(of("blocks", "allocated", 0, 3), "run.mfr --view total");
  assert.equal(of("blocks", "allocated", 0, 2), "run.mfr --view total --at 12.5s");
  assert.equal(of("blocks", "allocated", 1, 2), "run.mfr --view total --between 1.000000001s..12.5s");
  assert.equal(of("blocks", "allocated", 1, 3, { column: 1 }), "run.mfr --view total --between 1.000000001s.. --value total-count");
  assert.equal(of("blocks", "freed", 1, 2), "run.mfr --view freed --between 1.000000001s..12.5s");
  assert.equal(of("blocks", "leaked", 1, 2), "run.mfr --view leaked --between 1.000000001s..12.5s");
  assert.equal(of("blocks", "growth", 1, 2), "run.mfr --view growth --between 1.000000001s..12.5s");
  assert.equal(of("blocks", "growth", 0, 2), "run.mfr --view live --at 12.5s");
  assert.equal(of("blocks", "live", 1, 2), "run.mfr --view total --where 'live in 1.000000001s..12.5s'");
  assert.equal(of("blocks", "live", 1, 3), "run.mfr --view total --where 'live in 1.000000001s..end'");
  assert.equal(of("blocks", "live", 0, 2), "run.mfr --view total --at 12.5s");
  assert.equal(of("changes", "end", 1, 3), "run.mfr --value bytes");
  assert.equal(of("changes", "growth", 0, 2), "run.mfr --at 12.5s --value bytes");
  assert.equal(of("changes", "growth", 1, 2), "run.mfr --between 1.000000001s..12.5s --value bytes");
  assert.equal(of("blocks", "end", 0, 3, { file: "-it's $(a).mfr" }), "'./-it'\\''s $(a).mfr' --view live");
  assert.equal(of("blocks", "live", 1, 3, { options: ["--where", "size > 4K", "--freed"] }),
    "run.mfr --where 'size > 4K' --freed --view total --where 'live in 1.000000001s..end'");
  assert.equal(quoted("/tmp/a b"), "'/tmp/a b'");
  assert.equal(exactSeconds(86400000000001n), "86400.000000001");
  rows.edges = [0n, 1234567123456789123n, 1300000000000000000n];
  rows.bins = 2;
  assert.equal(of("blocks", "live", 1, 2), "run.mfr --view total --where 'live in 1234567123s456789123ns..end'");
  assert.equal(of("blocks", "end", 0, 1), "run.mfr --view live --at 1234567123s456789123ns");
});

test("times", () => {
  const run = { end: 60, peak: 35.5, marks: [["deploy", 12]] };
  const cases = { 90: 90, "1m30s": 90, "1:30": 90, "1:00:01.5": 3601.5, "12.5 s": 12.5, "100ms": 0.1, "1 h 2 min": 3720,
                  "50%": 30, start: 0, End: 60, peak: 35.5, deploy: 12, "": null, "5 apples": null, "-3": null, "1s 2x": null };
  for (const [text, wanted] of Object.entries(cases)) assert.equal(parseTime(text, run), wanted, text);
  assert.deepEqual([timeText(12.345, 60), timeText(3.0004, 5), timeText(75, 300), timeText(3725.04, 7200), timeText(59.99, 7200)],
    ["12.3 s", "3.000 s", "1:15.0", "1:02:05", "1:00"]);
  assert.deepEqual(ticksOf(60, 7), [0, 10, 20, 30, 40, 50, 60]);
  assert.equal(ticksOf(7200, 5).at(1), 1800);
  assert.deepEqual([valueAt({ times: [1, 2], values: [5, null] }, 0.5), valueAt({ times: [1, 2], values: [5, null] }, 1.5)], [null, 5]);
});

test("lifetimes and sizes", () => {
  const shapes = { lifetime: [3, 3, 9], size: [5, 5, 6], born: [0, 1, 1], freed: [0, never, 1], bytes: [40, 50, 70], blocks: [1, 1, 1] };
  const { cells, sizes } = gather({ shapes }, partOf("blocks", "allocated"), 0, 2);
  assert.deepEqual(cells.map(({ lifetime, size, stays, bytes }) => [lifetime, size, stays, bytes]),
    [[3, 5, false, 40], [3, 5, true, 50], [9, 6, false, 70]]);
  assert.deepEqual(sizes, [{ size: 5, bytes: 90, blocks: 2 }, { size: 6, bytes: 70, blocks: 1 }]);
  assert.deepEqual(gather({ shapes }, partOf("blocks", "freed"), 1, 2).sizes, [{ size: 6, bytes: 70, blocks: 1 }]);
});

test("a block that is cut, or points beyond the tree, is refused", () => {
  const tree = treeOf("main 1 1", { types }), facts = { kind: "blocks", lines: [] };
  const good = [3, 0, 10, 10, 1, 1, 0, 2, 16, 2, 0, 0];
  assert.deepEqual(decodeRows(tree, facts, Uint8Array.from(good)).columns.map(([one]) => one), [8, 1]);
  for (let size = 0; size < good.length; ++size) assert.throws(() => decodeRows(tree, facts, Uint8Array.from(good.slice(0, size))), `${size} bytes`);
  for (const [place, value] of [[5, 2], [6, 2], [7, 3]]) {
    const bad = [...good];
    bad[place] = value;
    assert.throws(() => decodeRows(tree, facts, Uint8Array.from(bad)), `${value} at ${place}`);
  }
});
