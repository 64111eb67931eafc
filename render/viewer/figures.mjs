// What is said of a box: lines of text.
import { brief, commas, human, inPages, percent } from "./format.mjs";

export function nameOf(box) {
  if (box.view) return nameOfView(box.view);
  const { measure } = box.caller.look;
  return `(+${commas(box.frames)} ${box.frames === 1 ? "frame" : "frames"}, ${measure.brief(box.total)})`;
}

export function nameOfView(view) {
  const { tree, measure } = view.look;
  if (view.frame < 0) return tree.about.rootName || "all";
  if (!tree.isMerged(view.frame)) return tree.frames.name[view.frame] || "(no name)";
  const count = view.look.frames(view);
  return `(+${commas(count)} ${count === 1 ? "frame" : "frames"}, ${measure.brief(view.total)})`;
}

// The lines below the name. zoomed: what fills the width.
export function figuresOf(box, zoomed) {
  const view = box.view || box.caller, { look } = view, { measure, tree } = look;
  const total = box.view ? view.total : box.total;
  const lines = [withPages(total, measure)];
  const shares = [`${percent(total, look.root.total)} of all`];
  if (zoomed.parent && zoomed !== view && zoomed.contains(view)) shares.push(`${percent(total, zoomed.total)} of zoom`);
  const around = box.view ? view.parent : view;
  if (around && around.parent) shares.push(`${percent(total, around.total)} of ${look.flow === "callers" ? "what it is in" : "caller"}`);
  lines.push(shares.join(", "));
  if (!box.view) return lines;
  const { own } = view;
  if (look.flow === "callees" && own > 0 && own !== total) lines.push(`self ${measure.human(own)}, ${percent(own, look.root.total)}`);
  lines.push(...changeOf(view), ...otherFigures(view));
  const { module } = tree.frames;
  if (view.frame >= 0 && module[view.frame]) lines.push(module[view.frame].replace(/.*\/(?=[^/])/, ""));
  return lines;
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
  return [`before ${human(before, type)}, after ${human(after, type)}: ${sign}${human(delta, type)}${share}`];
}

// The other columns, with the error of those that are estimated.
function otherFigures(view) {
  const { look } = view, { types, difference } = look.tree.about, lines = [];
  types.forEach((type, column) => {
    if (type.unit === "variance") return;
    if (difference && (column === difference.before || column === difference.after)) return;
    const shown = column === look.measure.column, figure = look.figure(view, column);
    const net = shown && figure !== view.total;
    const error = errorOf(view, type);
    if (shown && !net && !error) return;
    if (!figure && !error) return;
    lines.push(`${net ? "net" : type.name} ${human(figure, type)}${error}`);
  });
  return lines;
}

function errorOf(view, type) {
  if (type.variance === undefined) return "";
  const variance = Number(view.look.figure(view, type.variance)) * type.varianceUnit;
  return variance > 0 ? ` (± ${brief(Math.ceil(Math.sqrt(variance)), type)})` : "";
}

// The stack from the root to a view as text, innermost last.
export const stackText = (view) =>
  view.path().filter((one) => one.frame >= 0).map((one) => `${nameOfView(one)}`).join("\n") +
  `\n${view.look.measure.human(view.total)}\n`;

// Everything below a view as folded text, with what is around it: "a;b;c 4096". A ";" in a name
// would end the frame.
export function foldedText(view) {
  const lines = [], plain = (one) => nameOfView(one).replace(/;/g, ":");
  const pending = [[view, view.path().filter((one) => one.frame >= 0).map(plain).join(";")]];
  while (pending.length) {
    const [next, path] = pending.pop();
    if (next.own > 0) lines.push(`${path || "(root)"} ${next.own}`);
    for (const callee of next.callees.slice().reverse())
      pending.push([callee, path ? `${path};${plain(callee)}` : plain(callee)]);
  }
  return lines.join("\n") + "\n";
}
