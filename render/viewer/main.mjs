// SPDX-License-Identifier: BSD-2-Clause
// Where the script of a picture begins: finds the picture that it is in, its data and its stage.
import { App } from "./app.mjs";
import { decodeLines, decodeTree, inflate } from "./decode.mjs";
import { element, keep, kept, svgElement } from "./page.mjs";
import { printable } from "./print.mjs";
import { CanvasStage } from "./stage_canvas.mjs";
import { SvgStage } from "./stage_svg.mjs";

async function start(root) {
  const about = JSON.parse(root.querySelector(".mf-about").textContent);
  const tree = decodeTree(about, await inflate(root.querySelector(".mf-data").textContent));
  const lines = root.querySelector(".mf-lines");
  if (lines) tree.lines = decodeLines(tree, await inflate(lines.textContent));
  const svg = root.localName === "svg";
  const alone = svg ? root === document.documentElement : root.parentNode === document.body && root.dataset.alone === "1";
  const host = svg ? element("div", { className: "mf-app" }) : root.querySelector(".mf-app");
  const stage = svg ? new SvgStage(root, about) : new CanvasStage(host, about);
  if (svg)
    root.append(svgElement("foreignObject", { class: "mf-layer", x: 0, y: 0, width: "100%", height: "100%" }, host));
  if (about.background && !svg)
    root.style.setProperty("--mf-background", `linear-gradient(${about.background.join()})`);
  root.classList.add("live");
  root.app = new App({ tree, stage, host, alone });
  root.dataset.ready = "1";
  for (const line of root.querySelectorAll(".leak")) line.addEventListener("click", () => root.app.marks.step(1));
  if (svg) return;
  printable(root.app);
  foldable(root.querySelector(".mf-fold"));
  scrollable(root.querySelector(".mf-head"));
  window.addEventListener("resize", () => scrollable(root.querySelector(".mf-head")));
}

// Whether the facts are shown is the reader's choice, for all pictures. On paper they are.
function foldable(fold) {
  if (!fold) return;
  const key = "memflame-facts";
  let chosen = kept(key) === "open";
  fold.open = chosen;
  fold.addEventListener("toggle", () => {
    scrollable(fold.closest(".mf-head"));
    if (matchMedia("print").matches) return;
    keep(key, fold.open ? "open" : "closed");
  });
  window.addEventListener("beforeprint", () => {
    chosen = fold.open;
    fold.open = true;
  });
  window.addEventListener("afterprint", () => { fold.open = chosen; });
}

// A part that scrolls must be reachable by keys.
function scrollable(part) {
  if (part) part.tabIndex = part.scrollHeight > part.clientHeight ? 0 : -1;
}

// The boxes in the file are for readers without scripts. They are hidden, so that the browser does
// not lay them out, and come back if the data cannot be read.
const root = document.currentScript.closest(".memflame"), still = root.querySelector(".frames");
still?.setAttribute("display", "none");
start(root).then(() => still?.removeAttribute("display"), (error) => {
  still?.removeAttribute("display");
  root.dataset.ready = "failed";
  const note = root.querySelector(".mf-app");
  if (note) note.textContent = `This picture cannot be read: ${error.message}`;
  else console.error(error);
});
