// SPDX-License-Identifier: BSD-2-Clause
// How long pictures take in headless Chromium, from the beginning of the page to the first paint and
// from a change to what is painted then:
//
//   node scripts/lib/bench_render/browser.mjs [--profile] NODE_MODULES_FOLDER PICTURE…
//
// where the folder is one that has playwright-core (tests/browser/run leaves one). $CHROMIUM is the
// browser. Prints a table of milliseconds for each picture: the shortest of several rounds, of the first time that
// something is done and of the second one; the middle one of all; and the shortest processor time of the page's main
// thread, which other programs do not lengthen, for the first time. --profile: also which functions took that time.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const args = process.argv.slice(2), profiled = args[0] === "--profile";
const [modules, ...pictures] = profiled ? args.slice(1) : args;
if (!pictures.length) {
  console.error("Usage: browser.mjs [--profile] NODE_MODULES_FOLDER PICTURE…");
  process.exit(2);
}
const { chromium } = createRequire(path.resolve(modules, "x.js"))("playwright-core");
const rounds = 5;

// What a reader does, in turns: each is done twice in a round.
const changes = {
  "hover": (app) => {
    const boxes = app.rows.flat(), box = boxes[Math.floor(boxes.length * (app.turns = ((app.turns ?? 0) + 0.37) % 1))];
    app.stage.reveal(box);
    const { left, top, width, height } = app.stage.place(box);
    app.point({ clientX: left + width / 2, clientY: top + height / 2, pointerType: "mouse", target: app.stage.element });
  },
  "arrow key": (app) => app.goTo(app.rows[Math.min(3, app.rows.length - 1)][0]),
  "zoom": (app) => app.choose(app.rows[app.zoomed.depth + 1].find((box) => box.view)),
  "zoom out": (app) => app.back(),
  "zoom at the end": (app) => app.choose(app.rows[app.zoomed.depth + 1].findLast((box) => box.view)),
  "zoom out again": (app) => app.back(),
  "search": (app) => app.searchFor(`[${"aeiou"[app.searches = (app.searches ?? 0) + 1]}].*n`),
  "next match": (app) => app.matches.step(1),
  "zoom with a search": (app) => app.choose(app.rows[app.zoomed.depth + 1].find((box) => box.view)),
  "callers first": (app) => app.set("direction", app.state.view ? "" : "callers"),
  "other figures": (app) => app.cycle("measure"),
  "table": (app) => app.toggleTable(),
};

// In the page: a change and the paint after it.
const measure = (act) => new Promise((resolve) => {
  const { app } = document.querySelector(".memflame"), began = performance.now();
  act(app);
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
});

// Self time by function, of a profile that Chromium took.
function addUp({ nodes, samples, timeDeltas }, sums) {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, callFrame.functionName || "(no name)"]));
  samples.forEach((id, i) => sums.set(names.get(id), (sums.get(names.get(id)) ?? 0) + timeDeltas[i] / 1000));
}

async function look(browser, picture) {
  const found = { "first paint": [] }, spent = {};
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
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const used = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;
    found["first paint"].push([painted]);
    if (profiled) {
      await session.send("Profiler.enable");
      await session.send("Profiler.setSamplingInterval", { interval: 200 });
    }
    for (const [name, act] of Object.entries(changes)) {
      const times = [];
      let cpu = 0;
      for (let turn = 0; turn < 2; ++turn) {
        const before = await used();
        if (profiled && turn === 0) await session.send("Profiler.start");
        times.push(await page.evaluate(`(${measure})(${act})`));
        if (turn === 0) cpu = await used() - before;
        if (profiled && turn === 0) addUp((await session.send("Profiler.stop")).profile, (spent[name] ??= new Map()));
      }
      (found[name] ??= []).push([...times, cpu]);
    }
    await page.close();
  }
  console.log(`${path.basename(picture)}\n\n| | first | again | middle | CPU |\n| --- | ---: | ---: | ---: | ---: |`);
  for (const [name, times] of Object.entries(found)) {
    const least = (column) => (times[0].length > column ? Math.min(...times.map((one) => one[column])).toFixed(0) : "");
    const all = times.flatMap((one) => one.slice(0, 2)).toSorted((a, b) => a - b);
    console.log(`| ${name} | ${least(0)} | ${least(1)} | ${all[Math.floor(all.length / 2)].toFixed(0)} | ${least(2)} |`);
    const costly = [...spent[name] ?? []].filter(([of, ms]) => ms > 1 && !/^\((idle|program|root)\)$/.test(of)).sort(([, a], [, b]) => b - a);
    if (costly.length) console.log(`  ${costly.slice(0, 10).map(([of, ms]) => `${of} ${(ms / rounds).toFixed(1)}`).join(", ")}`);
  }
  console.log();
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
});
for (const picture of pictures) await look(browser, picture);
await browser.close();
