// SPDX-License-Identifier: BSD-2-Clause
// How long pictures take in headless Chromium, from the beginning of the page to the first paint and
// from a change to what is painted then:
//
//   node scripts/lib/bench_render/browser.mjs NODE_MODULES_FOLDER PICTURE…
//
// where the folder is one that has playwright-core (tests/browser/run leaves one). $CHROMIUM is the
// browser. Prints a line of milliseconds for each picture; each figure is the middle one of five.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, ...pictures] = process.argv.slice(2);
if (!pictures.length) {
  console.error("Usage: browser.mjs NODE_MODULES_FOLDER PICTURE…");
  process.exit(2);
}
const { chromium } = createRequire(path.resolve(modules, "x.js"))("playwright-core");
const middle = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const rounds = 5;

const changes = {
  "zoom": (app) => app.choose(app.rows[app.zoomed.depth + 1].find((box) => box.view)),
  "zoom out": (app) => app.back(),
  "search": (app) => app.searchFor(`[${"aeiou"[app.turns = (app.turns ?? 0) + 1]}].*n`),
  "callers first": (app) => app.set("direction", app.state.view ? "" : "callers"),
  "other figures": (app) => app.cycle("measure"),
  "table": (app) => app.toggleTable(),
};

// In the page: a change and the paint after it.
const measure = (act) => new Promise((resolve) => {
  const { app } = document.querySelector(".memflame"), began = performance.now();
  act(app);
  const done = performance.now();
  requestAnimationFrame(() => setTimeout(() => resolve([done - began, performance.now() - began])));
});

async function look(browser, picture) {
  const found = { "first paint": [] };
  for (let round = 0; round < rounds; ++round) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.addInitScript(() => {
      const watch = () => {
        const root = document.querySelector(".memflame");
        if (root?.dataset.ready || (document.readyState === "complete" && root && !root.querySelector(".mf-data")))
          requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }));
        else setTimeout(watch, 1);
      };
      watch();
    });
    await page.goto(pathToFileURL(path.resolve(picture)).href);
    let painted = null;
    while (!painted) painted = await page.evaluate(() => window.painted ?? null);
    found["first paint"].push(painted);
    for (const [name, act] of Object.entries(changes))
      for (let turn = 0; turn < 2; ++turn)
        (found[name] ??= []).push((await page.evaluate(`(${measure})(${act})`))[1]);
    await page.close();
  }
  return Object.entries(found).map(([name, times]) => `${name} ${middle(times).toFixed(0)}`).join(", ");
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
});
for (const picture of pictures) console.log(`${path.basename(picture)}: ${await look(browser, picture)}`);
await browser.close();
