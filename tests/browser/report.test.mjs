// SPDX-License-Identifier: BSD-2-Clause
// The page of a report: ranges by mouse, finger, keys and text, their figures and commands, and the
// way to stacks.
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { address, boxes, choose, click, matrix, open, require, until, work } from "./browser.mjs";

const headline = (page) => page.locator(".mf-headline").textContent();
const command = (page) => page.locator(".mf-command code").textContent();
// What was asked for is shown in the next frame.
const range = (page) => page.evaluate(async () => {
  for (let i = 0; i < 2; ++i) await new Promise((next) => { requestAnimationFrame(next); });
  const { a, b } = document.querySelector(".memflame").run.selection;
  return [a, b];
});
const choosePart = (page, label) => page.locator(".mf-parts label", { hasText: new RegExp(`^${label}$`) }).click();
const shot = (page, name) => page.screenshot({ path: path.join(work, "screenshots", `${name}.png`), fullPage: true });

// The place of an edge on the chart.
const placeOf = (page, edge) => page.evaluate((wanted) => {
  const { left, width, top, height } = document.querySelector(".mf-over").getBoundingClientRect();
  const { seconds } = document.querySelector(".memflame").run.rows;
  return { x: left + (seconds[wanted] / seconds.at(-1)) * width, y: top + height / 3 };
}, edge);

async function brush(page, from, to, { steps = 4 } = {}) {
  const [begin, end] = [await placeOf(page, from), await placeOf(page, to)];
  await page.mouse.move(begin.x, begin.y);
  await page.mouse.down();
  await page.mouse.move(end.x, end.y, { steps });
  await page.mouse.up();
}

// What the rows of the file say, added up one by one, and what the page shows: the tree, and all of it.
const sums = (page, what) => page.evaluate((count) => {
  const { app, run } = document.querySelector(".memflame"), { rows, selection: { a, b } } = run, { tree } = app;
  const counts = new Function("born", "freed", "a", "b", `return ${count}`);
  const wanted = tree.own.map(() => new Map());
  for (let i = 0; i < rows.node.length; ++i) {
    const times = Number(counts(rows.born[i], rows.freed[i] === 0xffff ? Infinity : rows.freed[i], a, b));
    if (times) rows.columns.forEach((column, c) => wanted[c].set(rows.node[i], (wanted[c].get(rows.node[i]) ?? 0n) + BigInt(times) * BigInt(column[i])));
  }
  const own = tree.own.every((column, c) => column.every((value, n) => BigInt(value) === (wanted[c].get(n) ?? 0n)));
  return { own, all: String(tree.total(0)[0]), drawn: String(app.rows[0][0].view.total) };
}, what);

const parts = [
  ["Live at the end", "born < b && freed >= b", /--view live --at 19.012345678s/],
  ["Growth", "(born < b && freed >= b) - (born < a && freed >= a)", /--view growth --between 5.012345678s..19.012345678s/],
  ["Allocated", "born >= a && born < b", /--view total --between 5.012345678s..19.012345678s/],
  ["Freed", "freed >= a && freed < b", /--view freed --between 5.012345678s..19.012345678s/],
  ["Never freed", "born >= a && born < b && freed === Infinity", /--view leaked --between 5.012345678s..19.012345678s/],
  ["Live at any time", "born < b && freed >= a", /--view total --where 'live in 5.012345678s..19.012345678s'/],
];

test("report.html: brushed with the mouse, each figure is the sum of its rows", () => open("report.html", async (page) => {
  assert.match(await headline(page), /^17\.4 MiB live at the end \(60\.3 s\)$/);
  assert.equal(await command(page), "memflame render 'server'\\''s run.mfr' --view live > part.svg");
  await brush(page, 10, 38);
  assert.deepEqual(await range(page), [10, 38]);
  for (const [label, count, wanted] of parts) {
    await choosePart(page, label);
    const { own, all, drawn } = await sums(page, count);
    assert.ok(own, label);
    if (label !== "Growth") assert.equal(drawn, all, label);
    assert.match(await command(page), wanted, label);
  }
  await page.getByRole("combobox", { name: "Width" }).selectOption("blocks");
  assert.match(await command(page), /--value total-count > part\.svg$/);
  assert.match(await headline(page), /^[\d,]+ blocks live at some time from 5\.0 s to 19\.0 s$/);
}));

test("report.html: edges are dragged, a click and a cancelled drag change nothing", () => open("report.html", async (page) => {
  await brush(page, 60, 20);
  assert.deepEqual(await range(page), [20, 60]);
  await brush(page, 60, 90);
  assert.deepEqual(await range(page), [20, 90]);
  await brush(page, 20, 100);
  assert.deepEqual(await range(page), [90, 100]);
  const { x, y } = await placeOf(page, 50);
  await page.mouse.click(x, y);
  assert.deepEqual(await range(page), [90, 100]);
  await page.mouse.dblclick(x, y);
  assert.deepEqual(await range(page), [0, 120]);
  await page.locator(".mf-bar button", { hasText: /^Back$/ }).click();
  assert.deepEqual(await range(page), [90, 100]);
}));

test("report.html: keys move the edges, and the flame graph's keys are only its own", () => open("report.html", async (page) => {
  const [from, to] = [page.locator("[role=slider]").first(), page.locator("[role=slider]").last()];
  await from.focus();
  for (let i = 0; i < 3; ++i) await page.keyboard.press("ArrowRight");
  assert.deepEqual(await range(page), [3, 120]);
  await page.keyboard.press("Shift+ArrowLeft");
  assert.deepEqual(await range(page), [3, 119]);
  await page.keyboard.press("End");
  assert.deepEqual(await range(page), [118, 119]);
  assert.equal(await from.getAttribute("aria-valuetext"), "59.0 s");
  assert.equal(await from.getAttribute("aria-valuenow"), "118");
  await until(page, () => /during=59-59\.5/.test(location.hash));
  await to.focus();
  await page.keyboard.press("Home");
  assert.deepEqual(await range(page), [118, 119]);
  await page.keyboard.press("Shift+PageDown");
  await page.keyboard.press("Shift+PageDown");
  assert.deepEqual(await range(page), [102, 119]);
  const zoomed = () => page.evaluate(() => document.querySelector(".memflame").app.current.row);
  await page.locator("summary").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("details").evaluate((one) => one.open), true);
  const before = await zoomed();
  await page.keyboard.press("ArrowUp");
  assert.equal(await zoomed(), before);
  await page.locator("[role=tree]").focus();
  await page.keyboard.press("ArrowUp");
  assert.equal(await zoomed(), before + 1);
}));

test("report.html: times as text, and marks", () => open("report.html", async (page) => {
  const [from, to] = [page.getByLabel("From", { exact: true }), page.getByLabel("to", { exact: true })];
  await from.fill("deploy");
  await from.press("Enter");
  await to.fill("50%");
  await to.press("Enter");
  assert.deepEqual(await range(page), [24, 60]);
  assert.equal(await from.inputValue(), "12.012345678 s");
  await to.fill("soon");
  await to.press("Enter");
  assert.equal(await to.getAttribute("aria-invalid"), "true");
  assert.deepEqual(await range(page), [24, 60]);
  await page.getByRole("button", { name: "Peak" }).click();
  assert.match(await headline(page), /live at the peak \(35\.5 s\)$/);
  assert.deepEqual(await range(page), [0, 71]);
}));

test("report.html: the address keeps range, part and zoom", () => open("report.html", async (page) => {
  assert.deepEqual(await range(page), [10, 20]);
  assert.match(await headline(page), / allocated from 5\.0 s to 10\.0 s$/);
  await page.evaluate(() => { location.hash = "during=nonsense&part=nothing"; });
  await until(page, () => document.querySelector(".memflame").run.selection.b === 120);
  assert.match(await headline(page), /live at the end/);
}, { url: `${address("report.html")}#during=5.01-10.0&part=allocated` }));

test("report.html: verdicts lead to their stacks, also if nothing of them is selected", () => open("report.html", async (page) => {
  await page.locator(".mf-verdicts button").first().click();
  assert.equal(await page.locator(".mf-info b").textContent(), "Journal::begin");
  assert.match(await page.locator(".mf-details").textContent(), /in event_loop: /);
  assert.match(await page.locator(".mf-info").textContent(), /leak: 8\.0 %/);
  await brush(page, 40, 42);
  await choosePart(page, "Never freed");
  await page.locator(".mf-verdicts button", { hasText: "cache::insert" }).click();
  assert.match(await page.locator(".mf-info").textContent(), /cache or pool: full since 20 s/);
  assert.match(await headline(page), /allocated from the start/);
}));

test("report.html: the worst leak is told at once", () => open("report.html", async (page) => {
  assert.match(await page.locator(".mf-worst").textContent(), /^leak: 8\.0 % .* – Journal::begin$/);
  await page.locator(".mf-worst").click();
  assert.match(await page.locator(".mf-details").textContent(), /in event_loop: /);
}));

test("report.html: table, callers and lines follow the range", () => open("report.html", async (page) => {
  await page.locator(".mf-bar button", { hasText: "Table beside" }).click();
  const cache = () => page.locator(".mf-table tbody tr", { hasText: "cache::insert" }).locator("td").first().textContent();
  await choosePart(page, "Allocated");
  await brush(page, 0, 39);
  const first = await page.locator(".mf-table tbody tr", { hasText: "event_loop" }).locator("td").nth(1).textContent();
  await brush(page, 50, 60);
  assert.notEqual(await page.locator(".mf-table tbody tr", { hasText: "event_loop" }).locator("td").nth(1).textContent(), first);
  await assert.rejects(async () => { await page.locator(".mf-table tbody tr", { hasText: "cache::insert" }).first().waitFor({ timeout: 300 }); });
  assert.equal(typeof cache, "function");
  assert.match(await page.locator(".mf-table tbody tr", { hasText: "parse_object" }).textContent(), /session\.cc:\d+/);
  await page.evaluate(() => {
    const { app } = document.querySelector(".memflame");
    app.lookAround(app.tree.frames.name.indexOf("json::Parser::parse_object"));
  });
  assert.match(await page.locator(".mf-details").textContent(), /in json::Parser::parse_object: /);
}));

test("report.html: nothing is left of a range without blocks", () => open("report.html", async (page) => {
  await page.evaluate(() => document.querySelector(".memflame").app.change({ during: "59.512345678-60.250000001", part: "freed" }));
  assert.match(await headline(page), /freed from 59\.5 s to the end/);
  await page.evaluate(() => document.querySelector(".memflame").app.change({ during: "0-0.5", part: "freed" }));
  assert.equal((await sums(page, "freed >= a && freed < b")).own, true);
}));

test("report.html: names do nothing but be shown", () => open("report.html", async (page) => {
  assert.equal(await page.locator("script").count(), 6);
  assert.equal(await page.locator("image, img, iframe, use, a").count(), 0);
  assert.match(await page.locator(".mf-notes").textContent(), /<script>alert\('note'\)/);
  assert.equal(await page.locator(".mf-mark").count(), 5);
}));

test("report-changes.html: growth and figures of each column", () => open("report-changes.html", async (page) => {
  assert.match(await headline(page), /^4\.9 MiB live at the end/);
  assert.equal(await command(page), "memflame render ./-all.mfr --value live > part.svg");
  await choosePart(page, "Growth");
  await brush(page, 25, 40);
  assert.equal((await sums(page, "born >= a && born < b")).own, true);
  assert.match(await command(page), /--between 175\.000000025s\.\.280\.00000004s --value live > part\.svg$/);
  assert.match(await page.locator(".mf-details").textContent(), /in stacks that shrank, which have no box/);
  await page.getByRole("combobox", { name: "Width" }).selectOption("fault-gained");
  assert.match(await headline(page), /pages change of fault-gained from 2:55\.0 to 4:40\.0$/);
  await choosePart(page, "At the end");
  assert.match(await command(page), /--at 280\.00000004s --value fault-gained/);
  assert.equal((await sums(page, "born < b")).own, true);
  assert.equal(await page.locator(".mf-rest section").count(), 0);
}));

test("report-changes.html: a stack whose figures came back to 0 is there in between", () => open("report-changes.html", async (page) => {
  const guest = () => page.evaluate(() => document.querySelector(".memflame").app.rows.flat().some(({ view }) => view && view.look.tree.frames.name[view.frame] === "guest"));
  assert.equal(await guest(), false);
  await page.evaluate(() => document.querySelector(".memflame").app.change({ during: "0-100" }));
  assert.equal(await guest(), true);
}));

test("report-huge.html: no figure is rounded", () => open("report-huge.html", async (page) => {
  assert.match(await headline(page), /^4 B grown at the end/);
  await page.evaluate(() => document.querySelector(".memflame").app.change({ during: "0-0.000000001" }));
  assert.equal((await sums(page, "born < b")).all, String((1n << 60n) + 1n));
  assert.match(await page.locator(".mf-details").textContent(), /^1,152,921,504,606,846,977 B$/);
  await page.evaluate(() => document.querySelector(".memflame").app.change({ during: "0.000000001-2", part: "growth" }));
  assert.equal((await sums(page, "born >= a && born < b")).all, String(1n - (1n << 60n)));
}));

test("report-large.html: another range of 100,000 rows is shown within 100 ms", { timeout: 60000 }, () => open("report-large.html", async (page) => {
  const times = await page.evaluate(() => {
    const { app, run } = document.querySelector(".memflame"), found = [];
    for (let i = 0; i < 12; ++i) {
      const begin = performance.now();
      app.state = { ...app.state, during: `${10 + i}-${100 + i}`, part: i % 2 ? "live" : "allocated" };
      app.show();
      found.push(performance.now() - begin);
    }
    return { rows: run.rows.node.length, found: found.sort((a, b) => a - b) };
  });
  assert.ok(times.rows > 100000, `${times.rows} rows`);
  console.log(`# ${times.rows} rows: ${times.found.map((ms) => ms.toFixed(0)).join(" ")} ms`);
  assert.ok(times.found[2] < 100, `${times.found} ms`);  // other work on the machine may slow some down
}));

test("report.html: by finger", () => open("report.html", async (page) => {
  const [begin, end] = [await placeOf(page, 30), await placeOf(page, 80)];
  const client = await page.context().newCDPSession(page);
  const touch = (type, points) => client.send("Input.dispatchTouchEvent", { type, touchPoints: points });
  await touch("touchStart", [begin]);
  for (let i = 1; i <= 5; ++i) await touch("touchMove", [{ x: begin.x + ((end.x - begin.x) * i) / 5, y: begin.y }]);
  await touch("touchEnd", []);
  const [a, b] = await range(page);
  assert.ok(Math.abs(a - 30) <= 1 && Math.abs(b - 80) <= 1, `${a}..${b}`);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
}, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }));

test("report.html: on paper", () => open("report.html", async (page) => {
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.locator(".mf-print").isVisible(), true);
  assert.equal(await page.locator(".mf-headline").isVisible(), true);
  assert.equal(await page.locator(".mf-command button").isVisible(), false);
  await shot(page, "report-print");
}, { colorScheme: "light" }));

const states = {
  "whole": () => {},
  "part": (app) => app.change({ during: "10-30", part: "allocated" }),
  "table beside": (app) => app.toggleTable(),
  "table": (app) => app.tabs.choose("table"),
  "sandwich": (app) => app.tabs.choose("around"),
  "zoomed": (app) => document.querySelector(".mf-verdicts button")?.click(),
};

for (const file of matrix(["report.html", "report-changes.html", "report-icicle.html"]))
  for (const colorScheme of matrix(["light", "dark"]))
    for (const width of [1280, 390])
      test(`${file}: axe finds nothing serious, nothing sticks out, ${colorScheme}, ${width} px`, { timeout: 60000 }, () => open(file, async (page) => {
        await page.evaluate(require("axe-core").source);
        for (const [name, act] of Object.entries(states)) {
          await page.evaluate(`(${act})(document.querySelector(".memflame").app)`);
          const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
          assert.deepEqual(violations.filter(({ impact }) => impact === "serious" || impact === "critical")
            .map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("\n")}`), [], name);
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), name);
          await shot(page, `${file}-${name}-${colorScheme}-${width}`);
        }
      }, { colorScheme, viewport: { width, height: 844 }, bypassCSP: true }));

test("report-interpreter.html: the interpreter is one box in each selection, and a click shows it", () => open("report-interpreter.html", async (page) => {
  const names = async () => (await boxes(page)).map(({ name }) => name).sort();
  const drawn = () => page.evaluate(() => String(document.querySelector(".memflame").app.rows[0][0].view.total));
  const all = ["all", "eval", "main", "route (app.py:3)"];
  assert.deepEqual(await names(), [...all, "[native]", "resize", "thumb (app.py:9)"].sort());
  await shot(page, "report-interpreter");
  await brush(page, 40, 45);
  await choosePart(page, "Allocated");
  assert.deepEqual(await names(), [...all, "[native]", "resize", "sort", "thumb (app.py:9)"].sort());
  assert.equal(await drawn(), "950000");
  assert.match(await headline(page), /927\.7 KiB allocated/);
  await click(page, "[native]");
  assert.ok((await names()).includes("call"));
  assert.equal(await drawn(), "950000");
  await page.getByRole("button", { name: "Interpreter folded" }).click();
  assert.ok((await names()).includes("[native]"));
  await page.locator(".mf-verdicts button").first().click();
  assert.equal(await page.evaluate(() => document.querySelector(".memflame").app.current.view.look.tree.frames.name[document.querySelector(".memflame").app.current.view.frame]), "resize");
  await choose(page, "boxes", "lines");
  assert.ok((await names()).includes("route (app.py:3) app.py:7"));
  assert.equal(await drawn(), "950000");
  await choose(page, "boxes", "modules");
  assert.ok((await names()).includes("python3.11"));
  assert.equal(await drawn(), "950000");
  await page.locator(".mf-worst").click();
  assert.equal(await drawn(), "950000");
}));

test("report.html: boxes can be lines, with the figures of each", () => open("report.html", async (page) => {
  const parse = async () => (await boxes(page)).filter(({ name }) => name.includes("parse_object")).map(({ name, total }) => [name, total]);
  await choosePart(page, "Allocated");
  const [[name, total], ...others] = await parse();
  assert.deepEqual([name, others], ["json::Parser::parse_object", []]);
  await choose(page, "boxes", "lines");
  const lines = await parse();
  assert.deepEqual(lines.map(([one]) => one), ["json::Parser::parse_object session.cc:61", "json::Parser::parse_object session.cc:75"]);
  assert.equal(lines[0][1] + lines[1][1], total);
  assert.equal(lines[1][1], 48n * 300n * 1200n);
}));
