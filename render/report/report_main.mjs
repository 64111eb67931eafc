// SPDX-License-Identifier: BSD-2-Clause
// Where the script of a report begins.
import { App } from "../viewer/app.mjs";
import { decodeLines, decodeTree, inflate } from "../viewer/decode.mjs";
import { commas } from "../viewer/format.mjs";
import { mostly } from "../viewer/marks.mjs";
import { printable } from "../viewer/print.mjs";
import { CanvasStage } from "../viewer/stage_canvas.mjs";
import { drawnAt } from "../viewer/tree.mjs";
import { Ask } from "./ask.mjs";
import { Live } from "./live.mjs";
import { hasOpenBoxes, keepingPlace, showOtherTree, takeOver } from "./renewal.mjs";
import { decodeRows } from "./rows.mjs";
import { partsOf, Selection } from "./selection.mjs";
import { Shapes } from "./shapes.mjs";
import { showAccount } from "./sums.mjs";
import { timeText } from "./times.mjs";
import { Verdicts } from "./verdicts.mjs";

// "10.2 to 10.9 s, 1,204 events lost"
function gapInWords({ from, until, events }, seconds) {
  const [begin, end] = [from, until].map((edge) => timeText(seconds[edge], seconds.at(-1)));
  return `${begin} to ${end}, ${events ? `${commas(events)} events lost` : "how many events were lost is not known"}`;
}

// Zooms to a stack, a node of the innermost tree. If nothing of it is selected, everything is.
function goToStack(app, { selection: { kind } }, leaf) {
  const node = drawnAt(app.tree, leaf);
  if (!(app.look("callees", -1, []).measure.total[node] > 0)) {
    app.change({ during: "", part: partsOf[kind].some(([id]) => id === "allocated") ? "allocated" : "" });
    if (!(app.measure.total[node] > 0)) return app.announce("This stack has nothing in this figure.");
  }
  const view = app.look("callees", -1, []).viewOf(node, 0), whole = mostly(view);
  app.change({ view: "", focus: -1, hidden: [], zoom: whole.parent ? whole.hash : null });
  app.host.scrollIntoView({ block: "nearest" });
  return app.goTo(app.rows.flat().find((box) => box.view === view) ?? app.middle);
}

// Arrows, Space and the like are the flame graph's only where it has the focus; elsewhere they scroll.
const itsOwn = new Set(["Enter", " ", "Home", "End", "ContextMenu"]);
function keepKeys(host) {
  document.addEventListener("keydown", (event) => {
    if (!host.contains(event.target) && (itsOwn.has(event.key) || event.key.startsWith("Arrow"))) event.stopPropagation();
  });
}

// How many frames the deepest stack has.
function deepest({ parent, size }) {
  const depth = new Int32Array(size);
  let most = 0;
  for (let n = 1; n < size; ++n) most = Math.max(most, depth[n] = depth[parent[n]] + 1);
  return most;
}

// {about, tree, run}: what a page holds.
async function readReport(root) {
  const part = (name) => root.querySelector(name), json = (name) => JSON.parse(part(name).textContent);
  const block = (name) => inflate(part(name).textContent);
  const about = json(".mf-about"), facts = json(".mf-facts");
  about.big ||= facts.big;
  const tree = decodeTree(about, await block(".mf-data"));
  if (part(".mf-lines")) tree.lines = decodeLines(tree, await block(".mf-lines"));
  const rows = decodeRows(tree, facts, await block(".mf-rows")), selection = new Selection(tree, facts.kind, rows);
  const run = { facts, rows, selection, peak: facts.peak, marks: facts.marks, over: new AbortController(),
                gaps: facts.gaps.map((gap) => ({ ...gap, words: gapInWords(gap, rows.seconds) })) };
  const number = "\\d+(?:\\.\\d{1,9})?";
  tree.moreWords = { during: new RegExp(`^${number}-${number}$`), part: new RegExp(`^(${partsOf[facts.kind].map(([id]) => id).join("|")})$`) };
  tree.select = (state) => selection.select(state);
  return { about, tree, run };
}

// Makes the parts around the flame graph, in the place of those that there were. kept: what stays when a page is
// renewed.
function makePartsAround(root, app, run, kept) {
  const ask = root.querySelector(".mf-ask"), more = root.querySelector(".mf-rest"), goTo = (leaf) => goToStack(app, run, leaf);
  keepingPlace([ask, more], () => {
    root.run?.over.abort();
    ask.replaceChildren();
    more.replaceChildren();
    const upper = new Ask(ask, run, app, goTo, kept), parts = [upper, new Verdicts(more, run, app, goTo, kept), new Shapes(more, run, app)];
    showAccount(more, run);
    app.shown = () => { for (const one of parts) one.update(); };
    app.shown();
    Object.assign(root, { run, upper });
  });
}

// Data of a newer page, in the same state.
async function takeNewer(root, page, kept) {
  const { tree, run } = await readReport(page), { app } = root;
  takeOver(root, page, [".mf-head", ".mf-legend", ".mf-notes", ".mf-about", ".mf-facts", ".mf-data", ".mf-lines", ".mf-rows"]);
  app.shown = null;
  showOtherTree(app, tree);
  makePartsAround(root, app, run, kept);
  app.host.style.setProperty("--mf-rows", String(deepest(tree) + 2));
  return run.facts.live;
}

async function startReport(root) {
  const { about, tree, run } = await readReport(root), kept = { hidden: new Set(), known: new Set() };
  root.classList.add("live");
  const host = root.querySelector(".mf-app");
  host.style.setProperty("--mf-rows", String(deepest(tree) + 2));
  const app = new App({ tree, stage: new CanvasStage(host, about, { fills: false }), host, alone: true });
  root.app = app;
  makePartsAround(root, app, run, kept);
  root.dataset.ready = "1";
  keepKeys(host);
  printable(app);
  if (run.facts.live)
    root.renewal = new Live(root, run.facts.live, { isBusy: () => hasOpenBoxes(app) || root.upper.isBusy, take: (page) => takeNewer(root, page, kept) });
}

const reportRoot = document.currentScript.closest(".memflame");
startReport(reportRoot).catch((error) => {
  reportRoot.dataset.ready = "failed";
  reportRoot.querySelector(".mf-app").textContent = `This report cannot be read: ${error.message}`;
});
