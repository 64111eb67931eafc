// SPDX-License-Identifier: BSD-2-Clause
import assert from "node:assert/strict";
import test from "node:test";
import { boxes, each, files, matrix, open, searchFor, until, zoomedName, zoomTo } from "./browser.mjs";

// Finds whatever leaves its place: names outside their boxes, lines of the head outside the picture or over
// each other, the head or the bar over boxes, controls outside the window.
const misplaced = (page) => page.evaluate(() => {
  const wrong = [], root = document.documentElement;
  if (root.scrollWidth > window.innerWidth) wrong.push(`${root.scrollWidth} px wide`);
  for (const control of document.querySelectorAll(".mf-bar input, .mf-bar button, .mf-bar select")) {
    const { left, right, width } = control.getBoundingClientRect();
    if (width && (left < 0 || right > window.innerWidth)) wrong.push(`out of the window: ${control.title}`);
  }
  if (root.localName !== "svg") return wrong;
  for (const text of [...document.querySelectorAll(".row text")].filter((one) => one.textContent)) {
    const rect = text.parentNode.querySelector("rect");
    const right = Number(text.getAttribute("x")) + text.getComputedTextLength();
    const edge = Number(rect.getAttribute("x")) + Number(rect.getAttribute("width"));
    if (right > edge) wrong.push(`${text.textContent}: ${right} is beyond ${edge}`);
  }
  const lines = [...document.querySelectorAll(".head text, .legend text")];
  let last = null;
  for (const line of lines) {
    const box = line.getBBox();
    if (box.x + box.width > root.viewBox.baseVal.width) wrong.push(`too long: ${line.textContent}`);
    if (last && box.y < last.y + last.height - 3 && box.x < last.x + last.width)
      wrong.push(`on the line before: ${line.textContent}`);
    last = box;
  }
  const head = Math.max(...lines.map((line) => line.getBBox().y + line.getBBox().height));
  const rows = [...document.querySelectorAll(".row")].map((row) => row.transform.baseVal[0].matrix.f);
  if (rows.length && Math.min(...rows) < head) wrong.push("the boxes reach into the head");
  return wrong;
});

for (const file of matrix(["flame.svg", "hostile.html", ...files().filter((name) => !/^(million|large|few-huge|palette-.*|flame|hostile)\./.test(name)), "flame.html", "hostile.svg"], 2)) {
  test(`${file}: nothing sticks out`, { timeout: 240000 }, () => open(file, async (page) => {
    assert.deepEqual(await misplaced(page), []);
    if (/^nothing/.test(file)) return;
    const names = (await boxes(page)).filter((box) => box.row > 0 && !box.narrow).map((box) => box.name);
    for (const name of new Set([names[Math.floor(names.length / 2)], names.at(-1)])) {
      await page.keyboard.press("0");
      await zoomTo(page, name);
      assert.deepEqual(await misplaced(page), [], `zoomed to ${name}`);
    }
    await page.setViewportSize({ width: 1999, height: 700 });
    await until(page, () => document.querySelector(".memflame").app.stage.width > 1900);
    assert.deepEqual(await misplaced(page), [], "in a wide window");
  }));

  if (file.endsWith(".svg"))
    test(`${file}: without scripts`, { timeout: 240000 }, () => open(file, async (page) => {
      assert.equal(await page.locator(".mf-bar").count(), 0);
      assert.deepEqual(await misplaced(page), []);
    }, { javaScriptEnabled: false }));
}

for (const file of each("flame"))
  test(`${file}: in a small window`, () => open(file, async (page) => {
    await page.evaluate(() => document.querySelector(".memflame").app.toggleTable());
    const { left, right } = await page.locator(".mf-table:visible").evaluate((panel) => panel.getBoundingClientRect().toJSON());
    assert.ok(left >= 0 && right <= 390, `${left} to ${right}`);
    assert.deepEqual((await misplaced(page)).filter((one) => file.endsWith("html") || !/px wide/.test(one)), []);
  }, { viewport: { width: 390, height: 700 }, hasTouch: true }));

for (const file of each("hostile"))
  test(`${file}: names do nothing but be shown`, () => open(file, async (page) => {
    const plain = (text) => text.replace(/\s+/g, " ");
    for (const box of (await boxes(page)).filter((one) => one.row > 1)) {
      await page.keyboard.press("0");
      await zoomTo(page, box.name);
      assert.equal(plain(await zoomedName(page)), plain(box.name));
    }
    for (const pattern of ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "${alert(1)}"])
      await searchFor(page, pattern);
    await page.evaluate(() => {
      const { app } = document.querySelector(".memflame");
      app.toggleTable();
      for (const box of app.rows.flat()) {
        app.openMenu(box, 10, 10);
        app.hide(box.view.frame);
        app.restore();
      }
    });
    const scripts = file.endsWith("svg") ? 1 : 3;  // two of which are data
    assert.equal(await page.locator("script").count(), scripts);
    assert.equal(await page.locator("image, img, iframe, use, a").count(), 0);
  }));

// With a background that the user chose, the picture is never dark.
for (const [file, given] of [...each("losses").map((file) => [file, false]), ...each("ground").map((file) => [file, true])])
  test(`${file}: dark where the reader prefers it, and as readable`, () => open(file, async (page) => {
    const luminance = (colour) => {
      const [r, g, b] = colour.match(/[\d.]+/g).map((c) => c / 255)
        .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const style = (selector, name) => page.locator(selector).first()
      .evaluate((element, what) => getComputedStyle(element)[what], name);
    const svg = file.endsWith("svg");
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const behind = svg ? await style("stop.bottom", "stopColor")
        : given ? /rgb\([^)]*\)/.exec(await style("div.memflame", "backgroundImage"))[0] : await style("body", "backgroundColor");
      const ground = luminance(behind);
      assert.equal(ground < 0.2, colorScheme === "dark" && !given);
      if (given) assert.equal(behind, "rgb(160, 160, 160)");
      for (const text of svg ? [".title", ".detail", ".figure", ".warning"] : ["h1", ".mf-head .detail", ".mf-head .warning"]) {
        const [low, high] = [ground, luminance(await style(text, svg ? "fill" : "color"))].sort((a, b) => a - b);
        assert.ok((high + 0.05) / (low + 0.05) >= 4.5, `${text} in ${colorScheme}`);
      }
      if (svg) assert.equal(await style(".row text", "fill"), "rgb(0, 0, 0)");
    }
  }));

test("deep.svg: the bar is in sight in a high picture, wherever one scrolls to", () => open("deep.svg", async (page) => {
  for (const y of [0, 5000, 1e9]) {
    await page.evaluate((to) => window.scrollTo(0, to), y);
    await until(page, () => {
      const bar = document.querySelector(".mf-bar").getBoundingClientRect();
      return bar.bottom <= window.innerHeight + 1 && bar.top > window.innerHeight - 140;
    });
  }
}));

// Where the root is, and what covers it.
const rootPlace = (page) => page.evaluate(() => {
  const { app } = document.querySelector(".memflame"), { top, height } = app.stage.place(app.rows[0][0]), bar = app.bar.getBoundingClientRect();
  const free = document.documentElement.localName === "svg" ? [0, bar.top] : [bar.bottom, window.innerHeight];
  return { top, bottom: top + height, free, inSight: top >= free[0] - 1 && top + height <= free[1] + 2 };
});

for (const file of ["flame", "change", "large", "deep", "icicle"].flatMap(each))
  for (const height of matrix([360, 1200, 480, 800], 2))
    test(`${file}: opens with its root in sight, ${height} px high`, () => open(file, async (page) => {
      const place = await rootPlace(page);
      assert.ok(place.inSight || /^icicle/.test(file), JSON.stringify(place));
      // A flame stands at the lower end, however few rows it has.
      if (!/^icicle/.test(file)) assert.ok(place.free[1] - place.bottom < 16, JSON.stringify(place));
    }, { viewport: { width: 1280, height } }));

for (const file of each("flame"))
  test(`${file}: text that can be read on a telephone`, () => open(file, async (page) => {
    const { letters, row, wide } = await page.evaluate(() => {
      const { app } = document.querySelector(".memflame"), { scale } = window.visualViewport, box = app.rows.flat().find(({ row }) => row === 1);
      const text = document.querySelector(".row text") ?? null;
      return { letters: (text ? text.getBoundingClientRect().height : app.stage.fontSize * 1.2) * scale, row: app.stage.place(box).height * scale,
               wide: document.documentElement.scrollWidth * scale };
    });
    assert.ok(letters > 13, `${letters} px`);
    assert.ok(row > 20, `${row} px`);
    assert.ok(wide <= 391, `${wide} px wide`);
    assert.equal((await rootPlace(page)).inSight, true);
    // No line of the head is cut.
    const cut = await page.evaluate(() => [...document.querySelectorAll(".mf-phone-head *")].filter((one) => one.scrollWidth > one.clientWidth + 1).length);
    assert.equal(cut, 0);
  }, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }));

test("deep.svg: a high flame begins at its root, with the title beside the keys", () => open("deep.svg", async (page) => {
  const { top, bottom } = await page.evaluate(() => {
    const { app } = document.querySelector(".memflame");
    return app.stage.place(app.rows[0][0]).toJSON();
  });
  assert.ok(top >= 0 && bottom <= 720, `${top} to ${bottom}`);
  assert.match(await page.locator(".mf-info").textContent(), /^Click a box.*  Flame graph of live bytes$/);
}));

test("deep.html: a flame's root is in sight, and stays when one zooms", () => open("deep.html", async (page) => {
  const place = () => page.evaluate(() => {
    const { app } = document.querySelector(".memflame"), { top, height } = app.stage.place(app.rows[0][0]);
    return top >= 0 && top + height <= window.innerHeight + 1;
  });
  assert.equal(await place(), true);
  await page.locator("[role=tree]").focus();
  for (let i = 0; i < 60; ++i) await page.keyboard.press("ArrowUp");
  assert.equal(await place(), false);
  await page.keyboard.press("Enter");
  assert.match(await zoomedName(page), /^recurse_/);
}));
