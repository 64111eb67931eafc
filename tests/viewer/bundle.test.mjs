// SPDX-License-Identifier: BSD-2-Clause
// The script in pictures is all modules in one file, without imports. These are the rules that this needs.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../render");
const modules = readdirSync(path.join(folder, "viewer")).sort();
const text = (name) => readFileSync(path.join(folder, "viewer", name), "utf8");
const order = /foreach\(module ([^)]*)\)/.exec(readFileSync(path.join(folder, "CMakeLists.txt"), "utf8"))[1].split(/\s+/);

test("every module is part of the script, after those that it imports", () => {
  assert.deepEqual(order.map((name) => `${name}.mjs`).sort(), modules);
  const cycles = new Set(["input", "app"]);
  order.forEach((name, i) => {
    for (const [, other] of text(`${name}.mjs`).matchAll(/^import .* from "\.\/(\w+)\.mjs";$/gm))
      assert.ok(order.indexOf(other) < i || cycles.has(other), `${name} imports ${other}`);
  });
});

test("top-level names are the only ones of their kind", () => {
  const seen = new Map();
  for (const name of modules)
    for (const [, one] of text(name).matchAll(/^(?:export )?(?:async )?(?:const|let|function|class) (\w+)/gm)) {
      assert.equal(seen.get(one), undefined, `${one} in ${name}`);
      seen.set(one, name);
    }
});

test("the script parses, and can stand in any document", () => {
  for (const name of modules) {
    const source = text(name);
    assert.doesNotMatch(source, /<\/script|\]\]>|<!--/i, name);
    for (const line of source.match(/^import [^]*?;$/gm) ?? []) assert.doesNotMatch(line, /\n/, `${name}: an import on several lines`);
    assert.equal((source.match(/`[^`]*`/g) ?? []).find((one) => one.includes("\n")), undefined, `${name}: a text on several lines`);
    assert.ok(source.trimEnd().split("\n").length <= 300, `${name} is long`);
  }
  // Like bundle.cmake.
  const script = order.map((name) => `\n${text(`${name}.mjs`)}`.replace(/\nimport [^\n]*/g, "\n").replace(/\nexport /g, "\n")
    .replace(/\n *\/\/[^\n]*/g, "\n").replace(/  \/\/ [^\n]*/g, "").replace(/\n[ \n]*/g, "\n").replaceAll(" => ", "=>")).join("");
  new vm.Script(`(function () {\n"use strict";\n${script}})();`);
  assert.ok(Buffer.byteLength(script) < 130 * 1024, `${Buffer.byteLength(script)} bytes`);
});
