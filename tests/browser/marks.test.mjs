// SPDX-License-Identifier: BSD-2-Clause
// What points out leaks: the marks, their switch, and the way to them.
import assert from "node:assert/strict";
import test from "node:test";
import { address, each, open, until, zoomedName } from "./browser.mjs";

const layer = (page) => page.evaluate(() => {
  const { app } = document.querySelector(".memflame"), { layer: one } = app.stage.picture;
  return one && { flags: one.flags.map(({ text }) => text), stripes: one.stripes.length };
});
const pressed = (page) => page.locator(".mf-bar button", { hasText: /^Leaks$/ }).getAttribute("aria-pressed");

for (const file of each("leaks")) {
  test(`${file}: the leak is the first line, and is marked`, () => open(file, async (page) => {
    const first = page.locator(file.endsWith("svg") ? ".head .leak" : ".mf-head .leak").first();
    assert.match(await first.textContent(), /^leak: 2\.0 % of the blocks never come back/);
    assert.deepEqual((await layer(page)).flags, ["leak 19.1 KiB/s", "leak 200 B/s"]);
    if (file.endsWith("svg")) assert.equal(await page.locator(".marks .flag").count(), 2);
  }));

  test(`${file}: the marks have a switch, which the address keeps`, () => open(file, async (page) => {
    const button = page.locator(".mf-bar button", { hasText: /^Leaks$/ });
    assert.equal(await pressed(page), "true");
    await button.focus();
    await page.keyboard.press("Enter");
    assert.equal(await layer(page), null);
    assert.equal(await pressed(page), "false");
    assert.match(page.url(), /marks=off/);
    if (file.endsWith("svg")) assert.equal(await page.locator(".marks").count(), 0);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("Shift+L");
    assert.notEqual(await layer(page), null);
    assert.doesNotMatch(page.url(), /marks=off/);
  }));

  test(`${file}: a link with the marks off`, () => open(file, async (page) => {
    assert.equal(await layer(page), null);
  }, { url: `${address(file)}#marks=off` }));

  test(`${file}: the caption and a key lead to the leaks`, () => open(file, async (page) => {
    await page.locator(".leak").first().click();
    assert.match(await zoomedName(page), /^server::Journal</);
    assert.match(await page.locator(".mf-info").textContent(), /leak: 2\.0 %/);
    assert.equal(await page.evaluate(() => document.querySelector(".memflame").app.zoomed.parent !== null), true);
    await page.keyboard.press("l");
    await until(page, () => /fewer/.test(document.querySelector(".mf-info").textContent));
    await page.keyboard.press("l");
    await until(page, () => /leak: 2\.0 %/.test(document.querySelector(".mf-info").textContent));
  }));

  test(`${file}: marks follow every view`, () => open(file, async (page) => {
    for (const key of ["v", "i", "o"]) {
      await page.keyboard.press(key);
      assert.equal((await layer(page)).flags.length, 2, key);
    }
  }));
}

test("leaks.svg: without scripts", () => open("leaks.svg", async (page) => {
  assert.equal(await page.locator(".marks .flag").count(), 2);
  assert.match(await page.locator(".marks title").first().textContent(), /leak: 2\.0 %/);
}, { javaScriptEnabled: false }));

for (const file of each("flame"))
  test(`${file}: without verdicts there is no switch`, () => open(file, async (page) => {
    assert.equal(await layer(page), null);
    assert.equal(await page.locator(".mf-bar button:visible", { hasText: /leak/i }).count(), 0);
  }));
