// SPDX-License-Identifier: BSD-2-Clause
// Where functions and boxes are in the source. A box is a function and may stand for several lines
// of it: the one with most of what is drawn comes first.
import { commas } from "./format.mjs";

// Lists of places, of frames and of those nodes whose frame has several.
export class Lines {
  // file[place], line[place]: place 0 is none. Lists: places in [first[n], first[n + 1]) of `places`;
  // nodeFirst is by node. figures[type]: of each entry in a list of several, inclusive.
  constructor({ tree, file, line, frameFirst, nodeFirst, places, figures }) {
    Object.assign(this, { tree, file, line, frameFirst, nodeFirst, places, figures });
  }

  ofFrame(frame) { return [this.frameFirst[frame], this.frameFirst[frame + 1]]; }

  ofNode(node) {
    const list = this.ofFrame(this.tree.frame[node]);
    return list[1] - list[0] > 1 ? [this.nodeFirst[node], this.nodeFirst[node + 1]] : list;
  }

  // How much an entry has in a measure; of a difference, what it has after.
  weight(measure, entry) {
    const n = this.figures[measure.column ?? this.tree.about.difference.after][entry];
    return n < 0 ? -n : n;
  }
}

const ordered = (sums) => [...sums].filter(([place]) => place > 0)
  .sort(([a, m], [b, n]) => (m > n ? -1 : m < n ? 1 : a - b)).map(([place]) => place);

// The places of a function, in all of the profile.
export function placesOfFrame({ tree, measure }, frame) {
  const { lines } = tree;
  if (!lines || frame < 0) return [];
  const [begin, end] = lines.ofFrame(frame), sums = new Map();
  for (let i = begin; i < end; ++i)
    sums.set(lines.places[i], end - begin > 1 ? lines.weight(measure, i) : tree.zero);
  return ordered(sums);
}

// Those of a box. Of a caller with several lines the one that has most counts for all it calls.
export function placesOf(view) {
  const { look } = view, { tree, measure } = look, { lines } = tree;
  if (!lines || view.frame < 0 || tree.isMerged(view.frame)) return [];
  if (view.places) return view.places;
  const sums = new Map(), add = (entry, n) => {
    const place = lines.places[entry];
    sums.set(place, (sums.get(place) ?? tree.zero) + n);
  };
  view.nodes.forEach((node, i) => {
    const [begin, end] = lines.ofNode(node), amount = look.amount[view.from[i]];
    const whole = node === view.from[i] && look.amount === measure.total;
    let most = begin;
    for (let entry = begin; entry < end; ++entry) {
      if (whole && end - begin > 1) add(entry, lines.weight(measure, entry));
      else if (lines.places[entry] && lines.weight(measure, entry) > lines.weight(measure, most)) most = entry;
    }
    if (begin < end && !(whole && end - begin > 1)) add(most, amount);
  });
  return (view.places = ordered(sums));
}

// "reader.cc:37, 2 more lines"; whole: with the file's path. "" of no places.
export function placeText({ lines }, places, whole = false) {
  if (!places.length) return "";
  const [first] = places, more = places.length - 1;
  const file = whole ? lines.file[first] : lines.file[first].replace(/.*\/(?=[^/])/, "");
  const line = lines.line[first] ? `:${lines.line[first]}` : "";
  return file + line + (more ? `, ${commas(more)} more ${more === 1 ? "line" : "lines"}` : "");
}
