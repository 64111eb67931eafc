// SPDX-License-Identifier: BSD-2-Clause
// Aids for reading a picture: directions, figures, orders, the table, menus, copying.
import assert from "node:assert/strict";
import test from "node:test";
import { boxes, choose, click, current, each, middleOf, open, searchFor, until, zoomedName, zoomTo } from "./browser.mjs";

const names = async (page, row) => (await boxes(page)).filter((box) => row === undefined || box.row === row).map((box) => box.name);
const press = (page, keys) => keys.split(" ").reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());

for (const file of each("flame")) {
  test(`${file}: callers and callees of a function`, () => open(file, async (page) => {
    await click(page, "cache::insert", { button: "right" });
    await page.getByRole("menuitem", { name: "Callers and callees" }).click();
    assert.deepEqual(await names(page), ["server", "main", "event_loop", "server::Session::handle_request(server::Request const&)",
      "cache::insert", "cache::Entry::Entry", "cache::rehash"]);
    await click(page, "event_loop");  // a caller: now of that one
    assert.equal(await zoomedName(page), "event_loop");
    await press(page, "Escape Escape");
    assert.ok((await names(page)).includes("worker 12"));
  }));

  test(`${file}: callers first, with the same total`, () => open(file, async (page) => {
    const [{ total }] = await boxes(page);
    await page.keyboard.press("v");
    const all = await boxes(page);
    assert.equal(all[0].total, total);
    assert.equal(all.filter((box) => box.row === 1).reduce((sum, box) => sum + box.total, 0n), total);
    assert.ok(all.some((box) => box.row === 1 && box.name === "deflateInit2_"));
    await zoomTo(page, "deflateInit2_");
    assert.deepEqual(await names(page), ["all", "deflateInit2_", "compress", "worker 12", "server"]);
    await page.keyboard.press("v");
    assert.ok((await names(page)).includes("plugins"));
  }));

  test(`${file}: hide, only below, restore`, () => open(file, async (page) => {
    await zoomTo(page, "main");
    await page.locator("[role=tree]").focus();
    await press(page, "ArrowUp h");
    assert.equal(await zoomedName(page), "main", "the zoom stays");
    assert.ok(!(await names(page)).includes("event_loop"));
    assert.ok((await names(page, 3)).includes("log::write"), "its callees are its caller's");
    await page.keyboard.press("0");
    assert.equal(await page.locator(".mf-info").textContent(), "hidden: event_loop · 1 function of the allocator hidden");
    await page.getByRole("button", { name: "Restore" }).click();
    assert.ok((await names(page)).includes("event_loop"));
    await click(page, "cache::insert", { button: "right" });
    await page.getByText("Only below this function").click();
    assert.deepEqual(await names(page), ["cache::insert", "cache::Entry::Entry", "cache::rehash"]);
    await page.keyboard.press("r");
    assert.ok((await names(page)).includes("plugins"));
  }));

  test(`${file}: other figures, orders and ends of names`, () => open(file, async (page) => {
    await page.keyboard.press("m");
    assert.equal((await boxes(page))[0].total, 145775n);
    assert.equal(await page.getByRole("combobox", { name: "Width" }).evaluate((select) => select.value), "live-count");
    await page.keyboard.press("m");
    await choose(page, "order", "width");
    const widths = (await boxes(page)).filter((box) => box.row === 2 && !box.narrow).map((box) => Number(box.total));
    assert.deepEqual(widths, widths.toSorted((a, b) => b - a));
    await choose(page, "cut", "left");
    if (file.endsWith("svg"))
      assert.ok((await page.evaluate(() => [...document.querySelectorAll(".row text")].map((text) => text.textContent)))
        .some((text) => /^…\w/.test(text)));
    await page.keyboard.press("i");
    assert.equal(await page.evaluate(() => document.querySelector(".memflame").app.stage.picture.upwards), false);
  }));

  test(`${file}: the table, in order of what one likes`, () => open(file, async (page) => {
    await page.keyboard.press("t");
    const table = page.locator(".mf-table:visible"), first = () => table.locator("tbody tr").first().textContent();
    assert.match(await first(), /^json::Parser::parse_object\(.*\)30\.9 MiB 25\.5 %50\.9 MiB 42\.1 %$/);
    assert.deepEqual(await table.locator("th[aria-sort=descending]").allTextContents(), ["Self"]);
    await table.getByText("Total", { exact: true }).click();
    assert.match(await first(), /^server0 B/);
    await table.getByText("Self", { exact: true }).click();
    await table.getByText("Self", { exact: true }).click();
    assert.deepEqual(await table.locator("th[aria-sort=ascending]").allTextContents(), ["Self"]);
    await table.locator("input").pressSequentially("REHASH");
    assert.equal(await table.locator("tbody tr").count(), 1);
    await table.locator("tbody button").click();
    assert.equal(await zoomedName(page), "cache::rehash");
    assert.match(page.url(), /table=-own/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".mf-table:visible").count(), 0);
  }));

  test(`${file}: the table is not a step to go back to`, () => open(file, async (page) => {
    await zoomTo(page, "main");
    await press(page, "t Escape Escape");
    assert.equal(await page.locator(".mf-table:visible").count(), 0);
    assert.equal(await page.locator(".mf-info b").textContent(), "");
  }));

  test(`${file}: Escape closes what is open, and only that`, () => open(file, async (page) => {
    await zoomTo(page, "main");
    await page.locator("[role=tree]").focus();
    await page.keyboard.press("?");
    assert.equal(await page.locator(".mf-help").isVisible(), true);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".mf-help").isVisible(), false);
    await press(page, "Space ArrowDown ArrowDown");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Only below this functionf");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".mf-menu").isVisible(), false);
    assert.equal(await zoomedName(page), "main");
    assert.equal(await current(page), "main", "the keys are where they were");
    await page.mouse.click(5, 300);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".mf-info b").textContent(), "");
  }));

  test(`${file}: everything with keys alone`, () => open(file, async (page) => {
    await press(page, "Tab");
    for (let i = 0; i < 12 && !await page.evaluate(() => document.activeElement.getAttribute("role") === "tree"); ++i)
      await page.keyboard.press("Tab");
    await press(page, "ArrowUp ArrowUp ArrowRight ArrowRight Enter");
    assert.equal(await zoomedName(page), "main");
    await press(page, "/");
    await page.keyboard.type("rehash");
    await press(page, "Enter Escape");
    await press(page, "/");
    await page.keyboard.type("rehash");
    await press(page, "Enter");
    await page.locator("[role=tree]").focus();
    await press(page, "n Enter");
    assert.equal(await zoomedName(page), "cache::rehash");
    await press(page, "s 0 r t Escape");
    assert.ok((await names(page)).includes("plugins"));
  }));

  test(`${file}: copied by the clipboard, or by hand where that is refused`, () => open(file, async (page) => {
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", {
      configurable: true, value: { writeText: async (text) => { window.copied = text; } } }));
    await zoomTo(page, "cache::insert");
    await page.keyboard.press("y");
    assert.match(await page.evaluate(() => window.copied), /^server\nmain\nevent_loop\n.*\ncache::insert\n33\.0 MiB/);
    assert.match(await page.locator(".mf-info").textContent(), /copied$/);
    await page.keyboard.press("Y");
    assert.match(await page.evaluate(() => window.copied), /;cache::insert;cache::rehash 8388608\n$/);
    await click(page, "cache::rehash", { button: "right" });
    await page.getByText("Copy name").click();
    assert.equal(await page.evaluate(() => window.copied), "cache::rehash");
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", {
      value: { writeText: async () => { throw new Error("refused"); } } }));
    await page.keyboard.press("y");
    await until(page, () => document.activeElement.localName === "textarea");
    assert.match(await page.evaluate(() => document.activeElement.value), /^server\n/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".mf-copy").isVisible(), false);
  }));

  test(`${file}: fingers: a tap zooms, a long one opens the menu`, () => open(file, async (page) => {
    const { x, y } = await middleOf(page, "cache::insert");
    await page.touchscreen.tap(x, y);
    assert.equal(await zoomedName(page), "cache::insert");
    await page.keyboard.press("0");
    const client = await page.context().newCDPSession(page);
    await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
    await until(page, () => !document.querySelector(".mf-menu").hidden);
    await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    assert.equal(await page.locator(".mf-menu").isVisible(), true);
    assert.equal(await zoomedName(page), "");
    await page.getByText("Hide this function").tap();
    assert.ok(!(await names(page)).includes("cache::insert"));
  }, { hasTouch: true }));

  test(`${file}: what a screen reader is told`, () => open(file, async (page) => {
    const tree = page.locator("[role=tree]");
    await tree.focus();
    await press(page, "ArrowUp ArrowUp");
    const item = page.locator("[role=treeitem][aria-selected=true]");
    assert.match(await item.getAttribute("aria-label"), /^\[lost: ring buffer full\], 1\.2 MiB \(1,267,567 B\), 310 pages of 4 KiB, 1\.0 % of all, /);
    assert.deepEqual(await Promise.all(["aria-level", "aria-posinset", "aria-setsize"].map((name) => item.getAttribute(name))), ["3", "1", "4"]);
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.locator("[aria-expanded=true]").count(), 2);
    await page.keyboard.press("Enter");
    assert.match(await page.locator(".mf-unseen[role=status]").textContent(), /^server, 120\.9 MiB/);
    await searchFor(page, "cache");
    assert.equal(await page.locator(".mf-matched").getAttribute("role"), "status");
  }));
}

for (const file of each("change"))
  test(`${file}: before and after, what came and what went`, () => open(file, async (page) => {
    assert.deepEqual((await boxes(page)).map((box) => box.label),
      ["+ all", "+ app", "+ main", "+ cache::insert", "load", "★ new_parser", "✕ old_parser", "✕ rehash"]);
    const total = { max: 16n << 20n, after: 12n << 20n, before: 10n << 20n, sum: 22n << 20n, delta: 10n << 20n };
    for (const [value, sum] of Object.entries(total)) {
      await choose(page, "measure", value);
      assert.equal((await boxes(page))[0].total, sum, value);
    }
    await choose(page, "measure", "max");
    await page.mouse.move(...Object.values(await middleOf(page, "old_parser")));
    assert.match(await page.locator(".mf-tip").textContent(), /before 3\.0 MiB \(3,145,728 B\), after 0 B: -3\.0 MiB \(-3,145,728 B\), -100\.0 %, gone/);
  }));

test("flame.html: on paper all of it is drawn as SVG", () => open("flame.html", async (page) => {
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  const drawn = (await boxes(page)).length;
  assert.equal(await page.locator(".mf-print rect").count(), drawn);
  assert.equal(await page.locator(".mf-print").isVisible(), true);
  assert.equal(await page.locator(".mf-bar").isVisible(), false);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator(".mf-print").count(), 0);
}));
