// SPDX-License-Identifier: BSD-2-Clause
import assert from "node:assert/strict";
import test from "node:test";
import { address, boxes, choose, click, current, each, elements, indexOf, middleOf, open, searched, searchFor, until, zoomedName, zoomTo } from "./browser.mjs";

const margin = 12, gap = (width) => Math.min(0.8, width / 8);

// Exactly the boxes of `name` are drawn, each at the place and width of its figure, below callers in full
// width; in an SVG, the elements are where the boxes say.
async function checkZoomed(page, name) {
  const all = await boxes(page), zoomed = all.find((box) => box.name === name && !box.caller);
  assert.ok(zoomed, `${name} is not drawn`);
  assert.equal(zoomed.width, 1);
  assert.ok(all.filter((box) => box.caller).every((box) => box.x === 0 && box.width === 1 && box.row < zoomed.row));
  for (const box of all) if (!box.caller)
    assert.ok(Math.abs(box.width - Number(box.total) / Number(zoomed.total)) < 1e-9, `${box.name} is ${box.width} wide`);
  const drawn = await page.evaluate(() => document.documentElement.localName === "svg") && await elements(page);
  if (!drawn) return all.length;
  assert.equal(drawn.length, all.length);
  const inner = page.viewportSize().width - 2 * margin;
  all.forEach((box, i) => {
    const width = box.width * inner;
    assert.ok(Math.abs(drawn[i].x - margin - box.x * inner) < 0.011, `${box.name} begins at ${drawn[i].x}`);
    assert.ok(Math.abs(drawn[i].width - (width - gap(width))) < 0.011, `${box.name} is ${drawn[i].width} wide`);
  });
  return all.length;
}

for (const file of ["flame", "icicle", "pages", "huge"].flatMap(each)) {
  test(`${file}: zoom, in steps and back`, () => open(file, async (page) => {
    const first = (await boxes(page)).find((box) => box.row === 1).name;
    const everything = await checkZoomed(page, "all");
    const last = (await boxes(page)).findLast((box) => !box.narrow).name;
    for (const name of [first, last]) {
      await zoomTo(page, name);
      await checkZoomed(page, name);
      assert.equal(await zoomedName(page), name);
    }
    await page.keyboard.press("Escape");
    await checkZoomed(page, first);
    await page.getByText("Reset zoom").click();
    assert.equal(await checkZoomed(page, "all"), everything);
    assert.equal(await page.getByText("Reset zoom").isVisible(), false);
    await page.keyboard.press("Escape");
    await checkZoomed(page, first);
    await page.getByText("Back", { exact: true }).click();
    await checkZoomed(page, "all");
  }));
}

for (const file of each("flame")) {
  test(`${file}: a click on a box zooms, one on a caller zooms out`, () => open(file, async (page) => {
    await click(page, "cache::insert");
    await checkZoomed(page, "cache::insert");
    await click(page, "event_loop");
    await checkZoomed(page, "event_loop");
  }));

  test(`${file}: what is too narrow shows itself where its caller is the whole, and can be listed`, () => open(file, async (page) => {
    const narrow = (await boxes(page)).find((box) => box.narrow);
    assert.match(narrow.name, /^\(\+\d+ frames, \d/);
    await click(page, narrow.name);
    assert.equal(await zoomedName(page), "plugins");
    const all = await boxes(page), plugins = all.filter((box) => box.name.startsWith("plugin_"));
    assert.ok(plugins.length > (file.endsWith("html") ? 300 : 90), `${plugins.length} plugins`);
    await page.keyboard.press("0");
    await page.evaluate((n) => {
      const { app } = document.querySelector(".memflame");
      app.listNarrow(app.rows.flat()[n]);
    }, await indexOf(page, narrow.name));
    await page.locator(".mf-table:visible tbody button").first().click();
    assert.match(await zoomedName(page), /^plugin_\d+$/);
  }));

  test(`${file}: the address keeps all that is looked at; the browser's Back works`, () => open(file, async (page) => {
    await choose(page, "measure", "live-count");
    await choose(page, "order", "width");
    await choose(page, "cut", "left");
    await zoomTo(page, "event_loop");
    await page.evaluate(() => {
      const { app } = document.querySelector(".memflame");
      app.hide(app.tree.frames.name.indexOf("log::write"));
    });
    await searchFor(page, "plugin_1");
    const kept = page.url(), drawn = await boxes(page);
    await checkZoomed(page, "event_loop");
    await zoomTo(page, "all");
    await page.goBack();
    assert.deepEqual(await boxes(page), drawn);
    await open(file, async (other) => {
      assert.deepEqual(await boxes(other), drawn);
      assert.equal(await searched(other), "plugin_1");
      assert.match(await other.locator(".mf-matched").textContent(), /^matched /);
      assert.equal(await other.getByRole("combobox", { name: "Width" }).evaluate((one) => one.value), "live-count");
    }, { url: kept });
    await page.keyboard.press("Escape");
    await page.keyboard.press("r");
    await zoomTo(page, "log::write");
    await checkZoomed(page, "log::write");
  }));

  test(`${file}: an address that means nothing shows everything`, async () => {
    for (const hash of ["#zoom=99.99", "#zoom=x", "#zoom=0123456789abcdef&search=", "#%%%", "#focus=0&hide=,,1",
                        "#view=around", "#value=%00&order=x&root=y&table=z&cut=constructor"])
      await open(file, (page) => checkZoomed(page, "all"), { url: address(file) + hash });
    const told = async (hash) => {
      let text = "";
      await open(file, async (page) => { text = await page.locator(".mf-info").textContent(); }, { url: address(file) + hash });
      return /not in this picture/.test(text);
    };
    assert.deepEqual([await told("#zoom=0123456789abcdef"), await told("#zoom=x")], [true, false]);
  });

  test(`${file}: the figures of the zoomed frame, and of what is pointed at`, () => open(file, async (page) => {
    await zoomTo(page, "cache::insert");
    const info = page.locator(".mf-info");
    assert.equal(await info.textContent(), "33.0 MiB (34,603,008 B), 8,448 pages of 4 KiB · " +
      "27.3 % of all, 40.2 % of parent · live blocks 6,401 · libserver.so.2  cache::insert");
    const { x, y } = await middleOf(page, "cache::rehash");
    await page.mouse.move(x, y);
    const text = "8.0 MiB (8,388,608 B), 2,048 pages of 4 KiB · 6.6 % of all, 24.2 % of zoom, 24.2 % of parent · " +
      "self 8.0 MiB (8,388,608 B), 6.6 % of all · live blocks 1 · libserver.so.2";
    assert.equal(await info.textContent(), `${text}  cache::rehash`);
    assert.equal(await page.locator(".mf-tip").evaluate((tip) => [...tip.children].map((line) => line.textContent).join("|")),
      "cache::rehash|" + text.replaceAll(" · ", "|"));
    await page.mouse.move(5, 5);
    assert.match(await info.textContent(), /cache::insert$/);
    assert.equal(await page.locator(".mf-tip").isVisible(), false);
  }));

  test(`${file}: keys go from box to box, zoom, and back`, () => open(file, async (page) => {
    await page.locator("[role=tree]").focus();
    assert.equal(await current(page), "all");
    for (const [key, name] of [["ArrowUp", "server"], ["ArrowUp", "[lost: ring buffer full]"],
                               ["ArrowRight", "[truncated: no frame pointer]"], ["ArrowRight", "main"],
                               ["ArrowUp", "event_loop"], ["ArrowDown", "main"], ["ArrowLeft",
                               "[truncated: no frame pointer]"], ["ArrowRight", "main"]]) {
      await page.keyboard.press(key);
      assert.equal(await current(page), name, key);
    }
    await page.keyboard.press("Enter");
    await checkZoomed(page, "main");
    await page.keyboard.press("Escape");
    await checkZoomed(page, "all");
  }));

  test(`${file}: the picture fills the window, whatever it becomes`, () => open(file, async (page) => {
    for (const width of [1700, 1201, 1500]) {
      await page.setViewportSize({ width, height: 500 });
      await until(page, (wanted) => Math.abs(document.querySelector(".memflame").app.stage.width - wanted) < 20, width - 24);
      await checkZoomed(page, "all");
    }
  }));
}

for (const file of each("icicle"))
  test(`${file}: the keys go the other way`, () => open(file, async (page) => {
    await page.locator("[role=tree]").focus();
    await page.keyboard.press("ArrowDown");
    assert.equal(await current(page), "server");
  }));

test("the ids of boxes are the same in every picture of a program", async () => {
  const ids = (file, viewport) => new Promise((resolve, reject) => open(file, async (page) => resolve(await page.evaluate(() => {
    const { app } = document.querySelector(".memflame");
    return app.rows.flat().filter((box) => box.view && !app.tree.isMerged(box.view.frame))
      .map((box) => [box.view.path().map((one) => one.frame < 0 ? "" : app.tree.frames.name[one.frame]).join(";"), box.view.hash.join()]);
  })), { viewport }).catch(reject));
  const [narrow, ...others] = await Promise.all([ids("flame.svg", { width: 700, height: 500 }),
    ids("flame.html", { width: 1900, height: 500 }), ids("icicle.html", { width: 1300, height: 500 })]);
  for (const other of others) {
    const byPath = new Map(other);
    for (const [path, id] of narrow) assert.equal(byPath.get(path), id, path);
  }
});

for (const file of each("large"))
  test(`${file}: a hundred thousand boxes`, { timeout: 240000 }, () => open(file, async (page) => {
    const { name } = (await boxes(page)).find((box) => box.row === 2);
    const before = (await boxes(page)).length;
    await zoomTo(page, name);
    await checkZoomed(page, name);
    assert.equal((await boxes(page)).filter((box) => box.caller).length, 2);
    assert.ok((await boxes(page)).length > 5000 || before < 10000);
  }));

test("few.svg: no more boxes at once than asked for; whoever zooms sees more, and what is in none is said", () => open("few.svg", async (page) => {
  const named = async () => (await boxes(page)).filter((box) => !box.narrow && !box.caller);
  const first = await named(), outer = first.find((box) => box.row === 2);
  assert.ok(first.length > 40 && first.length <= 61, `${first.length} boxes`);
  const below = first.filter((box) => box.x >= outer.x && box.x < outer.x + outer.width && box.row >= 2);
  await zoomTo(page, outer.name);
  const zoomed = await named();
  assert.ok(zoomed.length > below.length && zoomed.length <= 61, `${below.length}, then ${zoomed.length} boxes`);
  assert.match(await searchFor(page, "function_1"), /; [0-9.]+ MiB in merged boxes, which have no names$/);
}));

for (const file of each("time"))
  test(`${file}: in order of time each call is a box of its own`, () => open(file, async (page) => {
    const calls = async () => (await boxes(page)).filter((box) => box.row === 3).map((box) => `${box.name} ${box.total}`);
    assert.deepEqual(await calls(), ["parse 1000", "draw 1500", "parse 2000", "draw 2500", "parse 3000", "draw 3500"]);
    await page.evaluate(() => {
      const { app } = document.querySelector(".memflame");
      app.choose(app.rows[3][2]);
    });
    assert.deepEqual(await calls(), ["parse 2000"]);
    await open(file, async (other) => {
      assert.equal((await boxes(other)).at(-1).total, 2000n);
    }, { url: page.url() });
  }));
