// SPDX-License-Identifier: BSD-2-Clause
// Which rows of a report are shown, and their sums. A range is two edges, a < b: the bins a to b - 1,
// that is the time after edges[a], until edges[b].
import { never } from "./rows.mjs";

// What may be shown of a range: [id, label, words, share]. share(born, freed, a, b): how often a row
// counts, -1, 0 or 1. words(from, to, name of the column) complete "12 MiB".
export const partsOf = {
  blocks: [
    ["end", "Live at the end", (from, to) => `live at ${to}`, (born, freed, a, b) => +(born < b && freed >= b)],
    ["growth", "Growth", (from, to) => `change of live memory from ${from} to ${to}`,
     (born, freed, a, b) => +(born < b && freed >= b) - +(born < a && freed >= a)],
    ["allocated", "Allocated", (from, to) => `allocated from ${from} to ${to}`, (born, freed, a, b) => +(born >= a && born < b)],
    ["freed", "Freed", (from, to) => `freed from ${from} to ${to}`, (born, freed, a, b) => +(freed >= a && freed < b)],
    ["leaked", "Never freed", (from, to) => `allocated from ${from} to ${to} and never freed`,
     (born, freed, a, b) => +(born >= a && born < b && freed === never)],
    ["live", "Live at any time", (from, to) => `live at some time from ${from} to ${to}`,
     (born, freed, a, b) => +(born < b && freed >= a)],
  ],
  changes: [
    ["end", "At the end", (from, to, name) => `${name} at ${to}`, (born, freed, a, b) => +(born < b)],
    ["growth", "Growth", (from, to, name) => `change of ${name} from ${from} to ${to}`, (born, freed, a, b) => +(born >= a && born < b)],
  ],
};

export const partOf = (kind, id) => partsOf[kind].find(([one]) => one === id) ?? partsOf[kind][0];

// The place of the first value in ascending ones that is at least this large.
export function firstAtLeast(ascending, value) {
  let low = 0, high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// How often each row counts.
export function sharesOf({ born, freed }, [, , , share], a, b) {
  const shares = new Int8Array(born.length);
  for (let i = 0; i < shares.length; ++i) shares[i] = share(born[i], freed[i], a, b);
  return shares;
}

// Sets own[type][node] to the sums of the rows. Errors of what came and of what went add up.
export function addUp({ node, columns }, shares, types, own) {
  columns.forEach((column, type) => {
    const sums = own[type], adds = types[type].unit === "variance";
    sums.fill(sums instanceof BigInt64Array ? 0n : 0);
    for (let i = 0; i < shares.length; ++i) {
      if (shares[i] === 0) continue;
      if (shares[i] > 0 || adds) sums[node[i]] += column[i];
      else sums[node[i]] -= column[i];
    }
  });
}

// The figures of some of the rows from `begin` to `end` - 1 at each edge, as Numbers: counts(i) says
// whether row i is one of them.
export function liveLine({ born, freed, columns, bins }, type, counts = () => true, begin = 0, end = born.length) {
  const column = columns[type], change = new column.constructor(bins + 1);
  for (let i = begin; i < end; ++i) {
    if (!counts(i)) continue;
    change[born[i] + 1] += column[i];
    if (freed[i] < bins) change[freed[i] + 1] -= column[i];
  }
  for (let edge = 1; edge <= bins; ++edge) change[edge] += change[edge - 1];
  return Float64Array.from(change, Number);
}

// The nodes of the innermost tree that the figures of a view come from, one byte each; null: all.
export function nodesOf(view) {
  const { look } = view, { tree } = look;
  if (!view.parent && view.frame < 0) return null;
  const inside = new Uint8Array(tree.size), own = look.flow === "callers" && look.focus < 0;
  for (const node of view.from) inside.fill(1, node, own ? node + 1 : tree.end[node]);
  if (own && tree.places) for (let n = 1; n < tree.size; ++n) if (inside[tree.places[n]]) inside[n] = 1;
  return insideBase(tree, inside);
}

// The same of the tree of which a tree was made.
function insideBase({ base, to }, inside) {
  if (!base) return inside;
  if (!to) return insideBase(base, inside);
  const { places, size } = base;
  return insideBase(base, Uint8Array.from({ length: size }, (_, n) => inside[to[places?.[n] ?? n]]));
}

// The selection of a state; it sets the figures of the tree.
export class Selection {
  constructor(tree, kind, rows) {
    Object.assign(this, { tree, kind, rows, a: -1, b: -1, part: null, shares: null });
    tree.holds = new Uint8Array(tree.size);
    for (const node of rows.node) tree.holds[node] = 1;
  }

  // Returns whether anything changed.
  select({ during, part }) {
    const [a, b] = this.rangeOf(during), chosen = partOf(this.kind, part);
    if (a === this.a && b === this.b && chosen === this.part) return false;
    Object.assign(this, { a, b, part: chosen, shares: sharesOf(this.rows, chosen, a, b) });
    addUp(this.rows, this.shares, this.tree.about.types, this.tree.own);
    this.tree.renew();
    return true;
  }

  // during: "12.5-40", seconds; "" is the whole run.
  rangeOf(during) {
    const { rows } = this, [from, to] = (during || "").split("-").map((text) => this.edgeAt(Number(text)));
    return during && from < to ? [from, to] : [0, rows.bins];
  }

  // The edge that is nearest to a time.
  edgeAt(time) {
    const { seconds } = this.rows, next = Math.min(firstAtLeast(seconds, time), seconds.length - 1);
    return next > 0 && time - seconds[next - 1] < seconds[next] - time ? next - 1 : next;
  }

  get isWhole() { return this.a === 0 && this.b === this.rows.bins; }
}
