// SPDX-License-Identifier: BSD-2-Clause
// The text about a box.
import { brief, commas, human, inPages, percent, plain } from "./format.mjs";
import { wholeOf } from "./functions.mjs";
import { placeText, placesOf, placesOfFrame } from "./lines.mjs";
import { verdictsOf } from "./marks.mjs";
import { rootOf, wordsOf } from "./measure.mjs";
import { isNative } from "./runtime.mjs";

const mergedName = (frames, total, measure) =>
  `(+${commas(frames)} ${frames === 1 ? "frame" : "frames"}, ${measure.brief(total)})`;

export const nameOf = (box) =>
  (box.view ? nameOfView(box.view) : mergedName(box.frames, box.total, box.caller.look.measure));

export function nameOfView(view) {
  const { tree, measure } = view.look;
  if (view.frame < 0) return tree.about.rootName || "all";
  if (!tree.isMerged(view.frame)) return tree.frames.name[view.frame] || "(no name)";
  return mergedName(view.look.frames(view), view.total, measure);
}

// The text in a box. It begins with a mark for what has grown, shrunk, come or gone in a
// difference, or for the sign of net figures: not everybody sees the colours.
export function labelOf(box) {
  const { difference, net, shown } = (box.view || box.caller).look.tree.about;
  if (!box.view || !(difference || net)) return nameOf(box);
  const { look } = box.view, figure = (column) => look.figure(box.view, column);
  const before = difference ? figure(difference.before) : 0, after = figure(difference ? difference.after : shown);
  const grown = after > before;  // either may be a BigInt
  const sign = !grown && !(after < before) ? "" : difference && !before ? "★ " : difference && !after ? "✕ " : grown ? "+ " : "− ";
  return sign + nameOf(box);
}

// What a file adds to a function: {href, title}.
export function attributesOf(view) {
  const known = view && view.frame >= 0 && view.look.tree.about.attributes, name = known && nameOfView(view);
  return known && Object.hasOwn(known, name) ? known[name] : null;
}

export function titleOf(box) {
  const { nameType } = (box.view || box.caller).look.tree.about;
  return nameType ? `${nameType} ${nameOf(box)}` : nameOf(box);
}

// The lines below the name. zoomed: the view that fills the width. paths: source files with their
// folders.
export function figuresOf(box, zoomed, { paths = false } = {}) {
  const view = box.view || box.caller, { look } = view, { measure, tree } = look;
  const whole = box.view && wholeOfRoot(view);
  const total = whole ? whole.total : box.view ? view.total : box.total, all = measure.total[0];
  const lines = [withPages(total, measure)];
  const shares = [`${percent(total, all)} of all`];
  if (look.focus >= 0 && view !== look.root) shares.push(`${percent(total, look.root.total)} of ${nameOfView(look.root)}`);
  if (zoomed.parent && zoomed !== view && zoomed.contains(view)) shares.push(`${percent(total, zoomed.total)} of zoom`);
  const around = box.view ? view.parent : view;
  if (around && around.parent) shares.push(`${percent(total, around.total)} of parent`);
  lines.push(shares.join(", "));
  if (!box.view) return lines;
  const { own } = whole || view;
  if (whole && whole.total > view.total)
    lines.push(`callers and callees: of the ${measure.brief(view.total)} that this picture has boxes for`);
  if (look.flow === "callees" && own > 0) lines.push(`self ${measure.human(own)}, ${percent(own, all)} of all`);
  lines.push(...changeOf(view), ...otherFigures(view), ...verdictsOf(view));
  const place = placeText(tree, whole ? placesOfFrame(look, look.focus) : placesOf(view), paths);
  if (place) lines.push(place);
  const { module } = tree.frames;
  if (view.frame >= 0 && module[view.frame]) lines.push(tree.ofModules ? module[view.frame] : module[view.frame].replace(/.*\/(?=[^/])/, ""));
  if (isNative(tree, view.frame)) lines.push("what the interpreter does; a click shows its functions");
  const title = attributesOf(view)?.title;
  if (title) lines.push(title);
  return lines;
}

// All of the function that is looked at, if the picture has boxes for only a part of it; else null.
function wholeOfRoot(view) {
  const { look } = view;
  return view === look.root && look.focus >= 0 && look.tree.beyond && !look.hidden.size ? wholeOf(look, look.focus) : null;
}

function withPages(n, measure) {
  const text = measure.human(n), { unit, decimals } = measure.type;
  return unit === "bytes" && !decimals && n >= 4096 ? `${text}, ${inPages(n)}` : text;
}

// "before 5.0 KiB (5,120 B), after 3.0 KiB (3,072 B): -2.0 KiB (-2,048 B), -40.0 %"
function changeOf(view) {
  const { look } = view, { difference, types } = look.tree.about;
  if (!difference) return [];
  const before = look.figure(view, difference.before), after = look.figure(view, difference.after);
  const type = types[difference.after], delta = after - before, sign = delta > 0 ? "+" : "";
  let share = "";
  if (before > 0) share = `, ${sign}${percent(delta, before)}`;
  else if (after > 0) share = ", new";
  if (before && !after) share += ", gone";
  return [`before ${human(before, type)}, after ${human(after, type)}: ${sign}${human(delta, type)}${share}`];
}

// The other columns, with the error of those that are estimated.
function otherFigures(view) {
  const { look } = view, { types, difference } = look.tree.about, lines = [];
  types.forEach((type, column) => {
    if (type.unit === "variance") return;
    if (difference && (column === difference.before || column === difference.after || type.name === "delta")) return;
    const shown = column === look.measure.column, figure = look.figure(view, column);
    const net = shown && figure !== view.total;
    const error = errorOf(view, type);
    if (shown && !net && !error) return;
    if (!figure && !error) return;
    lines.push(`${net ? "net" : wordsOf(type)} ${human(figure, type)}${error}`);
  });
  return lines;
}

function errorOf(view, type) {
  if (type.variance === undefined) return "";
  const error = rootOf(view.look.figure(view, type.variance), type);
  return error > 0 ? ` (± ${brief(error, type)})` : "";
}

// The stack from the root to a view as text, innermost last.
export function stackText(view) {
  const names = view.path().filter((one) => one.frame >= 0).map(nameOfView);
  if (view.look.flow === "callers") names.reverse();
  return `${names.join("\n")}\n${view.look.measure.human(view.total)}\n`;
}

// Everything below a view as folded text, with the whole path in each line: "a;b;c 4096". A ";" in
// a name would end the frame.
export function foldedText(view) {
  const { flow, measure } = view.look, lines = [];
  const longer = (path, one) => {
    const name = nameOfView(one).replace(/;/g, ":");
    return path === "" ? name : flow === "callers" ? `${name};${path}` : `${path};${name}`;
  };
  const pending = [[view, view.path().filter((one) => one.frame >= 0).reduce(longer, "")]];
  while (pending.length) {
    const [next, path] = pending.pop();
    if (next.own > 0) lines.push(`${path || "(root)"} ${plain(next.own, measure.type.decimals)}\n`);
    for (let i = next.callees.length - 1; i >= 0; --i) pending.push([next.callees[i], longer(path, next.callees[i])]);
  }
  return lines.join("");
}
