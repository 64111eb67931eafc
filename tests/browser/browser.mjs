// SPDX-License-Identifier: BSD-2-Clause
// One headless Chromium per test file, and helpers that examine a picture in it.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";

export const work = path.resolve(process.env.MEMFLAME_BROWSER_WORK);
export const require = createRequire(path.join(work, "package.json"));

export let browser;
before(async () => {
  browser = await require("playwright-core").chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});
after(() => browser.close());

// All files that the program wrote: "flame.svg", "flame.html", …
// The flame graphs; timelines and reports are of another kind.
export const files = () =>
  readdirSync(path.join(work, "pictures")).filter((name) => !/^(timeline|report)/.test(name)).sort();
export const both = (name) => [`${name}.svg`, `${name}.html`];

// The gate looks at one of each kind, "scripts/test full" at all: a matrix begins with those for the gate.
const isCore = process.env.MEMFLAME_BROWSER === "core";
export const matrix = (all, inCore = 1) => (isCore ? all.slice(0, inCore) : all);
export const each = (name) => matrix(both(name));

export const address = (file) => pathToFileURL(path.join(work, "pictures", file)).href;

// Polls, because the pages' policy forbids playwright's own way of waiting.
export async function until(page, question, argument) {
  for (const end = Date.now() + 90000; Date.now() < end; await new Promise((next) => { setTimeout(next, 20); }))
    if (await page.evaluate(question, argument)) return;
  assert.fail(`never came true: ${question}`);
}

export const ready = (page) => until(page, () =>
  [...document.querySelectorAll(".memflame")].every((one) => one.dataset.ready || !one.querySelector(".mf-data")));

// Opens a picture and hands its page to `look`. Checks that no script fails, that no dialog or console
// message appears, and that only the file is fetched.
export async function open(file, look, options = {}) {
  const { url = address(file), ...context } = options;
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, ...context });
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`script error: ${error.message}`));
  page.on("console", (message) => wrong.push(`${message.type()}: ${message.text()}`));
  page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== url.split("#")[0]) wrong.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(url);
    if (context.javaScriptEnabled !== false) await ready(page);
    await look(page);
    assert.deepEqual(wrong, []);
  } finally {
    await page.close();
  }
}

// Every box that is drawn now, row by row from the root, with figures as BigInt. `at` in the functions
// below is an index into this list.
export async function boxes(page, selector = ".memflame") {
  const found = await page.evaluate((wanted) => {
    const { app } = document.querySelector(wanted);
    const call = (name, ...args) => app.stage.picture[name](...args);
    return app.rows.flatMap((row) => row.map((box) => ({
      name: call("name", box), label: call("label", box), fill: call("fill", box), hit: call("hit", box),
      row: box.row, x: box.x, width: box.width, caller: box.role === "caller", narrow: !box.view,
      total: String(box.view ? box.view.total : box.total), frames: box.frames,
      own: String(box.view ? box.view.own : 0),
    })));
  }, selector);
  return found.map((box) => ({ ...box, total: BigInt(box.total), own: BigInt(box.own) }));
}

// The same boxes in the same order, from the elements of an SVG.
export const elements = (page) => page.evaluate(() => [...document.querySelectorAll(".row")].flatMap((row) =>
  [...row.children].map((g) => {
    const rect = g.querySelector("rect"), text = g.querySelector("text");
    return { x: Number(rect.getAttribute("x")), width: Number(rect.getAttribute("width")),
             fill: getComputedStyle(rect).fill, text: text ? text.textContent : "", classes: g.className.baseVal };
  })));

export async function indexOf(page, name) {
  const at = (await boxes(page)).findIndex((box) => box.name === name);
  assert.ok(at >= 0, `no box is called ${name}`);
  return at;
}

// The middle of a box in the window, where a pointer would go.
export const middleOf = async (page, name, at) => page.evaluate((n) => {
  const { app } = document.querySelector(".memflame"), box = app.rows.flat()[n];
  app.stage.reveal(box);
  const { left, top, width, height } = app.stage.place(box);
  return { x: left + width / 2, y: top + height / 2 };
}, at ?? await indexOf(page, name));

export async function click(page, name, options) {
  const { x, y } = await middleOf(page, name);
  await page.mouse.click(x, y, options);
}

export const zoomTo = async (page, name) => page.evaluate((n) => {
  const { app } = document.querySelector(".memflame");
  app.choose(app.rows.flat()[n]);
}, await indexOf(page, name));

export async function searchFor(page, pattern) {
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("/");
  await page.keyboard.insertText(pattern);
  await page.keyboard.press("Enter");
  return matched(page);
}

export const searched = (page) => page.locator(".mf-bar input").evaluate((input) => input.value);

// The message about the search, without the number of the match.
export const matched = async (page) =>
  (await page.locator(".mf-matched").textContent()).replace(/^\d+ of \d+; /, "");

export const choose = (page, control, value) => page.evaluate(([name, wanted]) => {
  const select = document.querySelector(".memflame").app.controls[name];
  select.value = wanted;
  select.dispatchEvent(new Event("change"));
}, [control, value]);

export const zoomedName = (page) => page.locator(".mf-info b").textContent();
export const current = (page) => page.evaluate(() => {
  const tree = document.activeElement;
  return document.getElementById(tree.getAttribute("aria-activedescendant")).getAttribute("aria-label").split(",")[0];
});
