// SPDX-License-Identifier: BSD-2-Clause
// The script of reports is the viewer's modules and its own in one file: the same rules as in bundle.test.mjs.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../render");
const lists = readFileSync(path.join(folder, "CMakeLists.txt"), "utf8");
const listed = (variable, place) => new RegExp(`foreach\\(${variable} ([^)]*)\\)`).exec(lists)[1].split(/\s+/).map((name) => `${place}/${name}.mjs`);
const left = /list\(REMOVE_ITEM in_report ([^)]*)\)/.exec(lists)[1].split(/\s+/);
const own = listed("part", "report"), order = listed("module", "viewer").filter((name) => !left.includes(name)).concat(own);
const text = (name) => readFileSync(path.join(folder, name), "utf8");

test("every module of a report is part of its script, after those that it imports", () => {
  assert.deepEqual(own.slice().sort(), readdirSync(path.join(folder, "report")).filter((name) => name.endsWith(".mjs")).map((name) => `report/${name}`).sort());
  own.forEach((name) => {
    for (const [, other] of text(name).matchAll(/^import .* from "(\S+)";$/gm)) {
      const at = order.indexOf(path.join(path.dirname(name), other));
      assert.ok(at >= 0 && at < order.indexOf(name), `${name} imports ${other}`);
    }
  });
});

test("the script of reports parses, and can stand in any document", () => {
  const seen = new Map();
  for (const name of order)
    for (const [, one] of text(name).matchAll(/^(?:export )?(?:async )?(?:const|let|function|class) (\w+)/gm)) {
      assert.equal(seen.get(one), undefined, `${one} in ${name}`);
      seen.set(one, name);
    }
  for (const name of own) {
    const source = text(name);
    assert.doesNotMatch(source, /<\/script|\]\]>|<!--/i, name);
    for (const line of source.match(/^import [^]*?;$/gm) ?? []) assert.doesNotMatch(line, /\n/, `${name}: an import on several lines`);
    assert.equal((source.match(/`[^`]*`/g) ?? []).find((one) => one.includes("\n")), undefined, `${name}: a text on several lines`);
    assert.ok(source.trimEnd().split("\n").length <= 300, `${name} is long`);
  }
  // Like bundle.cmake.
  const script = order.map((name) => `\n${text(name)}`.replace(/\nimport [^\n]*/g, "\n").replace(/\nexport /g, "\n")
    .replace(/\n *\/\/[^\n]*/g, "\n").replace(/  \/\/ [^\n]*/g, "").replace(/\n[ \n]*/g, "\n").replaceAll(" => ", "=>")).join("");
  new vm.Script(`(function () {\n"use strict";\n${script}})();`);
});
