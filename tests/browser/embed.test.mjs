// SPDX-License-Identifier: BSD-2-Clause
// Pictures embedded in other pages.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { address, boxes, browser, open, ready, work } from "./browser.mjs";

const read = (name) => readFileSync(path.join(work, "pictures", name), "utf8");
const fragment = () => /<div class="memflame"[^]*<\/div>\n(?=<\/body>)/.exec(read("flame.html"))[0]
  .replace(' data-alone="1"', "");
const style = () => /<style>[^]*?<\/style>/.exec(read("flame.html"))[0];
const inline = () => read("flame.svg").replace(/^<\?xml[^>]*\?>\n/, "");

function page(name, body) {
  const folder = path.join(work, "pages");
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${name}.html`);
  writeFileSync(file, `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>two</title>${body}</html>`);
  return pathToFileURL(file).href;
}

const wrapped = (part, n) => `<p>picture ${n}</p><div id="n${n}">${part}</div>`;
const pages = {
  svg: () => [1, 2].map((n) => wrapped(inline().replace(/<!\[CDATA\[|\]\]>(?=<\/script>)/g, ""), n)).join(""),
  html: () => style() + [1, 2].map((n) => wrapped(fragment(), n)).join(""),
};

for (const [kind, body] of Object.entries(pages))
  test(`two pictures as ${kind} in one page keep to themselves`, () => open("", async (page) => {
    const first = "#n1 .memflame", second = "#n2 .memflame", before = await boxes(page, first);
    assert.deepEqual(await boxes(page, second), before);
    await page.locator("#n2 .mf-bar input").fill("cache");
    await page.locator("#n2 .mf-bar input").press("Enter");
    await page.evaluate(() => {
      const { app } = document.querySelector("#n2 .memflame");
      app.choose(app.rows.flat().find((box) => box.view && app.stage.picture.name(box) === "event_loop"));
    });
    assert.deepEqual(await boxes(page, first), before);
    assert.equal((await boxes(page, second)).filter((box) => box.hit === 1).length, 3);
    assert.equal(await page.locator("#n1 .mf-matched").textContent(), "");
    assert.equal(new URL(page.url()).hash, "");
    // Keys go to the picture that was clicked.
    const { x, y } = await page.locator("#n1 .memflame").evaluate((root) => {
      const { app } = root, place = app.stage.place(app.rows[1][0]);
      window.scrollBy(0, place.top - 300);
      const { left, top } = app.stage.place(app.rows[1][0]);
      return { x: left + 200, y: top + 5 };
    });
    await page.mouse.click(x, y);
    await page.keyboard.press("i");
    const upwards = await page.evaluate(() => [...document.querySelectorAll(".memflame")].map((root) => root.app.upwards));
    assert.deepEqual(upwards, [false, true]);
    const ids = await page.evaluate(() => [...document.querySelectorAll("[role=tree]")].map((one) => one.id));
    assert.equal(new Set(ids).size, 2);
  }, { url: page(kind, body()) }));

const both = () => style() + wrapped(fragment(), 1) + wrapped(inline().replace(/<!\[CDATA\[|\]\]>(?=<\/script>)/g, ""), 2);
test("one as svg does not lay its controls over one as html", () => open("", async (page) => {
  const covered = await page.locator("#n1 .memflame").evaluate(({ app }) => app.rows.filter((row) => {
    window.scrollBy(0, app.stage.place(row[0]).top - 300);
    const { left, top } = app.stage.place(row[0]), at = document.elementFromPoint(left + 5, top + 5);
    return !at?.closest(".mf-stage");
  }).length);
  assert.equal(covered, 0);
}, { url: page("both", both()) }));

test("a picture as an image shows what it shows without scripts", async () => {
  const shown = await browser.newPage();
  await shown.goto(page("image", `<img alt="flame graph" src="${address("flame.svg")}">`));
  assert.ok(await shown.locator("img").evaluate((img) => img.naturalWidth === 1200 && img.naturalHeight > 200));
  await shown.close();
});

// The page under its server's content security policy, which allows only what the page itself allows.
test("under a strict policy of the server nothing is refused", async () => {
  const text = read("flame.html");
  const hash = (element) => `'sha256-${createHash("sha256").update(new RegExp(`<${element}>([^]*?)</${element}>`).exec(text)[1]).digest("base64")}'`;
  const policy = `default-src 'none'; script-src ${hash("script")}; style-src ${hash("style")}`;
  assert.ok(text.includes(`http-equiv="Content-Security-Policy" content="${policy}"`), "the page's own policy");
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy });
    response.end(text);
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  const shown = await browser.newPage(), wrong = [];
  try {
    shown.on("console", (message) => { if (!/favicon/.test(message.text() + message.location().url)) wrong.push(message.text()); });
    shown.on("pageerror", (error) => wrong.push(error.message));
    await shown.addInitScript(() => {
      window.violations = [];
      document.addEventListener("securitypolicyviolation", (event) => {
        if (!/favicon/.test(event.blockedURI)) window.violations.push(event.violatedDirective);
      });
    });
    await shown.goto(`http://127.0.0.1:${server.address().port}/`);
    await ready(shown);
    await shown.evaluate(() => {
      const { app } = document.querySelector(".memflame");
      app.searchFor("cache");
      app.toggleTable();
      app.openMenuAt(app.rows[1][0]);
      app.help.show();
      app.choose(app.rows[1][0]);
      window.dispatchEvent(new Event("beforeprint"));
    });
    assert.ok((await boxes(shown)).length > 5);
    assert.deepEqual(await shown.evaluate(() => window.violations), []);
    assert.deepEqual(wrong, []);
  } finally {
    await shown.close();
    server.close();
  }
});
