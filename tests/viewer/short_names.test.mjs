// SPDX-License-Identifier: BSD-2-Clause
// The pictures that memflame writes shorten names as the viewer does: the same examples are checked
// by tests/render/picture/short_name_test.cc.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { cells, shorten } from "../../render/viewer/label.mjs";

const examples = JSON.parse(readFileSync(new URL("../data/short_names.json", import.meta.url), "utf8"));

test("names are shortened as in static pictures", () => {
  assert.ok(examples.length > 300);
  for (const [name, fits, side, wanted] of examples) {
    assert.equal(shorten(name, fits, side), wanted, `${name} in ${fits} cells, ${side}`);
    assert.ok(cells(wanted) <= fits, wanted);
  }
});
