import assert from "node:assert/strict";
import test from "node:test";
import { boxes, open, searchFor, zoomTo } from "./browser.mjs";

test("found boxes are marked, and their total counts nested ones once", () => open("flame", async (page) => {
  // parse_object 30,500,311 + 21,004,800 + 1,900,000; cache::… 26,214,400 + 8,388,608
  assert.equal(await searchFor(page, "cache|parse"),
    "matched 83.9 MiB (88,008,119 B), 69.4 %; up to 0.5 % more in merged boxes");
  for (const box of await boxes(page)) assert.equal(box.hit, /cache|parse/.test(box.name), box.name);
  const fill = await page.locator(".hit > rect").first().evaluate((rect) => getComputedStyle(rect).fill);
  assert.equal(fill, "rgb(213, 139, 240)");
}));

test("recursion counts once", () => open("deep", async (page) => {
  assert.equal(await searchFor(page, "recurse_[0-3]"), "matched 100 B, 100.0 %");
}));

test("in the zoomed part too", () => open("flame", async (page) => {
  await zoomTo(page, "cache::insert");
  assert.equal(await searchFor(page, "rehash|worker"),
    "matched 22.9 MiB (23,988,608 B), 18.9 %; here 8.0 MiB (8,388,608 B), 24.2 %; " +
    "up to 0.5 % more in merged boxes");
  await page.locator("input").press("Enter");
  await page.getByText("Reset zoom").click();
  assert.doesNotMatch(await page.locator(".matched").textContent(), /here/);
}));

test("a caller that is found covers what is zoomed", () => open("flame", async (page) => {
  await zoomTo(page, "cache::insert");
  assert.match(await searchFor(page, "^main$"), /here 33\.0 MiB \(34,603,008 B\), 100\.0 %/);
}));

test("capitals make it case-sensitive", () => open("flame", async (page) => {
  assert.match(await searchFor(page, "lrender"), /6,500,000 B/);
  assert.match(await searchFor(page, "LRender"), /6,500,000 B/);
  assert.match(await searchFor(page, "lREnder"), /^matched 0 B, 0\.0 %/);
}));

test("what is no regular expression is said, and nothing is marked", () => open("flame", async (page) => {
  await searchFor(page, "main");
  assert.equal(await searchFor(page, "main("), "not a regular expression");
  assert.equal((await boxes(page)).filter((box) => box.hit).length, 0);
  assert.equal(await page.locator("input.wrong").count(), 1);
  assert.match(await searchFor(page, "main\\("), /^matched 0 B/);
  assert.equal(await page.locator("input.wrong").count(), 0);
}));

test("Escape clears the search", () => open("flame", async (page) => {
  await searchFor(page, "main");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".matched").textContent(), "");
  assert.equal(await page.locator("input").evaluate((input) => input.value), "");
  assert.equal((await boxes(page)).filter((box) => box.hit).length, 0);
}));

test("typing is enough", () => open("flame", async (page) => {
  await page.locator("input").click();
  await page.keyboard.type("deflate");
  await page.waitForFunction(() => document.querySelector(".matched").textContent !== "");
  assert.match(await page.locator(".matched").textContent(), /^matched 8\.7 MiB \(9,100,000 B\), 7\.2 %/);
}));

test("the root is not found, and merged boxes are not searched", () => open("flame", async (page) => {
  assert.equal((await searchFor(page, "^all$")).split(";")[0], "matched 0 B, 0.0 %");
  assert.equal((await searchFor(page, "^\\(\\+")).split(";")[0], "matched 0 B, 0.0 %");
}));

test("pages are told as pages", () => open("pages", async (page) => {
  assert.equal(await searchFor(page, "memset"), "matched 9,216 pages, 29.9 %");
}));

test("beyond 2^53 every unit counts", () => open("huge", async (page) => {
  assert.equal(await searchFor(page, "odd"), "matched 1.0 EiB (1,152,921,504,606,846,977 B), 33.3 %; " +
    "up to 0.0 % more in merged boxes");
  await zoomTo(page, "main");
  assert.match(await searchFor(page, "odd|rest"), /^matched 3\.0 EiB \(3,458,764,513,820,540,932 B\), 100\.0 %/);
}));
