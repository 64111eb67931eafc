import assert from "node:assert/strict";
import test from "node:test";
import { address, boxes, open, searchFor, zoomTo } from "./browser.mjs";

const margin = 12, gap = (width) => Math.min(0.8, width / 8);

// What is shown is exactly what belongs to `name`, at the place and in the width that its value gives
// it, and the callers below.
async function checkZoomed(page, name) {
  const all = await boxes(page), inner = page.viewportSize().width - 2 * margin;
  const zoomed = all.find((box) => box.name === name);
  let shown = 0;
  for (const box of all) {
    const inside = box.from >= zoomed.from && box.from + box.size <= zoomed.from + zoomed.size;
    const around = box.from <= zoomed.from && box.from + box.size >= zoomed.from + zoomed.size;
    const caller = box.depth < zoomed.depth && around;
    assert.equal(box.shown, caller || (box.depth >= zoomed.depth && inside), box.name);
    if (!box.shown) continue;
    shown += 1;
    assert.equal(box.caller, caller, box.name);
    const left = caller ? 0 : Number(box.from - zoomed.from) * inner / Number(zoomed.size);
    const width = caller ? inner : Number(box.size) * inner / Number(zoomed.size);
    assert.ok(Math.abs(box.x - margin - left) < 1e-6, `${box.name} begins at ${box.x}`);
    assert.ok(Math.abs(box.width - (width - gap(width))) < 1e-6, `${box.name} is ${box.width} wide`);
  }
  return shown;
}

const zoomedName = (page) => page.locator(".info b").textContent();

for (const picture of ["flame", "icicle", "pages", "huge"]) {
  test(`${picture}: zoom, in steps and back`, () => open(picture, async (page) => {
    const first = (await boxes(page)).find((box) => box.depth === 1).name;
    const everything = await checkZoomed(page, "all");
    assert.equal(everything, (await boxes(page)).length);
    for (const name of [first, (await boxes(page)).at(-1).name]) {
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
    await page.keyboard.press("Escape");
    await checkZoomed(page, "all");
  }));
}

test("a click of the mouse on a box zooms, one on a caller zooms out", () => open("flame", async (page) => {
  const click = async (name) => {
    const box = (await boxes(page)).find((one) => one.name === name && one.shown);
    const y = await page.evaluate((depth) => {
      const rect = document.querySelectorAll(".row")[depth].getBoundingClientRect();
      return rect.y + rect.height / 2;
    }, box.depth);
    await page.mouse.click(box.x + box.width / 2, y);
  };
  await click("cache::insert");
  await checkZoomed(page, "cache::insert");
  await click("event_loop");
  await checkZoomed(page, "event_loop");
}));

test("the address keeps zoom and search; the browser's Back works", () => open("flame", async (page) => {
  await zoomTo(page, "plugins");
  await searchFor(page, "plugin_1");
  const kept = page.url();
  await zoomTo(page, "all");
  await page.goBack();
  await checkZoomed(page, "plugins");
  await open("flame", async (other) => {
    await checkZoomed(other, "plugins");
    assert.equal(await other.locator("input").evaluate((input) => input.value), "plugin_1");
    assert.match(await other.locator(".matched").textContent(), /^matched /);
  }, { url: kept });
}));

test("an address that means nothing shows everything", async () => {
  for (const hash of ["#zoom=99.99", "#zoom=x", "#zoom=1.5&search=", "#%%%", "#zoom=-1.0"])
    await open("flame", (page) => checkZoomed(page, "all"), { url: address("flame") + hash });
});

test("the figures of the zoomed frame, and of what is pointed at", () => open("flame", async (page) => {
  await zoomTo(page, "cache::insert");
  const info = page.locator(".info");
  assert.equal(await info.textContent(), "cache::insert  33.0 MiB (34,603,008 B), 27.3 % · " +
    "live-count 6,401 · libserver.so.2");
  const rehash = (await boxes(page)).find((box) => box.name === "cache::rehash");
  const y = await page.evaluate((depth) =>
    document.querySelectorAll(".row")[depth].getBoundingClientRect().y + 5, rehash.depth);
  await page.mouse.move(rehash.x + 3, y);
  assert.equal(await info.textContent(), "cache::rehash  8.0 MiB (8,388,608 B), 6.6 % · " +
    "24.2 % of zoom · live-count 1 · libserver.so.2");
  await page.mouse.move(5, 5);
  assert.match(await info.textContent(), /^cache::insert/);
}));

test("keys: from box to box, zoom, and back", () => open("flame", async (page) => {
  const focused = () => page.evaluate(() => document.activeElement.firstChild.textContent.split("\n")[0]);
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "all");
  for (const [key, name] of [["ArrowUp", "server"], ["ArrowUp", "[lost: ring buffer full]"],
                             ["ArrowRight", "[truncated: no frame pointer]"], ["ArrowRight", "main"],
                             ["ArrowUp", "event_loop"], ["ArrowDown", "main"], ["ArrowLeft",
                             "[truncated: no frame pointer]"], ["ArrowRight", "main"]]) {
    await page.keyboard.press(key);
    assert.equal(await focused(), name, key);
  }
  await page.keyboard.press("Enter");
  await checkZoomed(page, "main");
  await page.keyboard.press("Escape");
  await checkZoomed(page, "all");
}));

test("in an icicle graph the keys go the other way", () => open("icicle", async (page) => {
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  const name = await page.evaluate(() => document.activeElement.firstChild.textContent.split("\n")[0]);
  assert.equal(name, "server");
}));

test("the picture fills the window, whatever it becomes", () => open("flame", async (page) => {
  for (const width of [1700, 1201, 1500]) {
    await page.setViewportSize({ width, height: 500 });
    await page.waitForFunction((wanted) => document.documentElement.getAttribute("width") === String(wanted), width);
    await checkZoomed(page, "all");
  }
}));

test("a hundred thousand boxes", { timeout: 240000 }, () => open("large", async (page) => {
  const name = await page.evaluate(() => document.querySelectorAll(".row")[2].firstElementChild.firstChild
    .textContent.split("\n")[0]);
  await zoomTo(page, name);
  const { shown, callers, inside } = await page.evaluate(() => {
    const all = [...document.querySelectorAll(".row > g")], zoomed = document.querySelectorAll(".row")[2]
      .firstElementChild, end = Number(zoomed.dataset.o) + Number(zoomed.dataset.v);
    return {
      shown: all.filter((g) => !g.classList.contains("out")).length,
      callers: document.querySelectorAll(".caller").length,
      inside: all.slice(2).filter((g) => Number(g.dataset.o) + Number(g.dataset.v) <= end).length,
    };
  });
  assert.equal(callers, 2);
  assert.equal(shown, inside + callers);
  assert.ok(inside > 5000);
}));
