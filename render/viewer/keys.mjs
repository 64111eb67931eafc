// SPDX-License-Identifier: BSD-2-Clause
// What keys do, and what help says about them: [keys, as help shows them, what, act(app, box)].
import { showRuntime } from "./blame.mjs";
import { isFolded } from "./runtime.mjs";

const keys = [
  [["Enter"], "Click, Enter", "zoom into a box; a caller around it zooms out", (app, box) => app.choose(box)],
  [[" ", "ContextMenu"], "Right click, long touch, Space", "open the menu of a box", (app, box) => app.openMenuAt(box)],
  [[], "Arrow keys", "go to callers, callees and neighbours", null],
  [["Home"], "Home", "go to the zoomed box", (app) => app.goTo(app.middle)],
  [["Escape"], "Esc", "close what is open, else back one step", (app) => app.closeOrBack()],
  [["0"], "0", "show everything", (app) => app.change({ zoom: null })],
  [["/"], "/", "search", (app) => app.controls.search.select()],
  [["n"], "n, N", "next and previous match: the largest one first, or from the root (x)", (app) => app.matches.step(1)],
  [["N"], "", "", (app) => app.matches.step(-1)],
  [["x"], "", "", (app) => app.cycle("hits")],
  [["c"], "c", "capital letters matter in searches", (app) => app.controls.sameCase.click()],
  [["m"], "m", "change what widths mean", (app) => app.cycle("measure")],
  [["1", "2", "3", "4", "5"], "1 to 5", "flame, icicle, callers first, sandwich, table", (app, box, key) => app.tabs.chooseNth(Number(key))],
  [["v"], "v", "callers first, and back: what reaches the last functions of stacks", (app) => app.turnAround()],
  [["s"], "s", "callers and callees of the function", (app, box) => app.lookAround(frameOf(box))],
  [["h"], "h", "hide the function: its callees become its callers'", (app, box) => app.hide(frameOf(box))],
  [["f"], "f", "only what is below the function", (app, box) => app.focus(frameOf(box))],
  [["r"], "r", "restore what was hidden", (app) => app.restore()],
  [["o"], "o", "order by name or by width", (app) => app.cycle("order")],
  [["b"], "b", "blame: the allocator's caller, the caller of containers too, or all frames", (app) => app.cycle("blame")],
  [["B"], "B", "boxes are functions, source lines or modules", (app) => app.cycle("boxes")],
  [["u"], "u", "hide or show functions without a symbol", (app) => app.showUnnamed(Boolean(app.state.unknown))],
  [["p"], "p", "fold or show what an interpreter does between two functions of its language", (app) => showRuntime(app, isFolded(app))],
  [["e"], "e", "which end of a long name is cut", (app) => app.cycle("cut")],
  [["i"], "i", "turn upside down", (app) => app.turn()],
  [["l"], "l", "go to the next leak", (app) => app.marks.step(1)],
  [["L"], "L", "show or hide the marks of leaks", (app) => app.marks.toggle()],
  [["t"], "t", "table of functions beside the boxes", (app) => app.toggleTable()],
  [["y"], "y, Y", "copy the stack, or everything below as folded text", (app, box) => app.copyStack(box)],
  [["Y"], "", "", (app, box) => app.copyFolded(box)],
  [["?"], "?", "this list", (app) => app.help.show()],
];

const frameOf = ({ view }) => (view ? view.frame : -1);

export const actions = new Map(keys.flatMap(([names, , , act]) => names.map((name) => [name, act])));
export const help = keys.filter(([, shown]) => shown).map(([, shown, what]) => [shown, what]);
