// SPDX-License-Identifier: BSD-2-Clause
// The page of a timeline: the values at the pointer, and with the arrow keys.
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { matrix, open, require, work } from "./browser.mjs";

const reads = (page) => page.evaluate(() => [...document.querySelectorAll(".read")].map((one) => one.textContent));

// A share of the first plot's width.
const pointAt = async (page, share) => {
  const { x, y, width, height } = await page.evaluate(() => {
    const box = document.querySelector(".plot .base").getBoundingClientRect();
    return { x: box.x, y: box.y, width: box.width, height: box.height };
  });
  await page.mouse.move(x + width * share, y + height - 5);
};

test("timeline.html: the lines show their values at the pointer", () => open("timeline.html", async (page) => {
  const usual = await reads(page);
  assert.ok(usual.includes("most 10.0 MiB at 10 s · last 9.0 MiB"), usual.join("\n"));
  await pointAt(page, 0.55);
  const there = await reads(page);
  assert.ok(there.includes("12.0 MiB at 33.0 s"), there.join("\n"));
  assert.ok(there.includes("not known at 33.0 s"), there.join("\n"));
  await page.screenshot({ path: path.join(work, "screenshots", "timeline.html-pointer.png") });
  await page.mouse.move(1, 1);
  assert.deepEqual(await reads(page), usual);
}));

test("timeline.html: arrow keys", () => open("timeline.html", async (page) => {
  const usual = await reads(page);
  await page.keyboard.press("ArrowRight");
  assert.ok((await reads(page)).includes("0 B at 0.0 s"));
  await page.keyboard.press("Shift+ArrowRight");
  assert.ok((await reads(page)).includes("0 B at 3.0 s"));
  await page.keyboard.press("Escape");
  assert.deepEqual(await reads(page), usual);
}));

for (const file of matrix(["timeline.svg", "timeline.html"]))
  for (const colorScheme of matrix(["light", "dark"]))
    test(`${file}: axe finds nothing serious, ${colorScheme}`, () => open(file, async (page) => {
      assert.equal(await page.evaluate(() => document.querySelector("parsererror")), null);
      await page.evaluate(require("axe-core").source);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      assert.deepEqual(violations.filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes[0].html}`), []);
      await page.screenshot({ path: path.join(work, "screenshots", `${file}-${colorScheme}.png`) });
    }, { colorScheme, bypassCSP: true }));
