// SPDX-License-Identifier: BSD-2-Clause
// The lines of the chart: the run's live bytes, those of what is selected, and the figures of the
// operating system.
import { rootOf } from "../viewer/measure.mjs";
import { liveLine, nodesOf } from "./selection.mjs";

const pageBytes = 4096;

// What a line is drawn in; pages are drawn as bytes, which others have.
export const unitOf = ({ unit }) => (unit === "pages" ? "bytes" : unit);
const scaleOf = ({ unit, decimals = 0 }) => (unit === "pages" ? pageBytes : 1) / 10 ** decimals;

// The last value at or before a time; null: none is known.
export function valueAt({ times, values }, seconds) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= seconds) low = middle + 1;
    else high = middle;
  }
  return low ? values[low - 1] : null;
}

// Each column once, of the whole run: {times, values} at the edges.
export class WholeLines {
  constructor(rows) {
    this.rows = rows;
    this.known = new Map();
  }

  of(column) {
    if (!this.known.has(column)) this.known.set(column, liveLine(this.rows, column));
    return this.known.get(column);
  }
}

// The line of what is selected and lies in a view: what became of these blocks, their figures at each
// time. null: it is the line of the whole run.
export function selectedLine({ kind, rows, shares, isWhole, part: [id] }, view, column) {
  const inside = nodesOf(view);
  if (kind === "changes" && !inside) return null;
  if (!inside && isWhole && id === "allocated") return null;
  const counts = kind === "changes" ? (i) => inside[rows.node[i]] === 1
    : (i) => shares[i] > 0 && (!inside || inside[rows.node[i]] === 1);
  return liveLine(rows, column, counts);
}

// The column that is drawn: that of the measure; for an error, that of the figure it belongs to.
export function columnOf(tree, measure) {
  const { types } = tree.about;
  if (types[measure.column].unit !== "variance") return measure.column;
  return types.findIndex(({ variance }) => variance === measure.column);
}

// Lines of the file that fit on the axis of a type, until the end: [{name, times, values}], the
// operating system's first.
export function linesFor(lines, type, end) {
  return lines.filter((line) => unitOf(line) === unitOf(type)).map((line) => {
    const scale = scaleOf(line), values = line.values.map((value) => (value === null ? null : value * scale));
    const goesOn = values.length > 0 && line.times.at(-1) < end;  // a value holds until the next one
    return { name: line.name, gauge: line.gauge, times: goesOn ? [...line.times, end] : line.times,
             values: goesOn ? [...values, values.at(-1)] : values };
  });
}

export const scaled = (line, type) => line.map((value) => value * scaleOf(type));

// One standard error of all that is selected; 0 if the figures are exact.
export const errorOfSum = (tree, type) =>
  (type.variance === undefined ? 0 : rootOf(tree.total(type.variance)[0], type));
