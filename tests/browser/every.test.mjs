// SPDX-License-Identifier: BSD-2-Clause
// Invariants of every picture: no figure is lost, the text is well-formed, and it is accessible
// (axe-core's rules).
import assert from "node:assert/strict";
import test from "node:test";
import { both, boxes, files, matrix, open, require } from "./browser.mjs";

const looked = ["flame.svg", "change.svg", "losses.html", "deep.svg", "pages.svg", "time.svg"];
for (const file of matrix([...looked, ...files().filter((name) => !/^(million|nothing)/.test(name) && !looked.includes(name))], looked.length))
  test(`${file}: callees and what is a box's own are the box`, { timeout: 240000 }, () => open(file, async (page) => {
    assert.equal(await page.evaluate(() => document.querySelector("parsererror")), null);
    const wrong = await page.evaluate(() => {
      const { app } = document.querySelector(".memflame"), found = [];
      const { tree } = app, sum = (list) => list.reduce((one, other) => one + other, tree.zero);
      for (const flow of ["callees", "callers"]) {
        app.set("direction", flow === "callers" ? "callers" : "");
        const all = app.rows.flat(), inside = new Map();
        for (const box of all) {
          const around = box.view ? box.view.parent : box.caller;
          inside.set(around, (inside.get(around) ?? tree.zero) + (box.view ? box.view.total : box.total));
        }
        for (const { view, role } of all)
          if (view && role !== "caller" && (inside.get(view) ?? tree.zero) + view.own !== view.total) found.push(`drawn: ${flow} ${view.path().length}`);
        const leaves = sum(all.map(({ view, total }) => (view ? view.own : total)));
        if (leaves !== app.zoomed.total) found.push(`${flow}: the leaves are ${leaves} of ${app.zoomed.total}`);
      }
      for (const { own, total, id } of app.measures) {
        const rest = total.slice();
        for (let n = 1; n < tree.size; ++n) rest[tree.parent[n]] -= total[n];
        if (rest.some((one, n) => one !== own[n])) found.push(`data: ${id}`);
        if (sum(Array.from(own)) !== total[0]) found.push(`sum: ${id}`);
      }
      return found;
    });
    assert.deepEqual(wrong, []);
  }));

test("SVG and HTML of one profile have the same total and boxes", async () => {
  for (const name of ["flame", "huge", "change", "pages"]) {
    const found = [];
    for (const file of both(name)) await open(file, async (page) => found.push((await boxes(page)).filter((box) => box.width > 0.01).map(({ name: one, total }) => `${one} ${total}`)));
    assert.deepEqual(found[0].filter((one) => !one.startsWith("(+")), found[1].filter((one) => !one.startsWith("(+")), name);
  }
});

const states = {
  "at first": () => {},
  "with table and search": (app) => { app.searchFor("cache"); app.toggleTable(); },
  "with help": (app) => app.help.show(),
  "with a menu": (app) => app.openMenuAt(app.rows[2][0]),
  "zoomed": (app) => app.choose(app.rows[2][0]),
  "zoomed, with all steps": (app) => document.querySelector(".mf-more-crumbs")?.click(),
  "icicle": (app) => app.tabs.choose("icicle"),
  "callers first": (app) => app.tabs.choose("callers"),
  "sandwich": (app) => app.tabs.choose("around"),
  "table": (app) => app.tabs.choose("table"),
  "unfolded": (app) => { const fold = document.querySelector(".mf-fold"); if (fold) fold.open = true; },
  "with options": (app) => app.controls.more.click(),
};

const wide = { width: 1280, height: 720 }, narrow = { width: 390, height: 844 };
for (const [file, colorScheme, viewport] of matrix([...both("losses"), ...both("change")].flatMap((file) => [[file, "light", wide], [file, "dark", wide]])
  .concat([...both("deep"), "large.html", "lines.html", "leaks.html"].map((file) => [file, "light", wide]),
          ["losses.html", "deep.html", "lines.html"].flatMap((file) => [[file, "light", narrow], [file, "dark", narrow]])), 2))
    test(`${file}: axe finds nothing serious, ${colorScheme}, ${viewport.width} px`, { timeout: 240000 }, () => open(file, async (page) => {
      await page.evaluate(require("axe-core").source);
      for (const [name, act] of Object.entries(states)) {
        await page.evaluate(() => document.querySelector(".memflame").app.closePanels());
        await page.evaluate(`(${act})(document.querySelector(".memflame").app)`);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        assert.deepEqual(violations.filter(({ impact }) => impact === "serious" || impact === "critical")
          .map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("\n")}`), [], name);
      }
    }, { colorScheme, viewport, bypassCSP: true }));
