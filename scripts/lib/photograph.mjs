// SPDX-License-Identifier: BSD-2-Clause
// Photographs a page in the states that docs/pictures.md shows: photograph.mjs PAGE FOLDER. See scripts/pictures-page.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(path.join(process.env.MEMFLAME_BROWSER_WORK, "package.json"));
const [file, folder] = process.argv.slice(2);

// The widest box whose name begins with this.
const boxOf = (page, name) => page.evaluate((wanted) => {
  const { app } = document.querySelector(".memflame"), { frames } = app.tree;
  const box = app.rows.flat().filter(({ view }) => view && frames.name[view.frame]?.startsWith(wanted)).sort((a, b) => b.width - a.width)[0];
  const { left, top, width, height } = app.stage.place(box);
  return [left + Math.min(width / 2, 260), top + height / 2];
}, name);

const session = "server::SessionCache::log_in";
const shots = {
  "page-tooltip": async (page) => page.mouse.move(...await boxOf(page, session)),
  "page-search": async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.insertText("^server::(Request|Session)");
    await page.keyboard.press("Enter");
    await page.mouse.click(...await boxOf(page, "server::Server::serve"));
  },
  "page-table": (page) => page.keyboard.press("t"),
  "page-sandwich": async (page) => {
    await page.mouse.click(...await boxOf(page, session), { button: "right" });
    await page.getByRole("menuitem", { name: "Callers and callees" }).click();
  },
  "page-dark": async (page) => page.mouse.click(...await boxOf(page, "server::SessionCache::record")),
};

const browser = await require("playwright-core").chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  for (const [name, act] of Object.entries(shots)) {
    const page = await browser.newPage({ viewport: { width: 1000, height: 500 }, colorScheme: name === "page-dark" ? "dark" : "light" });
    await page.goto(pathToFileURL(file).href);
    for (const end = Date.now() + 30000; !await page.evaluate(() => document.querySelector(".memflame").dataset.ready);)
      if (Date.now() > end) throw new Error("the page is never ready");
    await act(page);
    await page.waitForTimeout(300);
    await page.screenshot({ path: path.join(folder, `${name}.png`) });
    await page.close();
  }
} finally {
  await browser.close();
}
