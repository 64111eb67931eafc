// One headless Chromium for a test file, and what is asked of a picture in it.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";

export const work = path.resolve(process.env.MEMFLAME_BROWSER_WORK);
const { chromium } = createRequire(path.join(work, "package.json"))("playwright-core");

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});
after(() => browser.close());

export const pictures = () => readdirSync(path.join(work, "pictures"))
  .filter((name) => name.endsWith(".svg")).map((name) => path.basename(name, ".svg")).sort();

export const address = (name) => pathToFileURL(path.join(work, "pictures", `${name}.svg`)).href;

// Opens a picture, hands its page to `look`, and sees to it that no script fails, nothing is said in a
// dialog and nothing is fetched but the file.
export async function open(name, look, options = {}) {
  const { url = address(name), ...context } = options;
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, ...context });
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`script error: ${error.message}`));
  page.on("console", (message) => wrong.push(`${message.type()}: ${message.text()}`));
  page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== url.split("#")[0]) wrong.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(url);
    await look(page);
    assert.deepEqual(wrong, []);
  } finally {
    await page.close();
  }
}

// Every box as it is drawn now, root first; values as BigInt.
export async function boxes(page) {
  const found = await page.evaluate(() => [...document.querySelectorAll(".row")].flatMap((row, depth) =>
    [...row.children].map((g) => {
      const rect = g.querySelector("rect"), text = g.querySelector("text");
      return {
        name: g.firstChild.textContent.split("\n")[0], depth, from: g.dataset.o, size: g.dataset.v,
        shown: getComputedStyle(g).display !== "none", caller: g.classList.contains("caller"),
        hit: g.classList.contains("hit"), x: Number(rect.getAttribute("x")),
        width: Number(rect.getAttribute("width")), text: text ? text.textContent : "",
      };
    })));
  return found.map((box) => ({ ...box, from: BigInt(box.from), size: BigInt(box.size) }));
}

export async function zoomTo(page, name) {
  await page.evaluate((wanted) => {
    const all = [...document.querySelectorAll(".row > g")];
    const g = all.find((one) => one.firstChild.textContent.split("\n")[0] === wanted);
    if (!g) throw new Error(`no box is called ${wanted}`);
    g.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  }, name);
}

export async function searchFor(page, pattern) {
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("/");
  await page.keyboard.insertText(pattern);
  await page.keyboard.press("Enter");
  return page.locator(".matched").textContent();
}
