// SPDX-License-Identifier: BSD-2-Clause
// The state as text in the address, and back:
//   zoom=<hash of the path>&search=<pattern>&case=1&value=<measure>&view=callers|around|table
//   &focus=<hash of a frame>&hide=<hash>,<hash>&order=width&root=top&cut=left&table=<its order>
//   &marks=off&hits=place&blame=all&boxes=lines|modules&unknown=hidden&runtime=folded|shown
// Hashes are those of names, so that an address fits every picture of the same program. A tree may
// have more words: tree.moreWords, in the form of `words`.
import { treeFor } from "./modules.mjs";
import { hashFrame, hashName } from "./tree.mjs";

const parseHash = (text) =>
  /^[0-9a-f]{16}$/.test(text || "") ? [0, 8].map((at) => parseInt(text.slice(at, at + 8), 16) | 0) : null;

export const initialState = () => ({
  zoom: null, search: "", sameCase: false, value: "", view: "", focus: -1, hidden: [], order: "", root: "",
  cut: "", table: "", marks: "", hits: "", blame: "", boxes: "",
  unknown: "", runtime: "",
});

// The values of keys with words; "" is the picture's own choice.
const words = {
  value: /./s, view: /^(callers|around|table)$/, order: /^(name|width)$/, root: /^(top|bottom)$/,
  cut: /^(left|middle|right)$/, table: /^-?(name|own|total|change)$/, marks: /^off$/, hits: /^place$/,
  blame: /^(caller|user|all)$/, boxes: /^(lines|modules)$/, unknown: /^hidden$/, runtime: /^(folded|shown)$/,
};

const keywordsOf = ({ moreWords = {} }) => ({ ...words, ...moreWords });

// state.zoom is the hash of a view's path, state.focus and state.hidden are frames: of functions or, if
// boxes are modules, of modules. `tree` is the one whose boxes are drawn.
export function writeState(state, tree) {
  const parts = new URLSearchParams(), frame = (one) => hashName(hashFrame(tree, one));
  if (state.zoom) parts.set("zoom", hashName(state.zoom));
  if (state.search) parts.set("search", state.search);
  if (state.sameCase) parts.set("case", "1");
  for (const key of Object.keys(keywordsOf(tree))) if (state[key]) parts.set(key, state[key]);
  if (state.focus >= 0) parts.set("focus", frame(state.focus));
  if (state.hidden.length) parts.set("hide", state.hidden.map(frame).join(","));
  return parts.toString();
}

// tree: the one of functions.
export function readState(text, tree) {
  const parts = new URLSearchParams(text), state = initialState();
  state.zoom = parseHash(parts.get("zoom"));
  state.search = parts.get("search") || "";
  state.sameCase = parts.get("case") === "1";
  for (const [key, fit] of Object.entries(keywordsOf(tree))) state[key] = fit.test(parts.get(key) || "") ? parts.get(key) || "" : "";
  const wanted = [parts.get("focus"), ...(parts.get("hide") || "").split(",")].filter(parseHash);
  if (wanted.length) {
    const byHash = new Map(), used = treeFor(tree, state);
    for (let frame = 0; frame < used.frames.name.length; ++frame)
      byHash.set(hashName(hashFrame(used, frame)), frame);
    state.focus = byHash.get(parts.get("focus")) ?? -1;
    state.hidden = (parts.get("hide") || "").split(",").map((one) => byHash.get(one))
      .filter((frame) => frame !== undefined);
  }
  return state;
}
