// SPDX-License-Identifier: BSD-2-Clause
// The command that draws the same, as far as there is one.
import { firstRuntime } from "./runtime.mjs";

// A word for a shell.
export const quoted = (word) => (/^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

// An expression that finds exactly this name.
export const literal = (text) => "^" + text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";

// The file of a page, which has all frames; a picture has only the wide ones.
const fileOf = ({ merged }) => {
  const name = merged ? "" : decodeURIComponent(location.pathname.replace(/.*\//, ""));
  return name ? (name.startsWith("-") ? `./${name}` : name) : "FILE";
};

// "memflame render graph.html --hide '^main$' …", or "" if no command draws what is shown. Options go by names, so each
// name must stand for one function. A zoom is left out: it changes no figure.
export function commandLine({ state, tree, base, measure, first, around, order, cut, upwards }) {
  const { name } = tree.frames, { types, difference } = tree.about, frames = state.focus >= 0 ? [...state.hidden, state.focus] : state.hidden;
  const isError = measure.column !== null && types[measure.column].unit === "variance";
  const isByLine = tree.ofLines, runtime = state.runtime && state.runtime !== firstRuntime(tree) ? state.runtime : "";
  if (around || base.select || isError || state.unknown || tree.ofModules || (isByLine && frames.length) || frames.some((frame) => name.filter((one) => one === name[frame]).length > 1)) return "";
  const words = ["memflame", "render", fileOf(tree)];
  if (state.focus >= 0) words.push("--show-from", literal(name[state.focus]));
  if (state.hidden.length) words.push("--hide", state.hidden.map((frame) => literal(name[frame])).join("|"));
  if (measure !== first) words.push(difference && measure.column === null ? "--widths" : "--value", measure.id);
  if (isByLine) words.push("--by-line");
  if (runtime) words.push("--runtime", runtime);
  if (state.view === "callers") words.push("--reverse");
  if (!upwards) words.push("--icicle");
  if (tree.inOrderOfTime) words.push("--flamechart");
  else if (order === "width") words.push("--sort", "width");
  if (cut !== "right") words.push("--elide", cut);
  return `${words.map(quoted).join(" ")} -o graph.svg`;
}
