// SPDX-License-Identifier: BSD-2-Clause
// What leaves a picture: a command for a shell, an address for an editor.
import assert from "node:assert/strict";
import test from "node:test";
import { commandLine, literal, quoted } from "../../render/viewer/command_line.mjs";
import { editorLink } from "../../render/viewer/editor.mjs";

const appOf = (changes = {}) => {
  const measure = { id: "live", column: 0 }, tree = { frames: { name: ["main", "it's", "twice", "twice"] }, merged: null,
    about: { types: [{ name: "live", unit: "bytes" }, { name: "e", unit: "variance" }] } };
  return { state: { hidden: [], focus: -1, view: "" }, tree, base: tree, measure, first: measure, around: false, order: "name", cut: "right", upwards: true, ...changes };
};
const state = (changes) => ({ hidden: [], focus: -1, view: "", ...changes });

test("a command for what is shown, or none", () => {
  globalThis.location = { pathname: "/somewhere/my%20graph.html" };
  assert.equal(commandLine(appOf()), "memflame render 'my graph.html' -o graph.svg");
  assert.equal(commandLine(appOf({ state: state({ hidden: [0, 1], view: "callers" }), order: "width", cut: "left", upwards: false })),
    "memflame render 'my graph.html' --hide '^main$|^it'\\''s$' --reverse --icicle --sort width --elide left -o graph.svg");
  assert.equal(commandLine(appOf({ state: state({ focus: 0 }), measure: { id: "live-count", column: 1 - 1 } })),
    "memflame render 'my graph.html' --show-from '^main$' --value live-count -o graph.svg");
  assert.equal(commandLine(appOf({ state: state({ hidden: [2] }) })), "", "two functions have this name");
  assert.equal(commandLine(appOf({ around: true })), "");
  assert.equal(commandLine(appOf({ measure: { id: "live-error", column: 1 } })), "");
  globalThis.location = { pathname: "/-x.html" };
  assert.equal(commandLine(appOf()), "memflame render ./-x.html -o graph.svg");
  const merged = appOf();
  merged.tree.merged = [1];
  assert.equal(commandLine(merged), "memflame render FILE -o graph.svg");
});

test("names are quoted for a shell and for expressions", () => {
  assert.equal(quoted("a b'$(x)"), "'a b'\\''$(x)'");
  assert.equal(literal("operator()(int*)"), "^operator\\(\\)\\(int\\*\\)$");
});

test("an editor's address has the place, and no other power", () => {
  const of = (template, file = "/src/a b/ü#?.cc", line = 7) => editorLink(template, file, line);
  assert.equal(of("vscode://file/{file}:{line}"), "vscode://file//src/a%20b/%C3%BC%23%3F.cc:7");
  assert.equal(of("idea://open?file={file}&line={line}", "/a&line=9.cc", 3), "idea://open?file=/a%26line%3D9.cc&line=3");
  assert.equal(of("vscode://file/{file}:{line}", "/a$&{line}.cc", 0), "vscode://file//a%24%26%7Bline%7D.cc:1");
  for (const bad of ["", "{file}", "vscode://file/", "javascript:alert('{file}')", " javascript:{file}", "JavaScript:{file}", "java\nscript:{file}",
                     "data:text/html,{file}", "vbscript:{file}", "blob:{file}", "file:///{file}", "about:{file}", "view-source:{file}", "://{file}"])
    assert.equal(of(bad), "", bad);
});
