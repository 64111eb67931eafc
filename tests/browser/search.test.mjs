// SPDX-License-Identifier: BSD-2-Clause
import assert from "node:assert/strict";
import test from "node:test";
import { boxes, each, elements, matched, open, searched, searchFor, until, zoomedName, zoomTo } from "./browser.mjs";

for (const file of each("flame")) {
  test(`${file}: found boxes are marked, and their total counts nested ones once`, () => open(file, async (page) => {
    // parse_object 30,500,311 + 21,004,800 + 1,900,000; cache::… 26,214,400 + 8,388,608
    assert.equal(await searchFor(page, "cache|parse"), "matched 83.9 MiB (88,008,119 B), 69.4 %");
    for (const box of await boxes(page)) {
      assert.equal(box.hit, /cache|parse/.test(box.name) ? 1 : 0, box.name);
      assert.equal(box.fill === "#f277d3", box.hit === 1);
    }
    if (file.endsWith("svg"))
      assert.ok((await elements(page)).every((g) => (g.fill === "rgb(242, 119, 211)") === g.classes.includes("hit")));
  }));

  test(`${file}: in the zoomed part too`, () => open(file, async (page) => {
    await zoomTo(page, "cache::insert");
    assert.equal(await searchFor(page, "rehash|worker"),
      "matched 22.9 MiB (23,988,608 B), 18.9 %; here 8.0 MiB (8,388,608 B), 24.2 %");
    await page.getByText("Reset zoom").click();
    assert.doesNotMatch(await matched(page), /here/);
  }));

  test(`${file}: a caller that is found covers what is zoomed`, () => open(file, async (page) => {
    await zoomTo(page, "cache::insert");
    assert.match(await searchFor(page, "^main$"), /here 33\.0 MiB \(34,603,008 B\), 100\.0 %/);
  }));

  test(`${file}: capitals matter when they should`, () => open(file, async (page) => {
    assert.match(await searchFor(page, "lrender"), /6,500,000 B/);
    const button = page.getByText("Aa", { exact: true });
    await button.click();
    assert.equal(await button.getAttribute("aria-pressed"), "true");
    assert.match(await matched(page), /^matched 0 B, 0\.0 %/);
    assert.match(await searchFor(page, "LRender"), /6,500,000 B/);
  }));

  test(`${file}: what is not a regular expression is said, and nothing is marked`, () => open(file, async (page) => {
    await searchFor(page, "main");
    assert.equal(await searchFor(page, "main("), "not a regular expression");
    assert.equal((await boxes(page)).filter((box) => box.hit).length, 0);
    assert.equal(await page.locator("input.wrong").count(), 1);
    assert.match(await searchFor(page, "main\\("), /^matched 0 B/);
    assert.equal(await page.locator("input.wrong").count(), 0);
  }));

  test(`${file}: Escape clears the search; typing is enough`, () => open(file, async (page) => {
    await searchFor(page, "main");
    await page.locator(".mf-bar input").press("Escape");
    assert.equal(await matched(page), "");
    assert.equal(await searched(page), "");
    assert.equal((await boxes(page)).filter((box) => box.hit).length, 0);
    await page.locator(".mf-bar input").click();
    await page.keyboard.type("deflate");
    await until(page, () => document.querySelector(".mf-matched").textContent === "matched 8.7 MiB (9,100,000 B), 7.2 %");
  }));

  test(`${file}: the root is not found, nor are the words of merged boxes`, () => open(file, async (page) => {
    assert.equal((await searchFor(page, "^all$")).split(";")[0], "matched 0 B, 0.0 %");
    assert.equal((await searchFor(page, "^\\(\\+")).split(";")[0], "matched 0 B, 0.0 %");
  }));

  test(`${file}: from match to match, and round`, () => open(file, async (page) => {
    await searchFor(page, "cache");
    const name = () => zoomedName(page), seen = [await name()];
    await page.locator("[role=tree]").focus();
    for (const key of ["n", "n", "n", "N"]) {
      await page.keyboard.press(key);
      seen.push(await name());
    }
    assert.deepEqual(seen, ["cache::insert", "cache::Entry::Entry", "cache::rehash", "cache::insert", "cache::rehash"]);
    assert.match(await page.locator(".mf-matched").textContent(), /^3 of 3; matched /);
    await page.getByLabel("the next match").click();
    assert.equal(await name(), "cache::insert");
  }));

  test(`${file}: callers first, a search finds the same`, () => open(file, async (page) => {
    const before = (await searchFor(page, "cache|parse")).split(";")[0];
    await page.getByRole("tab", { name: "Callers first" }).click();
    assert.equal((await matched(page)).split(";")[0], before);
  }));
}

test("flame.html: a match too narrow to be drawn is pointed out", () => open("flame.html", async (page) => {
  await searchFor(page, "^plugin_7$");
  const found = (await boxes(page)).filter((box) => box.hit);
  assert.deepEqual(found.map((box) => [box.narrow, box.hit]), [[true, 0.5]]);
  assert.notEqual(found[0].fill, "#f277d3");
}));

for (const file of each("deep"))
  test(`${file}: recursion counts once`, () => open(file, async (page) => {
    assert.equal(await searchFor(page, "recurse_[0-3]"), "matched 100 B, 100.0 %");
  }));

for (const file of each("pages"))
  test(`${file}: pages are told as pages`, () => open(file, async (page) => {
    assert.equal(await searchFor(page, "memset"), "matched 9,216 pages (36.0 MiB, 37,748,736 B), 29.9 %");
  }));

for (const file of each("huge"))
  test(`${file}: beyond 2^53 every unit counts`, () => open(file, async (page) => {
    assert.match(await searchFor(page, "odd"), /^matched 1\.0 EiB \(1,152,921,504,606,846,977 B\), 33\.3 %/);
    await zoomTo(page, "main");
    assert.match(await searchFor(page, "odd|rest"), /^matched 3\.0 EiB \(3,458,764,513,820,540,932 B\), 100\.0 %/);
  }));
