// SPDX-License-Identifier: BSD-2-Clause
// What the process occupies at the end of the run, and by what.
import { human } from "../viewer/format.mjs";
import { element } from "../viewer/page.mjs";

export function showAccount(host, { facts: { sums } }) {
  if (!sums.length) return;
  const rows = sums.map(({ name, bytes, level, note = "" }) => element("tr", {},
    element("th", { scope: "row", className: `mf-level-${Math.min(level, 4)}` }, name),
    element("td", {}, human(BigInt(bytes), { unit: "bytes" })), element("td", { className: "mf-note" }, note)));
  host.append(element("section", {}, element("h2", {}, "What the process occupies at the end of the run"),
    element("div", { className: "mf-wide", tabIndex: 0, role: "group", "aria-label": "what the process occupies" }, element("table", { className: "mf-account" }, element("thead", { className: "mf-unseen" }, element("tr", {},
      ...["What", "Bytes", "Note"].map((text) => element("th", { scope: "col" }, text)))), element("tbody", {}, ...rows)))));
}
