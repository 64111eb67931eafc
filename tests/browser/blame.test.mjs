// SPDX-License-Identifier: BSD-2-Clause
// Whose figures are drawn, and boxes that are modules: by mouse, by keys and in the address.
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { address, boxes, each, open, until, work, zoomTo } from "./browser.mjs";

const names = async (page) => (await boxes(page)).map(({ name }) => name);
const own = async (page, wanted) => (await boxes(page)).find(({ name }) => name === wanted)?.own;
const info = (page) => page.locator(".mf-info").textContent();
const list = (page, name) => page.getByRole("combobox", { name, exact: true });
const chosen = (control) => control.evaluate((select) => select.value);
const total = 15n << 20n, grow = "void std::vector<int>::_M_realloc_insert<int>(int&&)";

for (const file of each("blame")) {
  test(`${file}: figures belong to the allocator's caller, until one asks for all frames`, () => open(file, async (page) => {
    assert.equal((await boxes(page))[0].total, total);
    assert.ok(!(await names(page)).includes("malloc"));
    assert.equal(await own(page, "load"), 3n << 20n);
    assert.match(await info(page), /2 functions of the allocator hidden/);
    await page.screenshot({ path: path.join(work, "screenshots", `${file}-blame.png`) });
    const blame = list(page, "Blame");
    assert.deepEqual(await blame.locator("option").allTextContents(),
      ["caller of the allocator", "caller of containers too", "all frames"]);
    await blame.selectOption("user");
    assert.ok(!(await names(page)).includes(grow));
    assert.equal(await own(page, "parse"), 12n << 20n);
    assert.match(await info(page), /3 functions of the allocator and of containers hidden/);
    await blame.selectOption("all");
    assert.equal((await boxes(page))[0].total, total);
    assert.equal(await own(page, "parse"), 0n);
    assert.equal((await names(page)).filter((name) => name === "malloc").length, 3);
    assert.doesNotMatch(await info(page), /hidden/);
    await page.screenshot({ path: path.join(work, "screenshots", `${file}-all-frames.png`) });
    await page.getByRole("button", { name: "Back" }).click();
    assert.equal(await chosen(blame), "user");
  }));

  test(`${file}: the key b goes round, and the list takes keys`, () => open(file, async (page) => {
    const blame = list(page, "Blame");
    for (const value of ["user", "all", "caller"]) {
      await page.keyboard.press("b");
      assert.equal(await chosen(blame), value);
    }
    await blame.focus();
    await page.keyboard.press("End");
    assert.equal(await chosen(blame), "all");
    await until(page, () => document.querySelector(".memflame").app.tree.blame === "all");
  }));

  test(`${file}: the table and callers first begin at the callers`, () => open(file, async (page) => {
    await page.keyboard.press("t");
    const rows = await page.locator(".mf-table:visible tbody tr").allTextContents();
    assert.ok(rows.some((row) => /^load3\.0 MiB/.test(row)), rows.join("\n"));
    assert.ok(!rows.some((row) => row.startsWith("malloc")), rows.join("\n"));
    await page.keyboard.press("Escape");
    await page.getByRole("tab", { name: "Callers first" }).click();
    const first = (await boxes(page)).filter(({ row }) => row === 1).map(({ name }) => name).sort();
    assert.deepEqual(first, ["load", "parse", grow].sort());
  }));

  test(`${file}: a box stays zoomed, and a hidden one gives way to its caller`, () => open(file, async (page) => {
    await zoomTo(page, "parse");
    const zoomed = () => page.evaluate(() => document.querySelector(".memflame").app.zoomed.frames.map((one) => document.querySelector(".memflame").app.tree.frames.name[one]).join(";"));
    await page.keyboard.press("b");
    await page.keyboard.press("b");
    assert.equal(await zoomed(), "server;main;parse");
    await zoomTo(page, "malloc");
    await page.keyboard.press("b");
    assert.match(await zoomed(), /^server;main;parse(;void std::vector.*)?$/);
  }));

  test(`${file}: the address keeps both choices`, async () => {
    let url;
    await open(file, async (page) => {
      await list(page, "Blame").selectOption("all");
      await list(page, "Boxes").selectOption("modules");
      await zoomTo(page, "libstdc++.so.6");
      url = page.url();
    });
    assert.match(url, /blame=all/);
    assert.match(url, /boxes=modules/);
    await open(file, async (page) => {
      assert.deepEqual([await chosen(list(page, "Blame")), await chosen(list(page, "Boxes"))], ["all", "modules"]);
      assert.deepEqual(await names(page), ["all", "server", "server", "libstdc++.so.6", "libc.so.6"]);
    }, { url: `${address(file)}${new URL(url).hash}` });
  });

  test(`${file}: boxes that are modules, by mouse and keys`, () => open(file, async (page) => {
    await list(page, "Blame").selectOption("all");
    await list(page, "Boxes").selectOption("modules");
    assert.deepEqual((await names(page)).sort(), ["all", "libc.so.6", "libc.so.6", "libstdc++.so.6", "server", "server"]);
    assert.equal((await boxes(page))[0].total, total);
    await page.screenshot({ path: path.join(work, "screenshots", `${file}-modules.png`) });
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("B");
    assert.ok((await names(page)).includes("parse"));
    await page.keyboard.press("B");
    await page.keyboard.press("b");
    assert.deepEqual((await names(page)).sort(), ["all", "server", "server"]);
  }));
}

test("time.html: nothing to blame, no files: no lists", () => open("time.html", async (page) => {
  assert.equal(await list(page, "Blame").count(), 0);
}));
