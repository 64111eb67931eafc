// SPDX-License-Identifier: BSD-2-Clause
import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { decodeTree, inflate } from "../../render/viewer/decode.mjs";
import { aboutOf, columnsOf } from "./trees.mjs";

function leb(value) {
  const out = [];
  let rest = BigInt(value);
  do {
    out.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return out;
}
const zigzag = (value) => leb(BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n)));
const text = (string) => [...leb(Buffer.byteLength(string)), ...Buffer.from(string)];

// The format is described in render/picture/data_block.h.
function encode(about, { names, kinds, up, frame, own, merged }) {
  const strings = ["", ...names];
  return Uint8Array.from([
    ...leb(strings.length), ...strings.flatMap(text),
    ...leb(names.length), ...names.flatMap((_, i) => leb(i + 1)), ...names.flatMap(() => leb(0)),
    ...kinds.flatMap(leb), ...names.flatMap(() => leb(0xabcdef)),
    ...leb(frame.length), ...up.flatMap(leb), ...frame.flatMap(leb),
    ...(about.merged ? merged.flatMap(leb) : []), ...own.flatMap((column) => column.flatMap(zigzag)),
  ]);
}

const stacks = "main;parse;grow 7\nmain;parse 300\nmain;log 5000000000\nmain;漢字 🔥 -12\n";

test("a block is read back as it was written", () => {
  const about = aboutOf(), columns = columnsOf(stacks, about), tree = decodeTree(about, encode(about, columns));
  assert.deepEqual(tree.frames.name, ["grow", "log", "main", "parse", "漢字 🔥"]);
  assert.deepEqual(tree.frames.colour[0], 0xabcdef);
  assert.deepEqual(Array.from(tree.parent), [-1, 0, 1, 1, 3, 1]);
  assert.deepEqual(Array.from(tree.end), [6, 6, 3, 5, 5, 6]);
  assert.deepEqual(Array.from(tree.own[0]), columns.own[0]);
  assert.equal(tree.total(0)[0], 5000000295);
});

test("what no reader should see as it is is replaced", () => {
  const about = aboutOf(), names = ["a\0\n\x1b[m\x7f", "b\u202etxt.exe\u2069", "c\u0085\ufffe\u{1ffff}", "d é漢\u200b🔥"];
  const tree = decodeTree(about, encode(about, { names, kinds: [0, 0, 0, 0], up: [], frame: [0], own: [[1]] }));
  assert.deepEqual(tree.frames.name, ["a���[m�", "b�txt.exe�", "c���", names[3]]);
});

test("figures beyond 2^53 and of both signs are exact", () => {
  const about = aboutOf({ big: true }), columns = columnsOf("a 9223372036854775807\nb -9223372036854775808\nc 9007199254740993", about);
  const tree = decodeTree(about, encode(about, columns));
  assert.deepEqual(Array.from(tree.own[0]), [0n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n]);
  for (const figure of [0, -1, 1, 2 ** 52, -(2 ** 52), 2 ** 53, -(2 ** 53)])
    assert.equal(decodeTree(aboutOf(), encode(aboutOf(), columnsOf(`a ${figure}`, aboutOf()))).own[0][1], figure);
});

test("merged boxes say how many frames they stand for", () => {
  const about = aboutOf({ merged: true }), columns = columnsOf("main;a 5\nmain;(+37) 9", about);
  const tree = decodeTree(about, encode(about, columns));
  assert.deepEqual(Array.from(tree.merged), columns.merged);
  assert.deepEqual([1, 2, 3].map((n) => tree.isMerged(tree.frame[n])), [false, true, false]);
  assert.equal(tree.frameCount(1), 1 + 1 + 37);
});

test("data that end too early are an error, wherever they end", () => {
  const about = aboutOf(), bytes = encode(about, columnsOf(stacks, about));
  for (let size = 0; size < bytes.length; ++size)
    assert.throws(() => decodeTree(about, bytes.subarray(0, size)), /end too early|frame is missing|leaves its root/, String(size));
});

test("no count of damaged data reserves what it has no bytes for", () => {
  for (const bytes of [leb(2 ** 45), [...leb(1), ...leb(2 ** 40)], [0, ...leb(2 ** 50)], [0, 0, ...leb(2 ** 31)]])
    assert.throws(() => decodeTree(aboutOf(), Uint8Array.from(bytes)), /end too early/);
});

test("a tree that leaves its root, a frame that is not there, a tree of nothing", () => {
  const about = aboutOf(), columns = columnsOf(stacks, about);
  assert.throws(() => decodeTree(about, encode(about, { ...columns, up: [0, 9, 0, 0, 0] })), /leaves its root/);
  assert.throws(() => decodeTree(about, encode(about, { ...columns, frame: [0, 1, 2, 3, 4, 5] })), /frame is missing/);
  assert.throws(() => decodeTree(about, Uint8Array.from([0, 0, 0])), /end too early|frame is missing|no tree/);
});

test("random bytes are a tree or an error, never more", () => {
  let seed = 1;
  const random = () => (seed = Math.imul(seed, 48271) >>> 1) & 255;
  const about = aboutOf(), good = encode(about, columnsOf(stacks, about));
  for (let i = 0; i < 3000; ++i) {
    const bytes = good.slice();
    for (let k = 0; k < 3; ++k) bytes[random() % bytes.length] = random();
    try {
      const tree = decodeTree(about, bytes);
      assert.ok(tree.end.every((end, n) => end > n && end <= tree.size));
    } catch (error) {
      assert.match(error.message, /end too early|frame is missing|leaves its root|no tree/);
    }
  }
});

test("inflate takes base64 in lines", async () => {
  const bytes = Uint8Array.from({ length: 5000 }, (_, i) => i % 251);
  const lines = gzipSync(bytes).toString("base64").replace(/(.{120})/g, "$1\n");
  assert.deepEqual(await inflate(`\n${lines}\n`), bytes);
  await assert.rejects(() => inflate("AAAA"));
});
