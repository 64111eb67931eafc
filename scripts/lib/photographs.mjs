// SPDX-License-Identifier: BSD-2-Clause
// Photographs pages in all their looks: photographs.mjs FOLDER PAGE…. See scripts/photographs. Fails if axe-core finds
// something serious, or if a page is wider than its window.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(path.join(process.env.MEMFLAME_BROWSER_WORK, "package.json"));
const [folder, ...files] = process.argv.slice(2);
const { chromium, devices } = require("playwright-core");

const looks = {
  "light": { viewport: { width: 1280, height: 800 } },
  "dark": { viewport: { width: 1280, height: 800 }, colorScheme: "dark" },
  "phone": { ...devices["Pixel 5"] },
  "print": { viewport: { width: 1000, height: 1400 } },
};

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
let wrong = 0;
try {
  for (const file of files)
    for (const [look, { defaultBrowserType, ...options }] of Object.entries(looks)) {
      const page = await browser.newPage({ ...options, bypassCSP: true }), name = `${path.basename(file, ".html")}-${look}`;
      page.on("pageerror", (error) => { ++wrong; console.log(`${name}: ${error.message}`); });
      await page.goto(pathToFileURL(file).href);
      for (const end = Date.now() + 60000; !await page.evaluate(() => document.querySelector(".memflame").dataset.ready);)
        if (Date.now() > end) throw new Error(`${file} is never ready`);
      if (look === "print") {
        await page.emulateMedia({ media: "print" });
        await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      }
      await page.waitForTimeout(500);
      await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: look === "print" });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      await page.evaluate(require("axe-core").source);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      for (const { id, nodes } of serious) console.log(`${name}: ${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
      if (wide > 0 && look !== "print") console.log(`${name}: ${wide} px wider than the window`);
      wrong += serious.length + (wide > 0 && look !== "print" ? 1 : 0);
      await page.close();
    }
} finally {
  await browser.close();
}
console.log(`${files.length} pages in ${Object.keys(looks).length} looks, ${wrong} findings`);
process.exitCode = wrong ? 1 : 0;
