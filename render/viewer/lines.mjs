// SPDX-License-Identifier: BSD-2-Clause
// Where functions and boxes are in the source. A box is a function and may stand for several lines
// of it: the one with most of what is drawn comes first.
import { commas } from "./format.mjs";

// Lists of places: one for each frame, and one for each node whose frame has several.
export class Lines {
  // file[place], line[place]: place 0 is none. Lists: places in [first[n], first[n + 1]) of `places`;
  // nodeFirst is by node. most[type]: the place with most, by where a list of several begins.
  constructor({ tree, file, line, frameFirst, nodeFirst, places, most }) {
    Object.assign(this, { tree, file, line, frameFirst, nodeFirst, places, most });
  }

  ofFrame(frame) { return [this.frameFirst[frame], this.frameFirst[frame + 1]]; }

  ofNode(node) {
    const list = this.ofFrame(this.tree.frame[node]);
    return list[1] - list[0] > 1 ? [this.nodeFirst[node], this.nodeFirst[node + 1]] : list;
  }

  // The place of a list with most of a measure; in a difference, with most of the state after.
  first(measure, [begin, end]) {
    const column = measure.column ?? this.tree.about.difference.after;
    return end - begin > 1 ? this.most[column][begin] : this.places[begin];
  }
}

// The places with their sums in order, the largest first.
const ordered = (sums) => [...sums].filter(([place]) => place > 0)
  .sort(([a, m], [b, n]) => (m > n ? -1 : m < n ? 1 : a - b)).map(([place]) => place);

// Adds the places of a list; `amount`, of what is drawn, counts for its first place.
function add(sums, { lines, zero }, measure, list, amount) {
  for (let i = list[0]; i < list[1]; ++i) if (!sums.has(lines.places[i])) sums.set(lines.places[i], zero);
  const first = lines.first(measure, list);
  if (list[0] < list[1]) sums.set(first, sums.get(first) + amount);
}

// The places of a function, in all of the profile.
export function placesOfFrame({ tree, measure }, frame) {
  const sums = new Map();
  if (tree.lines && frame >= 0) add(sums, tree, measure, tree.lines.ofFrame(frame), measure.total[0]);
  return ordered(sums);
}

// The places of a box, which may stand for many nodes. `open`: the box is a caller with several
// places, and it is unknown which of them leads here.
export function placesOf(view) {
  const { look, frame } = view, { tree, measure } = look, sums = new Map();
  if (!tree.lines || frame < 0 || tree.isMerged(frame)) return [];
  if (view.places) return view.places;
  let open = false;
  view.nodes.forEach((node, i) => {
    const list = tree.lines.ofNode(node);
    open ||= node !== view.from[i] && list[1] - list[0] > 1;
    add(sums, tree, measure, list, look.amount[view.from[i]]);
  });
  return (view.places = Object.assign(ordered(sums), { open }));
}

// "reader.cc:37, 2 more lines" or "reader.cc, one of 3 lines"; whole: with the file's path. "" if
// there are no places.
export function placeText({ lines }, places, whole = false) {
  if (!places.length) return "";
  const [first] = places, more = places.length - 1;
  const file = whole ? lines.file[first] : lines.file[first].replace(/.*\/(?=[^/])/, "");
  if (places.open && more) return `${file}, one of ${commas(places.length)} lines`;
  const line = lines.line[first] ? `:${lines.line[first]}` : "";
  return file + line + (more ? `, ${commas(more)} more ${more === 1 ? "line" : "lines"}` : "");
}
