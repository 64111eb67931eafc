// SPDX-License-Identifier: BSD-2-Clause
// What can be done with a box: rows of [text, key, action].
import { showRuntime } from "./blame.mjs";
import { commandLine, literal } from "./command_line.mjs";
import { editorLink, editorTemplate } from "./editor.mjs";
import { attributesOf, nameOfView } from "./figures.mjs";
import { placesOf } from "./lines.mjs";
import { isFoldedBox } from "./runtime.mjs";

// A link from a file is checked again here: only web pages are opened.
export function linkOf(view) {
  const href = attributesOf(view)?.href || "";
  return /^https?:\/\/\S+$/.test(href) ? href : "";
}

export function menuOf(app, box) {
  const { view } = box, rows = [["Zoom", "Enter", () => app.zoom(view || box.caller)]];
  if (isFoldedBox(app, box)) rows.push(["Show the interpreter's functions", "p", () => showRuntime(app, true)]);
  if (!view) rows.push(["List what is in it", "", () => app.listNarrow(box)]);
  if (view && app.isFunction(view.frame)) {
    const { frame } = view, name = nameOfView(view);
    rows.push(["Callers and callees", "s", () => app.lookAround(frame)],
              ["Only below this function", "f", () => app.focus(frame)],
              ["Hide this function", "h", () => app.hide(frame)],
              ["Search for it", "", () => app.searchFor(literal(name))],
              ["Copy name", "", () => app.copy(name)]);
  }
  const link = linkOf(view);
  if (link) rows.push(["Open its link", "", () => window.open(link, "_blank", "noopener,noreferrer")]);
  const editor = view ? editorOf(view) : "";
  if (editor) rows.push(["Open in editor", "", () => window.open(editor, "_blank", "noopener,noreferrer")]);
  rows.push(["Copy stack", "y", () => app.copyStack(box)],
            ["Copy all below as folded text", "Y", () => app.copyFolded(box)]);
  const command = commandLine(app);
  if (command) rows.push(["Copy as command line", "", () => app.copy(command)]);
  return rows;
}

// The first place of a box, for the reader's editor.
function editorOf(view) {
  const [place] = placesOf(view), { lines } = view.look.tree;
  return place ? editorLink(editorTemplate(), lines.file[place], lines.line[place]) : "";
}
