// SPDX-License-Identifier: BSD-2-Clause
// Figures by function: a picture with boxes for a part of the frames has the same figures as the page with
// all of them.
import assert from "node:assert/strict";
import test from "node:test";
import { matched, open, searchFor } from "./browser.mjs";

// {measure: {function: figures}} from the table, and the text below it.
const tables = (page) => page.evaluate(() => {
  const { app } = document.querySelector(".memflame"), { tree } = app, found = {};
  const { functionBlames = ["all"], functionMeasures, difference } = tree.about;
  const first = functionBlames.indexOf(tree.blame) * (2 * functionMeasures?.length + (difference ? 2 : 0));
  for (const { id, total } of app.measures) {
    app.change({ value: id, table: "total" });
    found[id] = { rows: {}, all: String(total[0]), gaps: document.querySelector(".mf-more").textContent, count: app.listed.rows.length,
                  left: String(tree.beyond?.[first + 2 * tree.about.functionMeasures.indexOf(id)].at(-1) ?? 0) };
    for (const { frame, own, total, before, after } of app.listed.rows)
      found[id].rows[[tree.frames.name[frame], tree.frames.module[frame], tree.kind(frame)].join("\n")] = [own, total, before, after].map(String).join(" ");
  }
  return { found, merged: Boolean(tree.merged) };
});

const figures = async (file) => {
  let result;
  await open(file, async (page) => { result = await tables(page); });
  return result;
};

for (const [cut, whole] of [["few", "large"], ["few-flame", "flame"], ["few-change", "change"], ["few-time", "time"], ["few-huge", "huge"]])
  test(`${cut}.svg: functions have the figures of ${whole}.html, for each measure`, async () => {
    const svg = await figures(`${cut}.svg`), html = await figures(`${whole}.html`);
    assert.ok(svg.merged && !html.merged);
    for (const [id, { rows, gaps }] of Object.entries(html.found)) {
      assert.deepEqual(svg.found[id].rows, rows, id);
      assert.equal(gaps, svg.found[id].gaps);
    }
    assert.deepEqual(Object.keys(svg.found), Object.keys(html.found));
  });

test("million.svg: functions without a name are told with their sum", async () => {
  const svg = await figures("million.svg"), html = await figures("million.html");
  for (const [id, { rows, all, left, gaps, count }] of Object.entries(svg.found)) {
    for (const [name, row] of Object.entries(rows)) assert.equal(row, html.found[id].rows[name], `${id} ${name}`);
    const own = Object.values(rows).reduce((sum, row) => sum + BigInt(row.split(" ")[0]), 0n);
    assert.equal(own + BigInt(left), BigInt(all));
    assert.equal(all, html.found[id].all);
    assert.ok(count < html.found[id].count);
    assert.match(gaps, new RegExp(`${(html.found[id].count - count).toLocaleString("en")} smaller functions are not listed; their self is`));
  }
});

const around = (page, name) => page.evaluate((wanted) => {
  const { app } = document.querySelector(".memflame");
  app.lookAround(app.tree.frames.name.indexOf(wanted));
  return document.querySelector(".mf-info").textContent;
}, name);

test("few-flame.svg: around a function are its callees that have boxes, and this is said", () => open("few-flame.svg", async (page) => {
  const told = await around(page, "init");
  let whole;
  await open("flame.html", async (other) => { whole = await around(other, "init"); });
  const [, total] = /([\d,]+ B)/.exec(whole);
  assert.ok(told.includes(total), `${told} / ${whole}`);
  assert.match(told, /callers and callees: of the .* that this picture has boxes for/);
  assert.doesNotMatch(whole, /has boxes for/);
}));

test("few-flame.svg: what a search finds in merged boxes counts too", () => open("few-flame.svg", async (page) => {
  let whole;
  await open("flame.html", async (other) => { whole = [await searchFor(other, "^plugin_399$"), await searchFor(other, "^init$")]; });
  assert.deepEqual([await searchFor(page, "^plugin_399$"), await searchFor(page, "^init$")], whole);
  assert.match(await searchFor(page, "^plugin"), /^matched .* or more, .*; .* in merged boxes, which have no names$/);
  await page.evaluate(() => { const { app } = document.querySelector(".memflame"); app.change({ hidden: [app.tree.frames.name.indexOf("main")] }); });
  assert.match(await matched(page), /or more/);
}));
