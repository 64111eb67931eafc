// SPDX-License-Identifier: BSD-2-Clause
// What the width of a box means: a column, or for a difference something made of two.
import { brief, human } from "./format.mjs";
import { movedTo } from "./tree.mjs";

const larger = (a, b) => (a > b ? a : b);
const positive = (n) => (n > 0 ? n : n - n);
const size = (n) => (n < 0 ? -n : n);

const ofDifference = [
  ["max", "larger of before and after", (before, after) => positive(larger(before, after))],
  ["after", "after", (before, after) => positive(after)],
  ["before", "before", (before, after) => positive(before)],
  ["sum", "before and after together", (before, after) => positive(before) + positive(after)],
  ["delta", "what has changed", (before, after) => size(after - before)],
];

// What people read in place of a column's name (render/picture/column_words.h).
export const wordsOf = ({ label, name }) => label ?? name;

// All measures of a tree: {id, label, type, column, raw, own, total}. `own` and `total` are what widths
// are made of: never negative, and made at the first use. `raw` are own figures where they are, which
// may not be where they are drawn (blame.mjs). `column` is the column of the figures, or
// null if they are made of two.
export function measuresOf(tree) {
  if (tree.base)  // what widths are made of adds up, too
    return measuresOf(tree.base).map((one) => {
      const { id, label, type, column, tell } = one;
      return measure(tree, { id, label, type, column, of: one, make: () => (tree.join ? tree.join(one.own) : one.raw) }, tell);
    });
  const { types, difference } = tree.about;
  const found = difference
    ? ofDifference.map(([id, label, combine]) => measure(tree, {
        id, label, type: types[difference.after], column: null,
        make: () => tree.own[difference.before].map((v, n) => combine(v, tree.own[difference.after][n])),
      }))
    : [];
  types.forEach((type, column) => {
    const taken = found.some(({ id }) => id === type.name) || (difference && (column === difference.before || column === difference.after));
    if (type.unit === "variance" || taken) return;
    found.push(measure(tree, {
      id: type.name, label: wordsOf(type), type, column, make: () => widths(tree, tree.own[column]),
    }));
    // Where the error of an estimate comes from: variances add up, their roots do not.
    if (type.variance !== undefined) found.push(measure(tree, {
      id: `${type.name}-error`, label: `error of ${wordsOf(type)} (width: its square)`, type: types[type.variance], column: type.variance,
      make: () => tree.own[type.variance],
    }, (n) => `± ${brief(rootOf(n, type), type)}`));
  });
  return found;
}

// One standard error, of a sum of variances.
export const rootOf = (sum, type) => Math.ceil(Math.sqrt(Number(sum) * type.varianceUnit));

// Net figures are drawn by their size; otherwise negative figures have no width.
function widths(tree, own) {
  if (!own.some((n) => n < 0)) return own;
  return tree.about.net ? own.map(size) : own.map(positive);
}

function measure(tree, { make, ...rest }, tell = null) {
  let raw = null, own = null, total = null;
  const isColumn = (figures) => rest.column !== null && figures === tree.own[rest.column];
  return {
    ...rest, tell,
    get innermost() { return rest.of ? rest.of.innermost : this; },  // that of the tree of which others are made
    get raw() { return (raw ??= make()); },
    get own() { return (own ??= isColumn(this.raw) ? tree.self(rest.column) : movedTo(tree.places, this.raw)); },
    get total() { return (total ??= isColumn(this.raw) ? tree.total(rest.column) : tree.sumUp(this.own)); },
    human: tell ?? ((n) => human(n, rest.type)),
    brief: tell ?? ((n) => brief(n, rest.type)),
  };
}

// The measure that a picture begins with.
export function firstMeasure(tree, measures) {
  const { shown, difference, diffWidth } = tree.about;
  const wanted = difference ? diffWidth || "max" : tree.about.types[shown].name;
  return measures.find((one) => one.id === wanted) || measures[0];
}
