// SPDX-License-Identifier: BSD-2-Clause
// What an interpreter does between two functions of its language: one box, until it is clicked.
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { address, boxes, click, each, elements, open, ready, work, zoomedName, zoomTo } from "./browser.mjs";

const names = async (page) => (await boxes(page)).map(({ name }) => name).sort();
const always = ["all", "eval", "key (app.py:5)", "main", "resize", "route (app.py:3)", "sort", "thumb (app.py:9)"];
const folded = [...always, "[native]"].sort(), shown = [...always, "call", "eval", "eval"].sort();
const toggle = (page) => page.getByRole("button", { name: "Interpreter folded" });
const pressed = (page) => toggle(page).getAttribute("aria-pressed");

for (const file of each("interpreter")) {
  test(`${file}: a click on the box shows what the interpreter does, a button folds it`, () => open(file, async (page) => {
    assert.deepEqual(await names(page), folded);
    assert.equal((await boxes(page)).find(({ name }) => name === "[native]").total, 7n << 20n);
    await page.screenshot({ path: path.join(work, "screenshots", `${file}-folded.png`) });
    await click(page, "[native]");
    assert.deepEqual(await names(page), shown);
    assert.equal(await pressed(page), "false");
    await page.screenshot({ path: path.join(work, "screenshots", `${file}-unfolded.png`) });
    await toggle(page).click();
    assert.deepEqual(await names(page), folded);
    assert.equal(await pressed(page), "true");
  }));

  test(`${file}: the key p, the menu and the address do the same, and a zoom stays where it can`, () => open(file, async (page) => {
    await zoomTo(page, "thumb (app.py:9)");
    await page.keyboard.press("p");
    assert.equal(await zoomedName(page), "route (app.py:3)");
    await zoomTo(page, "thumb (app.py:9)");
    await page.keyboard.press("p");
    assert.equal(await zoomedName(page), "thumb (app.py:9)");
    await page.keyboard.press("0");
    await click(page, "[native]", { button: "right" });
    await page.getByRole("menuitem", { name: "Show the interpreter's functions" }).click();
    assert.deepEqual(await names(page), shown);
    assert.match(await page.evaluate(() => location.hash), /runtime=shown/);
    await page.goto(`${address(file)}#runtime=shown`);
    await page.reload();
    await ready(page);
    assert.deepEqual(await names(page), shown);
  }));
}

test("interpreter.svg: readers without a script see it folded", () => open("interpreter.svg", async (page) => {
  const drawn = (await elements(page)).map(({ text }) => text);
  assert.ok(drawn.includes("[native]"), drawn.join());
  assert.ok(!drawn.includes("call"), drawn.join());
}, { javaScriptEnabled: false }));
