// SPDX-License-Identifier: BSD-2-Clause
// The page of a run that goes on: it renews itself, and what the reader has chosen stays. $MEMFLAME is memflame;
// without it there is no such run.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import test from "node:test";
import { browser, until, work } from "./browser.mjs";

const memflame = process.env.MEMFLAME;
// Leaks and churns all the time; a line makes it leak more at once.
const script = `
import sys, threading, time
kept, over = [], threading.Event()
def leak(size): kept.append(bytearray(size))
def churn(): bytearray(70000)
def work():
    while not over.wait(0.01):
        leak(3000)
        churn()
worker = threading.Thread(target=work)
worker.start()
for line in sys.stdin: leak(int(line))
over.set()
worker.join()
`;

async function started(...options) {
  const run = spawn(memflame, ["report", "--live", "--detail", "events", "--interval", "0.2", ...options, "--", "python3", "-c", script],
    { stdio: ["pipe", "ignore", "pipe"] });
  run.said = "";
  run.ended = new Promise((resolve) => { run.on("exit", resolve); });
  run.stderr.on("data", (text) => { run.said += text; });
  for (const end = Date.now() + 60000; !/report is at http\S+\//.test(run.said); await new Promise((next) => { setTimeout(next, 50); }))
    assert.ok(Date.now() < end, `no address: ${run.said}`);
  run.address = /report is at (http\S+\/)/.exec(run.said)[1];
  return run;
}

// memflame is stopped, and then its program ends. A stop that comes while memflame writes the results is passed over, and
// the page stays until the next one.
async function end(run) {
  run.kill("SIGINT");
  await Promise.race([run.ended.then(() => true), new Promise((next) => { setTimeout(next, 5000); })]);
  run.stdin.end();
  const again = setInterval(() => run.kill("SIGINT"), 2000);
  const code = await run.ended;
  clearInterval(again);
  return code;
}

// Until there is something to show, the page comes again and again.
async function shown(page, address) {
  await page.goto(address);
  for (const end = Date.now() + 60000; Date.now() < end; await new Promise((next) => { setTimeout(next, 100); }))
    if (await page.evaluate(() => document.querySelector(".memflame")?.dataset.ready === "1").catch(() => false)) return;
  assert.fail("there is no report");
}

// Opens the page of a run; nothing may go wrong in it, and nothing but its server is asked.
async function opened(run, look, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, ...options }), wrong = [];
  page.on("pageerror", (error) => wrong.push(`script error: ${error.message}`));
  page.on("console", (message) => wrong.push(`${message.type()}: ${message.text()}`));
  page.on("request", (request) => {
    const known = [run.address, `${run.address}state`].includes(request.url().split("#")[0]);
    if (!known && !request.url().endsWith("/favicon.ico")) wrong.push(`request: ${request.url()}`);
  });
  try {
    await shown(page, run.address);
    await look(page);
    assert.deepEqual(wrong.filter((text) => !/favicon/.test(text)), []);
  } finally {
    await page.close();
  }
}

const version = (page) => page.evaluate(() => document.querySelector(".memflame").run.facts.live.version);
async function newer(page, than) {
  for (const end = Date.now() + 150000; Date.now() < end; await new Promise((next) => { setTimeout(next, 100); }))
    if (await version(page) > than) return;
  assert.fail("the page does not renew itself");
}
const headline = (page) => page.locator(".mf-headline").textContent();
const chosen = (page) => page.evaluate(() => {
  const { app, run: { selection: { a, b, part }, rows: { seconds } } } = document.querySelector(".memflame");
  const { zoom, search, value, view, table, root } = app.state;
  return { range: [seconds[a], seconds[b]], part: part[0], zoom, search, value, view, table, root, trail: app.trail.length, hash: location.hash };
});

test("a live page renews itself, and keeps range, search, zoom, table, focus and place", { skip: !memflame }, async () => {
  const run = await started();
  try {
    await opened(run, async (page) => {
      assert.equal(await page.locator(".mf-live b").textContent(), "Live.");
      assert.equal(await page.locator(".mf-command").count(), 0);
      await until(page, () => document.querySelector(".memflame").run.rows.seconds.at(-1) > 4);
      await page.evaluate(() => {
        const { app } = document.querySelector(".memflame");
        app.change({ during: "1-2", part: "allocated" });
        app.change({ search: "leak|Byte", table: "own", value: "blocks" });
        const box = app.rows.flat().find(({ view }) => view?.frame >= 0 && view.depth === 2) ?? app.rows[1][0];
        app.zoom(box.view);
      });
      const details = page.locator(".mf-lines-shown details summary");
      if (await details.count()) await details.first().click();
      await page.locator("[role=slider]").first().focus();
      // What is in front of it may change: the next page lacks this line.
      await page.evaluate(() => document.querySelector(".mf-ask").prepend(document.createElement("p")));
      await page.evaluate(() => window.scrollTo(0, 60));
      const before = await chosen(page), words = /^[\d,]+ blocks/.exec(await headline(page))[0], first = await version(page);
      assert.deepEqual(before.range, [1, 2]);
      assert.ok(before.zoom);
      run.stdin.write("50000000\n");
      await newer(page, first + 1);
      assert.deepEqual(await chosen(page), before);
      assert.ok((await headline(page)).startsWith(`${words} `));  // how many digits a time has depends on the length
      assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "begin of the range");
      assert.equal(await page.evaluate(() => window.scrollY), 60);
      assert.match(await page.locator(".mf-matched").textContent(), /^matched /);
      assert.equal(await page.locator(".mf-table tbody tr").count() > 0, true);
      await page.evaluate(() => document.querySelector(".memflame").app.change({ during: "", part: "end", value: "bytes", zoom: null, table: "" }));
      assert.match(await headline(page), /^(4[89]|[5-9]\d)\.\d MiB live at the end/);
      for (let i = 0; i < 4; ++i) await page.evaluate(() => document.querySelector(".memflame").app.back());
      assert.equal((await chosen(page)).trail, Math.max(0, before.trail + 1 - 4));
    });
  } finally {
    await end(run);
  }
});

test("a live page waits while the reader is busy, can be paused, and tells the end", { skip: !memflame }, async () => {
  const run = await started();
  try {
    await opened(run, async (page) => {
      await until(page, () => document.querySelector(".memflame").run.rows.seconds.at(-1) > 3);
      const place = await page.evaluate(() => {
        const { left, top, width, height } = document.querySelector(".mf-over").getBoundingClientRect();
        return { x: left + width / 4, y: top + height / 3 };
      });
      await page.mouse.move(place.x, place.y);
      await page.mouse.down();
      await page.mouse.move(place.x + 200, place.y, { steps: 3 });
      const held = await version(page);
      await new Promise((next) => { setTimeout(next, 5000); });
      assert.equal(await version(page), held);
      await page.mouse.up();
      await newer(page, held);

      await page.locator(".mf-live button").click();
      assert.equal(await page.locator(".mf-live b").textContent(), "Paused.");
      const paused = await version(page);
      await new Promise((next) => { setTimeout(next, 4000); });
      assert.equal(await version(page), paused);
      await page.locator(".mf-live button").click();
      await newer(page, paused);

      run.stdin.end();
      await until(page, () => document.querySelector(".memflame").run.facts.live.ended);
      assert.equal(await page.locator(".mf-live b").textContent(), "The run has ended.");
      assert.equal(await page.locator(".mf-live button").isVisible(), false);
      const last = await version(page);
      await new Promise((next) => { setTimeout(next, 3000); });
      assert.equal(await version(page), last);
    });
    for (const [name, options] of [["light", {}], ["dark", { colorScheme: "dark" }], ["narrow", { viewport: { width: 390, height: 844 } }],
                                   ["narrow-dark", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }]])
      await opened(run, async (page) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
        await page.screenshot({ path: path.join(work, "screenshots", `report-live-${name}.png`) });
      }, options);
  } finally {
    assert.equal(await end(run), 0);
  }
});

test("a live page keeps its figures when memflame goes away", { skip: !memflame }, async () => {
  const run = await started(), page = await browser.newPage();
  try {
    await shown(page, run.address);
    await end(run);
    await until(page, () => /no newer figures|has ended/.test(document.querySelector(".mf-live b").textContent));
    assert.match(await headline(page), /live at the end/);
  } finally {
    await end(run);
    await page.close();
  }
});
