// SPDX-License-Identifier: BSD-2-Clause
// Source lines: in the tooltip, in the line of details, in the table and around a function.
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { address, boxes, each, middleOf, open, work, zoomTo } from "./browser.mjs";

// The tooltip of the box with a name.
const told = async (page, name) => {
  await page.mouse.move(...Object.values(await middleOf(page, name)));
  return page.evaluate(() => ({
    tip: Array.from(document.querySelector(".mf-tip").children, (line) => line.textContent),
    info: document.querySelector(".mf-info").textContent }));
};

for (const file of each("lines"))
  test(`${file}: tooltips have the line, details its path`, () => open(file, async (page) => {
    const main = await told(page, "main");
    assert.ok(main.tip.includes("main.cc:10, 2 more lines"), main.tip.join("\n"));
    assert.match(main.info, /\/src\/app\/main\.cc:10, 2 more lines/);
    const parse = await told(page, "parse");
    assert.ok(parse.tip.includes("reader.cc:37, 1 more line"), parse.tip.join("\n"));
    await page.screenshot({ path: path.join(work, "screenshots", `${file}-tooltip.png`) });
  }));

for (const file of each("lines"))
  test(`${file}: the table has lines, of the measure that is drawn`, () => open(file, async (page) => {
    const rows = async (value) => page.evaluate((wanted) => {
      const { app } = document.querySelector(".memflame");
      app.change({ value: wanted, table: "total" });
      return [...document.querySelectorAll(".mf-table tbody tr")].map((row) =>
        [row.querySelector("button").textContent, row.querySelector(".mf-place")?.textContent ?? "", row.querySelector(".mf-place")?.title ?? ""].join("|"));
    }, value);
    const live = await rows("live");
    await page.screenshot({ path: path.join(work, "screenshots", `${file}-table.png`) });
    assert.ok(live.includes("main|main.cc:10, 2 more lines|/src/app/main.cc:10, 2 more lines"), live.join("\n"));
    assert.ok(live.includes("bare||"), live.join("\n"));
    assert.ok(live.some((row) => row.startsWith("hostile|") && row.includes("<b>x\"&]]>.cc:1")), live.join("\n"));
    assert.ok((await rows("calls")).includes("main|main.cc:12, 2 more lines|/src/app/main.cc:12, 2 more lines"));
  }));

// A page knows which line leads where, the boxes of an SVG do not.
for (const file of each("lines"))
  test(`${file}: around a function are its callers' lines`, () => open(file, async (page) => {
    const info = await page.evaluate(() => {
      const { app } = document.querySelector(".memflame");
      app.lookAround(app.tree.frames.name.indexOf("hostile"));
      const caller = app.rows.flat().find((one) => one.view?.frame === app.tree.frames.name.indexOf("main"));
      app.say(caller);
      return document.querySelector(".mf-info").textContent;
    });
    assert.match(info, file.endsWith("html") ? /\/src\/app\/main\.cc:12/ : /\/src\/app\/main\.cc, one of 3 lines/);
    await page.screenshot({ path: path.join(work, "screenshots", `${file}-around.png`) });
  }));

for (const file of each("by-line"))
  test(`${file}: with --lines a box is a line`, () => open(file, async (page) => {
    const names = await page.evaluate(() => document.querySelector(".memflame").app.tree.frames.name);
    for (const name of ["main main.cc:10", "main main.cc:12", "parse reader.cc:37", "parse reader.cc:41", "bare"])
      assert.ok(names.includes(name), names.join("\n"));
  }));

const boxList = (page) => page.getByRole("combobox", { name: "Boxes", exact: true });
const byLine = ["all", "bare", "main main.cc:10", "main main.cc:12", "main main.cc:13", "parse reader.cc:37", "parse reader.cc:41"];
for (const how of ["mouse", "touch", "keys"])
  test(`lines.html: boxes are lines, by ${how}`, () => open("lines.html", async (page) => {
    const names = async () => (await boxes(page)).map(({ name }) => name).filter((name) => !name.startsWith("hostile")).sort();
    assert.deepEqual(await names(), ["all", "bare", "main", "parse"]);
    const all = (await boxes(page))[0].total;
    if (how === "keys") {
      await page.keyboard.press("B");
    } else {
      if (how === "touch") await boxList(page).tap();
      await boxList(page).selectOption("lines");
    }
    assert.deepEqual(await names(), byLine);
    assert.equal((await boxes(page))[0].total, all);
    await page.screenshot({ path: path.join(work, "screenshots", "lines-boxes.png") });
    await zoomTo(page, "main main.cc:12");
    assert.deepEqual(await names(), ["all", "main main.cc:12", "parse reader.cc:41"]);
    const { hash } = new URL(page.url());
    assert.match(hash, /boxes=lines/);
    await open("lines.html", async (other) => {
      assert.equal(await boxList(other).evaluate((select) => select.value), "lines");
      assert.equal(await other.locator(".mf-info b").textContent(), "main main.cc:12");
    }, { url: address("lines.html") + hash });
    await boxList(page).selectOption("");
    assert.deepEqual(await names(), ["all", "bare", "main", "parse"]);
  }, { hasTouch: true }));

test("lines.svg: its boxes are functions or modules, since it merges lines", () => open("lines.svg", async (page) => {
  assert.deepEqual(await boxList(page).locator("option").allTextContents(), ["functions", "modules"]);
}));

test("lines.html: a command draws boxes by line", () => open("lines.html", async (page) => {
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", {
    configurable: true, value: { writeText: async (text) => { window.copied = text; } } }));
  await boxList(page).selectOption("lines");
  await page.locator("[role=tree]").focus();
  await page.keyboard.press(" ");
  await page.getByRole("menuitem", { name: "Copy as command line" }).click();
  assert.equal(await page.evaluate(() => window.copied), "memflame render lines.html --by-line -o graph.svg");
}));
