// SPDX-License-Identifier: BSD-2-Clause
// The controls of a picture, each by mouse, by touch and by keys.
import assert from "node:assert/strict";
import test from "node:test";
import { boxes, click, current, each, matched, middleOf, open, searchFor, until, zoomedName, zoomTo } from "./browser.mjs";

const tab = (page, name) => page.getByRole("tab", { name, exact: true });
const selected = (page) => page.locator("[role=tab][aria-selected=true]").textContent();
const state = (page) => page.evaluate(() => { const { app } = document.querySelector(".memflame"); return { upwards: app.upwards, around: app.around, view: app.state.view }; });
const press = async (page, keys) => { for (const key of keys.split(" ")) await page.keyboard.press(key); };
const tableShown = (page) => page.locator(".mf-table:visible").count();
// A finger, as a browser reports it.
const drag = async (page, from, to, how) => {
  if (how === "mouse") {
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 4 });
    return page.mouse.up();
  }
  const client = await page.context().newCDPSession(page), send = (type, ...touchPoints) => client.send("Input.dispatchTouchEvent", { type, touchPoints });
  await send("touchStart", from);
  await send("touchMove", { x: (from.x + to.x) / 2, y: to.y });
  await send("touchMove", to);
  return send("touchEnd");
};

for (const file of each("flame")) {
  for (const how of ["click", "tap"])
    test(`${file}: tabs, by ${how}`, () => open(file, async (page) => {
      assert.equal(await selected(page), "Flame");
      const { length } = await boxes(page);
      await tab(page, "Icicle")[how]();
      assert.deepEqual(await state(page), { upwards: false, around: false, view: "" });
      await tab(page, "Callers first")[how]();
      assert.equal((await state(page)).view, "callers");
      await tab(page, "Sandwich")[how]();
      assert.equal((await state(page)).around, true);
      assert.match(await zoomedName(page), /^json::Parser::parse_object/, "the function with most of its own");
      await tab(page, "Table")[how]();
      assert.equal(await tableShown(page), 1);
      assert.match(page.url(), /view=table/);
      await page.locator(".mf-table:visible tbody").getByRole("button", { name: "event_loop", exact: true })[how]();
      assert.equal(await zoomedName(page), "event_loop");
      assert.equal(await selected(page), "Sandwich");
      assert.equal(await tableShown(page), 0);
      await tab(page, "Flame")[how]();
      assert.deepEqual(await state(page), { upwards: true, around: false, view: "" });
      assert.equal((await boxes(page)).length, length);
    }, { hasTouch: true }));

  test(`${file}: tabs, by keys`, () => open(file, async (page) => {
    await tab(page, "Flame").focus();
    const seen = [];
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Home", "End"]) {
      await page.keyboard.press(key);
      seen.push(await selected(page));
      assert.equal(await page.evaluate(() => document.activeElement.textContent), seen.at(-1));
    }
    assert.deepEqual(seen, ["Icicle", "Callers first", "Sandwich", "Table", "Flame", "Table", "Flame", "Table"]);
    assert.equal(await page.locator("[role=tab][tabindex='0']").count(), 1);
    await page.locator("[role=tree]").focus();
    for (const [key, name] of [["1", "Flame"], ["2", "Icicle"], ["3", "Callers first"], ["4", "Sandwich"], ["5", "Table"], ["Escape", "Icicle"], ["v", "Callers first"], ["v", "Icicle"], ["i", "Flame"]]) {
      await page.keyboard.press(key);
      assert.equal(await selected(page), name, key);
    }
  }));

  test(`${file}: a tab keeps the zoom where it has the same boxes`, () => open(file, async (page) => {
    await zoomTo(page, "event_loop");
    for (const name of ["Icicle", "Table", "Flame"]) await tab(page, name).click();
    assert.equal(await zoomedName(page), "event_loop");
    await tab(page, "Sandwich").click();
    assert.equal(await zoomedName(page), "event_loop", "the zoomed function");
  }));

  test(`${file}: the way to the zoomed box`, () => open(file, async (page) => {
    const crumbs = page.getByRole("navigation", { name: "way to the zoomed box" }), texts = () => crumbs.locator("li").allTextContents();
    await zoomTo(page, "cache::rehash");
    assert.deepEqual(await texts(), ["all", "server", "…", "server::Session::handle_request(server::Request const&)", "cache::insert", "cache::rehash"]);
    assert.equal(await crumbs.locator("[aria-current]").textContent(), "cache::rehash");
    await crumbs.getByRole("button", { name: "more steps" }).click();
    assert.equal((await texts())[2], "main");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "main");
    await page.keyboard.press("Enter");
    assert.equal(await zoomedName(page), "main");
    await crumbs.getByRole("button", { name: "server" }).tap();
    assert.equal(await zoomedName(page), "server");
    await crumbs.getByRole("button", { name: "all" }).click();
    assert.equal(await zoomedName(page), "");
  }, { hasTouch: true }));

  test(`${file}: the strip with the whole picture`, () => open(file, async (page) => {
    const map = page.locator(".mf-map"), part = () => page.locator(".mf-part").evaluate(({ style }) => [parseFloat(style.left), parseFloat(style.width)]);
    assert.equal(await map.isVisible(), false);
    await zoomTo(page, "main");
    assert.equal(await map.isVisible(), true);
    const main = (await page.evaluate(() => { const { app } = document.querySelector(".memflame"), { total } = app.zoomed; return Number(total) / Number(app.zoomed.look.root.total); }));
    assert.ok(Math.abs((await part())[1] - 100 * main) < 0.1);
    // The rightmost part is the worker, whose rows end above it.
    const { x, y, width, height } = await map.boundingBox(), at = [x + width * 0.99, y + height * (1 - (2.5 * 3) / 24)];
    await page.mouse.click(...at);
    assert.match(await zoomedName(page), /worker 12|deflateInit2_|compress/);
    await page.keyboard.press("Escape");
    await page.touchscreen.tap(...at);
    assert.match(await zoomedName(page), /worker 12|deflateInit2_|compress/);
    await page.evaluate(() => { const { app } = document.querySelector(".memflame"); app.zoom(app.mainLook.root.callees[0].callees.find((view) => view.look.tree.frames.name[view.frame] === "main")); });
    await map.focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await zoomedName(page), "worker 12");
    assert.match(await map.getAttribute("aria-label"), /the zoomed part is 12\.3 % of it/);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await zoomedName(page), "main");
    await page.keyboard.press("Enter");
    assert.equal(await zoomedName(page), "");
    assert.equal(await map.isVisible(), false);
    assert.equal(await current(page), "all", "the keys are the boxes' again");
  }, { hasTouch: true }));

  for (const how of ["mouse", "touch"])
    test(`${file}: the edge of the table, by ${how}`, () => open(file, async (page) => {
      const edge = page.getByRole("separator"), width = () => page.evaluate(() => document.querySelector(".memflame").app.stage.width);
      const whole = await width();
      await page.getByRole("button", { name: "Table beside" })[how === "mouse" ? "click" : "tap"]();
      assert.ok(await width() < 0.62 * whole, "the boxes are beside it");
      const { x, y, width: wide } = await edge.boundingBox(), from = { x: x + wide / 2, y: y + 80 };
      assert.equal(await edge.getAttribute("aria-valuenow"), "42");
      await drag(page, from, { x: from.x - 128, y: from.y + 5 }, how);
      assert.equal(await edge.getAttribute("aria-valuenow"), "52");
      assert.ok(Math.abs((await edge.boundingBox()).x + wide / 2 - from.x + 128) < 8);
      for (const one of await boxes(page)) assert.ok(one.x + one.width < 1.0001);
      assert.ok(await width() < 0.5 * whole);
      await page.reload();
      await until(page, () => document.querySelector(".memflame")?.dataset.ready === "1");
      assert.equal(await edge.getAttribute("aria-valuenow"), "52", "it is remembered");
      await page.evaluate(() => localStorage.clear());
    }, { hasTouch: true }));

  test(`${file}: the edge of the table, by keys`, () => open(file, async (page) => {
    await page.keyboard.press("t");
    const edge = page.getByRole("separator"), value = () => edge.getAttribute("aria-valuenow");
    await edge.focus();
    const seen = [];
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowRight", "Home", "End"]) {
      await page.keyboard.press(key);
      seen.push(await value());
    }
    assert.deepEqual(seen, ["44", "42", "40", "80", "20"]);
    await edge.dblclick();
    assert.equal(await value(), "42");
    await page.evaluate(() => localStorage.clear());
  }));

  test(`${file}: from the largest match to the smallest, or from the root`, () => open(file, async (page) => {
    await searchFor(page, "e");
    const walk = async () => {
      const seen = [];
      const count = await page.evaluate(() => document.querySelector(".memflame").app.matches.boxes.length);
      for (let i = 0; i < count; ++i) {
        seen.push(await page.evaluate(() => { const { app } = document.querySelector(".memflame"); return app.matches.sizeOf(app.current); }));
        await page.keyboard.press("n");
      }
      return seen;
    };
    await page.locator("[role=tree]").focus();
    const sizes = await walk();
    assert.ok(sizes.length > 5);
    assert.deepEqual(sizes, sizes.toSorted((a, b) => b - a));
    const list = page.getByRole("combobox", { name: "Matches" });
    await list.selectOption("place");
    assert.match(page.url(), /hits=place/);
    await page.locator("[role=tree]").focus();
    await page.keyboard.press("n");
    assert.equal(await zoomedName(page), "server");
    await page.keyboard.press("x");
    assert.equal(await list.evaluate((select) => select.value), "");
  }));

  test(`${file}: lists have labels, columns have words`, () => open(file, async (page) => {
    for (const name of ["Width", "Order", "Names"]) assert.equal(await page.getByRole("combobox", { name }).isVisible(), true, name);
    assert.deepEqual(await page.getByRole("combobox", { name: "Width" }).locator("option").allTextContents(), ["live", "live blocks"]);
    await page.mouse.move(...Object.values(await middleOf(page, "cache::insert")));
    assert.match(await page.locator(".mf-tip").textContent(), /live blocks 6,401/);
  }));
}

for (const file of each("deep"))
  test(`${file}: a sandwich has its function in the middle, with a mark`, () => open(file, async (page) => {
    await page.evaluate(() => { const { app } = document.querySelector(".memflame"); app.lookAround(app.tree.frames.name.indexOf("recurse_3")); });
    const place = await page.evaluate(() => {
      const { app } = document.querySelector(".memflame"), { top, height } = app.stage.place(app.middle), { top: bar } = app.bar.getBoundingClientRect();
      const free = document.documentElement.localName === "svg" ? [0, bar] : [app.stage.element.getBoundingClientRect().top, window.innerHeight];
      return { at: top + height / 2, middle: (free[0] + free[1]) / 2, row: app.stage.picture.middle };
    });
    assert.ok(Math.abs(place.at - place.middle) < 30, JSON.stringify(place));
    if (file.endsWith("svg")) assert.equal(await page.locator(".row > .middle").count(), 1);
  }));

test("flame.html: the head is one line with the figure; the rest unfolds", () => open("flame.html", async (page) => {
  assert.equal(await page.locator("h1").textContent(), "live 120.9 MiB");
  assert.equal(await page.locator(".mf-run").textContent(), "server · 60.0 s · lost 310 (1.2 MiB)");
  const line = await page.locator(".mf-run").boundingBox(), title = await page.locator("h1").boundingBox(), fold = page.locator(".mf-fold summary");
  assert.ok(line.y < title.y + title.height && (await fold.boundingBox()).y < title.y + title.height);
  const rootIsAtTheBottom = () => { const { app } = document.querySelector(".memflame"), { top, height } = app.stage.place(app.rows[0][0]); return Math.round(window.innerHeight - top - height) <= 1; };
  assert.ok(await page.evaluate(rootIsAtTheBottom));
  await fold.click();
  assert.match(await page.locator(".mf-fold").textContent(), /memflame alloc -p 812 · on web-3 · 60\.0 s\s+live 120\.9 MiB \(126,816,286 B\) in 411 stacks · live blocks 145,775/);
  await until(page, () => Math.abs(document.querySelector(".mf-stage").getBoundingClientRect().bottom - window.innerHeight) < 1);
  await until(page, rootIsAtTheBottom);  // the boxes have less room, and the root stays
  await page.evaluate(() => localStorage.clear());
}));

test("icicle.html: a title that was chosen comes first", () => open("icicle.html", async (page) => {
  assert.equal(await page.locator("h1").textContent(), "What the server keeps");
  assert.match(await page.locator(".mf-run").textContent(), /^live 120\.9 MiB · server · /);
}));

test("change.html: the head of a difference", () => open("change.html", async (page) => {
  assert.equal(await page.locator("h1").textContent(), "change +2.0 MiB, +20.0 %");
}));

test("flame.html: the largest match may be in a merged box", () => open("flame.html", async (page) => {
  assert.match(await searchFor(page, "^plugin_\\d+$"), /^matched 7\.8 MiB/);
  assert.match(await zoomedName(page), /^\(\+\d+ frames/);
  assert.equal((await matched(page)).includes("or more"), false);
}));

test("flame.html: old addresses work", async () => {
  for (const [hash, name] of [["#view=callers", "Callers first"], ["#root=top", "Icicle"], ["#table=-own", "Flame"], ["#view=callers&root=top", "Callers first"]])
    await open("flame.html", async (page) => assert.equal(await selected(page), name, hash), { url: `file://${process.env.MEMFLAME_BROWSER_WORK}/pictures/flame.html${hash}` });
});

for (const file of each("time"))
  test(`${file}: time has one direction`, () => open(file, async (page) => {
    assert.equal(await tab(page, "Callers first").count(), 0);
    await page.keyboard.press("3");
    assert.equal(await selected(page), "Flame");
  }));

test("flame.html: on a telephone lists unfold", () => open("flame.html", async (page) => {
  const width = page.getByRole("combobox", { name: "Width" });
  assert.equal(await width.isVisible(), false);
  await page.getByRole("button", { name: "Options" }).tap();
  assert.equal(await width.isVisible(), true);
  await tab(page, "Table").tap();
  const { x, width: wide } = await page.locator(".mf-table:visible").boundingBox();
  assert.ok(x >= 0 && x + wide <= 390.5);
  await click(page, "server").catch(() => {});
}, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }));

// Even a million boxes answer at once.
test("million.html: zoom with its strip, and a search, are quick", { timeout: 120000 }, () => open("million.html", async (page) => {
  const times = await page.evaluate(() => {
    const { app } = document.querySelector(".memflame"), took = (act) => { const begin = performance.now(); act(); return performance.now() - begin; };
    const deeper = () => { const [box] = app.rows.at(app.zoomed.depth + 2).filter(({ view }) => view); app.zoom(box.view); };
    deeper();  // a look is made at its first use
    app.change({ zoom: null });
    return { zoom: Math.min(...[1, 2, 3].map(() => { const time = took(deeper); app.change({ zoom: null }); return time; })),
             map: took(() => app.minimap.update()) };
  });
  assert.ok(times.zoom < 150 && times.map < 50, JSON.stringify(times));
  console.log(`# ${JSON.stringify(times)}`);
}));

test("flame.html: the menu copies a command that draws what is shown", () => open("flame.html", async (page) => {
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", {
    configurable: true, value: { writeText: async (text) => { window.copied = text; } } }));
  const copied = async () => {
    await click(page, "main", { button: "right" });
    await page.getByRole("menuitem", { name: "Copy as command line" }).click();
    return page.evaluate(() => window.copied);
  };
  assert.equal(await copied(), "memflame render flame.html -o graph.svg");
  await page.evaluate(() => { const { app } = document.querySelector(".memflame"); app.hide(app.tree.frames.name.indexOf("cache::insert")); });
  await page.getByRole("combobox", { name: "Width" }).selectOption("live-count");
  assert.equal(await copied(), "memflame render flame.html --hide '^cache::insert$' --value live-count -o graph.svg");
  await tab(page, "Sandwich").click();
  await click(page, "main", { button: "right" });
  assert.equal(await page.getByRole("menuitem", { name: "Copy as command line" }).count(), 0);
}));

test("lines.html: an editor opens lines, once it has a template", () => open("lines.html", async (page) => {
  const row = page.getByRole("menuitem", { name: "Open in editor" });
  await click(page, "parse", { button: "right" });
  assert.equal(await row.count(), 0);
  await press(page, "Escape ?");
  const field = page.locator(".mf-help input");
  await field.fill("javascript:alert('{file}')");
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  await field.fill("vscode://file/{file}:{line}");
  assert.equal(await field.getAttribute("aria-invalid"), "false");
  await page.keyboard.press("Escape");
  await page.evaluate(() => { window.open = (address, target, features) => { window.opened = [address, target, features]; }; });
  await click(page, "parse", { button: "right" });
  await row.click();
  assert.deepEqual(await page.evaluate(() => window.opened), ["vscode://file//src/app/reader.cc:37", "_blank", "noopener,noreferrer"]);
  await page.evaluate(() => localStorage.setItem("memflame-editor", "javascript:alert('{file}')"));
  await click(page, "parse", { button: "right" });
  assert.equal(await row.count(), 0, "what is kept is checked again");
  await page.evaluate(() => localStorage.clear());
}));

for (const file of each("flame")) {
  const only = (page) => page.getByRole("button", { name: "Symbols only", exact: true }), unnamed = "[libssl.so.3+0x4e21]";
  const names = async (page) => (await boxes(page)).map(({ name }) => name);
  for (const how of ["mouse", "touch", "keys"])
    test(`${file}: functions without a symbol hide, by ${how}`, () => open(file, async (page) => {
      await searchFor(page, "libssl");
      await page.keyboard.press("Escape");
      const all = (await boxes(page))[0].total;
      assert.ok((await page.evaluate(() => document.querySelector(".memflame").app.tree.frames.name)).includes(unnamed));
      if (how === "keys") {
        await page.locator("[role=tree]").focus();
        await page.keyboard.press("u");
      } else {
        await only(page)[how === "touch" ? "tap" : "click"]();
      }
      assert.ok(!(await names(page)).includes(unnamed));
      assert.equal(await only(page).getAttribute("aria-pressed"), "true");
      assert.equal((await boxes(page))[0].total, all, "totals stay");
      assert.match(page.url(), /unknown=hidden/);
      assert.match(await page.locator(".mf-info").textContent(), /1 function without a symbol hidden/);
      await page.getByRole("button", { name: "Back", exact: true }).click();
      assert.equal(await only(page).getAttribute("aria-pressed"), "false");
    }, { hasTouch: true }));
}
