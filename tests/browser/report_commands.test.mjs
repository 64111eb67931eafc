// SPDX-License-Identifier: BSD-2-Clause
// Reports of real runs: whatever is shown of a range, the command that the page names has the same figures, stack by
// stack and to the byte. $MEMFLAME is memflame; without it there is nothing to compare with.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { open, work } from "./browser.mjs";

const memflame = process.env.MEMFLAME, brushes = process.env.MEMFLAME_LONG_TESTS ? 100 : 25, folder = path.join(work, "runs of a program");
const run = (program, ...args) => execFileSync(program, args, { cwd: folder, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }).toString();

// Blocks of all ages; some are moved, some stay.
const script = `
import random, time
chance = random.Random(7)
kept, short = [], []
def grow(): kept.append(bytearray(chance.randrange(1, 5000)))
def churn(): short.append("x" * chance.randrange(600, 9000)); del short[:-20]
def extend(): kept[-1].extend(b"y" * chance.randrange(3000))
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for _ in range(100): chance.choice((grow, churn, churn, churn, extend))() if kept else grow()
    if chance.random() < 0.02: del kept[:len(kept) // 2]
    time.sleep(0.005)
`;

// Chooses at random what is shown; returns the command, and the sums of stacks in the shown column.
const choose = (page, dice) => page.evaluate(({ dice: [first, second, third, fourth], special }) => {
  const { app, run: { rows: { edges, bins } } } = document.querySelector(".memflame"), { tree } = app;
  const a = special === 0 ? 0 : Math.floor(first * bins), b = special === 1 ? bins : a + 1 + Math.floor(second * (bins - a));
  const parts = [...document.querySelectorAll(".mf-parts input")], { types } = tree.about;
  const seconds = (ns) => `${ns / 1000000000n}.${String(ns % 1000000000n).padStart(9, "0")}`;
  app.change({ during: `${seconds(edges[a])}-${seconds(edges[b])}`, part: parts[Math.floor(third * parts.length)].value,
               value: types[Math.floor(fourth * types.length)].name }, { replace: true });
  const own = tree.own[app.measure.column], sums = {};
  for (let node = 1; node < tree.size; ++node) {
    if (!own[node]) continue;
    const frames = [];
    for (let n = node; n > 0; n = tree.parent[n]) frames.push(tree.frames.name[tree.frame[n]]);
    const stack = frames.reverse().join(";");
    sums[stack] = String(BigInt(sums[stack] ?? 0) + BigInt(own[node]));
  }
  return { command: document.querySelector(".mf-command code").textContent, sums };
}, dice);

function commandSums(command) {
  const line = command.replace(/^memflame/, '"$0"').replace(/ > part\.svg$/, " --format json");
  const { stacks, shown } = JSON.parse(run("/bin/sh", "-c", line, memflame)), sums = {};
  for (const { frames, values } of stacks) {
    const stack = frames.join(";");
    sums[stack] = String(BigInt(sums[stack] ?? 0) + BigInt(values[shown]));
  }
  return Object.fromEntries(Object.entries(sums).filter(([, sum]) => sum !== "0"));
}

// [recording, options of record, options of report]
const reports = [
  ["it's all.mfr", ["--detail", "events"], []], ["a series.mfr", ["--interval", "0.1"], []],
  ["it's all, selected.mfr", ["--detail", "events"], ["--icicle", "--let", "big=size > 1K", "--where", "big or leaked", "--max-lifetime", "1s"]],
];

for (const [recording, options, selected] of reports)
  test(`${recording}: ${brushes} commands have the figures of the page`, { skip: !memflame && "no $MEMFLAME", timeout: 600000 }, async () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "program.py"), script);
    run(memflame, "record", "--inside", ...options, "-o", recording, "--", "env", "PYTHONMALLOC=malloc", "python3", "-S", "program.py");
    run(memflame, "report", recording, ...selected, "-o", `${recording}.html`);
    let seed = 11;
    const next = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
    await open(`${recording}.html`, async (page) => {
      const commands = new Set();
      for (let i = 0; i < brushes; ++i) {
        const { command, sums } = await choose(page, { dice: [next(), next(), next(), next()], special: i % 6 });
        assert.deepEqual(sums, commandSums(command), command);
        commands.add(command);
      }
      assert.ok(commands.size > brushes / 5, `${commands.size} different commands`);
    }, { url: pathToFileURL(path.join(folder, `${recording}.html`)).href });
  });
