// SPDX-License-Identifier: BSD-2-Clause
// The command that shows the same figures as a selection.

import { quoted } from "../viewer/command_line.mjs";

// Exact seconds without a unit: 12500000000n -> "12.5".
export function exactSeconds(ns) {
  const rest = String(ns % 1000000000n).padStart(9, "0").replace(/0+$/, "");
  return ns / 1000000000n + (rest && `.${rest}`);
}

// memflame reads numbers of up to 15 digits exactly.
function exactTime(ns) {
  const text = exactSeconds(ns);
  return text.length <= 16 ? `${text}s` : `${ns / 1000000000n}s${ns % 1000000000n}ns`;
}

const columnNames = { end: "live", growth: "live", allocated: "total", live: "total", freed: "freed", leaked: "leaked" };

// The options of `memflame render`. The first bin contains the instant 0, which no --between has, so
// what begins there is told by its end.
function optionsOf({ kind, part: [id], a, b, rows: { edges, bins } }) {
  const from = edges[a], to = edges[b], toEnd = b === bins;
  const until = toEnd ? "" : ` --at ${exactTime(to)}`;
  const range = a === 0 ? until : ` --between ${exactTime(from)}..${toEnd ? "" : exactTime(to)}`;
  if (kind === "changes") return id === "growth" ? range : until;
  if (id === "end" || (id === "growth" && a === 0)) return ` --view live${until}`;
  if (id === "live" && a > 0)
    return ` --view total --where 'live in ${exactTime(from)}..${toEnd ? "end" : exactTime(to)}'`;
  return ` --view ${id === "allocated" || id === "live" ? "total" : id}${range}`;
}

function valueOf({ kind, part: [id], tree }, measure) {
  const { types } = tree.about;
  if (kind === "changes") return types.filter(({ unit }) => unit !== "variance").length > 1 ? ` --value ${quoted(measure.id)}` : "";
  return measure.type.unit === "count" ? ` --value ${columnNames[id]}-count` : "";
}

// selection: selection.mjs. measure: what widths mean (viewer/measure.mjs).
export function commandOf(selection, { file, icicle, options = [] }, measure) {
  const name = file.startsWith("-") ? `./${file}` : file;
  const isError = measure.column !== null && selection.tree.about.types[measure.column].unit === "variance";
  const value = isError ? "" : valueOf(selection, measure);
  return `memflame render ${[name, ...options].map(quoted).join(" ")}${optionsOf(selection)}${value}${icicle ? " --icicle" : ""} > part.svg`;
}
