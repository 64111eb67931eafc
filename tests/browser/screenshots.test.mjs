// SPDX-License-Identifier: BSD-2-Clause
// For people to look at: WORK_FOLDER/screenshots.
import path from "node:path";
import test from "node:test";
import { both, matrix, open, searchFor, work, zoomTo } from "./browser.mjs";

const call = (text) => (page) => page.evaluate(`(${text})(document.querySelector(".memflame").app)`);
const around = call((app) => app.lookAround(app.tree.frames.name.findIndex((name) => name.startsWith("json::"))));

const shots = [
  ["plain", "flame"], ["icicle", "icicle"], ["zoomed", "flame", (page) => zoomTo(page, "event_loop")],
  ["searched", "flame", (page) => searchFor(page, "cache|parse|plugin_2")],
  ["callers-first", "flame", (page) => page.keyboard.press("v")], ["sandwich", "flame", around],
  ["table", "flame", call((app) => app.toggleTable())], ["menu", "flame", call((app) => app.openMenuAt(app.rows[3][2]))],
  ["help", "flame", call((app) => app.help.show())], ["difference", "change"], ["in-time", "time"], ["deep", "deep"],
  ["pages", "pages"], ["nothing", "nothing"], ["losses", "losses"], ["hostile", "hostile"], ["large", "large"],
];

for (const colorScheme of matrix(["light", "dark"]))
  for (const [name, picture, act = async () => {}] of matrix(shots))
    for (const file of both(picture))
      test(`${file}: ${name}, ${colorScheme}`, { timeout: 60000 }, () => open(file, async (page) => {
        await act(page);
        await page.screenshot({ path: path.join(work, "screenshots", `${name}-${colorScheme}-${path.extname(file).slice(1)}.png`) });
      }, { colorScheme, viewport: { width: 1280, height: 480 }, bypassCSP: true }));
