import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { boxes, open, pictures, searchFor, work, zoomTo } from "./browser.mjs";

// What sticks out of its place: names out of their boxes, lines of the head out of the picture or into
// each other, the head or the bar into the boxes.
const misplaced = (page) => page.evaluate(() => {
  const wrong = [], svg = document.documentElement;
  const shown = (element) => getComputedStyle(element.parentNode).display !== "none" && element.textContent;
  for (const text of [...document.querySelectorAll(".row text")].filter(shown)) {
    const rect = text.parentNode.querySelector("rect");
    const right = Number(text.getAttribute("x")) + text.getComputedTextLength();
    const edge = Number(rect.getAttribute("x")) + Number(rect.getAttribute("width"));
    if (right > edge) wrong.push(`${text.textContent}: ${right} is beyond ${edge}`);
  }
  const lines = [...document.querySelectorAll(".head text, .legend text")];
  let last = null;
  for (const line of lines) {
    const box = line.getBBox();
    if (box.x + box.width > svg.viewBox.baseVal.width) wrong.push(`too long: ${line.textContent}`);
    if (last && box.y < last.y + last.height - 3 && box.x < last.x + last.width)
      wrong.push(`on the line before: ${line.textContent}`);
    last = box;
  }
  const head = Math.max(...lines.map((line) => line.getBBox().y + line.getBBox().height));
  const rows = [...document.querySelectorAll(".row")].map((row) => row.transform.baseVal[0].matrix.f);
  if (rows.length && Math.min(...rows) < head) wrong.push("the boxes reach into the head");
  return wrong;
});

for (const picture of pictures()) {
  test(`${picture}: nothing sticks out`, { timeout: 240000 }, () => open(picture, async (page) => {
    assert.deepEqual(await misplaced(page), []);
    if (picture === "large" || picture === "nothing") return;
    const names = (await boxes(page)).filter((box) => box.depth > 0).map((box) => box.name);
    for (const name of new Set([names[0], names[Math.floor(names.length / 2)], names.at(-1), "plugins"])) {
      if (!names.includes(name)) continue;
      await zoomTo(page, name);
      assert.deepEqual(await misplaced(page), [], `zoomed to ${name}`);
    }
    await page.setViewportSize({ width: 1999, height: 700 });
    await page.waitForFunction(() => document.documentElement.getAttribute("width") === "1999");
    assert.deepEqual(await misplaced(page), [], "in a wide window");
  }));

  test(`${picture}: without scripts`, { timeout: 240000 }, () => open(picture, async (page) => {
    assert.equal(await page.locator(".bar").count(), 0);
    assert.deepEqual(await misplaced(page), []);
  }, { javaScriptEnabled: false }));
}

test("hostile names do nothing but be shown", () => open("hostile", async (page) => {
  for (const box of (await boxes(page)).filter((one) => one.depth > 1)) {
    await zoomTo(page, box.name);
    assert.equal(await page.locator(".info b").textContent(), box.name);
  }
  for (const pattern of ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "${alert(1)}"])
    await searchFor(page, pattern);
  assert.equal(await page.locator("script").count(), 1);
  assert.equal(await page.locator("image, img, iframe, use, a").count(), 0);
}));

test("dark where the reader prefers it, and as readable", () => open("losses", async (page) => {
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map((c) => c / 255)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = (selector, name) => page.locator(selector).first()
    .evaluate((element, what) => getComputedStyle(element)[what], name);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const ground = luminance(await style("stop.bottom", "stopColor"));
    assert.equal(ground < 0.2, colorScheme === "dark");
    for (const text of [".title", ".detail", ".figure", ".warning"]) {
      const [low, high] = [ground, luminance(await style(text, "fill"))].sort((a, b) => a - b);
      assert.ok((high + 0.05) / (low + 0.05) >= 4.5, `${text} in ${colorScheme}`);
    }
    assert.equal(await style(".row text", "fill"), "rgb(0, 0, 0)");
  }
}));

test("the bar is in sight in a high picture, wherever one scrolls to", () => open("deep", async (page) => {
  for (const y of [0, 5000, 1e9]) {
    await page.evaluate((to) => window.scrollTo(0, to), y);
    await page.waitForFunction(() => {
      const bar = document.querySelector(".bar").getBoundingClientRect();
      return bar.bottom <= window.innerHeight + 1 && bar.top > window.innerHeight - 100;
    });
  }
}));

test("two pictures in one page keep to themselves", () => open("flame", async (page) => {
  const text = await page.evaluate(() => new XMLSerializer().serializeToString(document.documentElement));
  await page.goto("about:blank");
  await page.setContent(`<p>before</p>${text}${text}<p>after</p>`);
  await page.evaluate(() => document.querySelectorAll("svg")[1].querySelectorAll(".row > g")[3]
    .dispatchEvent(new MouseEvent("click", { bubbles: true })));
  const callers = await page.evaluate(() => [...document.querySelectorAll("svg")]
    .map((svg) => svg.querySelectorAll(".caller").length));
  assert.deepEqual(callers, [0, 2]);
  assert.equal(page.url(), "about:blank");
}));

// For people to look at.
test("screenshots", { timeout: 240000 }, async () => {
  const shoot = (name, picture, act = async () => {}, options = {}) => open(picture, async (page) => {
    await act(page);
    await page.screenshot({ path: path.join(work, "screenshots", `${name}.png`) });
  }, { viewport: { width: 1280, height: 400 }, ...options });
  await shoot("flame", "flame");
  await shoot("icicle", "icicle");
  await shoot("zoomed", "flame", (page) => zoomTo(page, "plugins"));
  await shoot("searched", "flame", (page) => searchFor(page, "cache|parse"));
  await shoot("dark", "flame", (page) => searchFor(page, "cache"), { colorScheme: "dark" });
  await shoot("pages", "pages");
  await shoot("nothing", "nothing");
  await shoot("losses", "losses", undefined, { viewport: { width: 1280, height: 560 } });
  await shoot("hostile", "hostile");
});
