// SPDX-License-Identifier: BSD-2-Clause
// As much of a name as fits into a box.

export const padding = 4;  // px between the edges of a box and its text

// The letters that a reader sees as one stay together.
const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const split = (text) =>
  /^[ -~]*$/.test(text) ? text : Array.from(segments.segment(text), (one) => one.segment);

// Which end to cut: names of C++ functions often begin alike, and so do paths and packages.
const cut = {
  right: (letters, fits) => join(letters.slice(0, fits - 1)) + "…",
  left: (letters, fits) => "…" + join(letters.slice(letters.length - fits + 1)),
  middle: (letters, fits) => {
    const tail = Math.floor((fits - 1) / 2);
    return join(letters.slice(0, fits - 1 - tail)) + "…" + join(letters.slice(letters.length - tail));
  },
};
const join = (letters) => (typeof letters === "string" ? letters : letters.join(""));

// How many cells letters take: wide letters of East Asia take two, combining marks none.
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;
export function cells(text) {
  const letters = split(text);
  if (typeof letters === "string") return letters.length;
  return letters.reduce((sum, letter) => sum + (wide.test(letter) ? 2 : 1), 0);
}

// `name` shortened to `fits` cells: first without the types in a C++ name, then without letters of
// its class, then without letters at the end that `side` names. "" if nothing worth reading is
// left.
export function shorten(name, fits, side = "right") {
  if (cells(name) <= fits) return name;
  if (fits < 3) return "";
  const forms = shorterNames(name), shortest = forms.at(-1) ?? name;
  for (const brief of forms) {
    if (cells(brief) > fits) continue;
    return (brief === shortest && withPartOfClass(forms.at(-2) ?? name, brief, fits)) || brief;
  }
  const letters = split(shortest);
  if (typeof letters === "string") return cut[side](letters, fits);
  // Wide letters: give up cells until it fits.
  for (let count = fits; count >= 2; --count) {
    const text = cut[side](letters, count);
    if (cells(text) <= fits) return text;
  }
  return "";
}

// "QWidgetPri…::setVisible()" of "QWidgetPrivate::setVisible()" and "…::setVisible()". "" if not even
// two letters of the class fit.
function withPartOfClass(longer, brief, fits) {
  if (!brief.startsWith("…::") || !longer.endsWith(brief.slice(1))) return "";
  const letters = Array.from(split(longer.slice(longer.startsWith("…::") ? 3 : 0, longer.length - brief.length + 1)));
  for (let count = letters.length - 1; count >= 2; --count) {
    const text = join(letters.slice(0, count)).replace(/<…?$/, "") + brief;
    if (cells(text) <= fits) return text;
  }
  return "";
}

// A name of Go: folders, package, receiver, function.
const go = /^((?:[\w.~%-]+\/)*)([\w~%-]+\.)(\([^()]*\)\.)?([^():<> /]*)$/;

// "…/tsdb.(*memSeries).append", "…(*memSeries).append" and "…append" of a method of Go; null for other
// names.
function shorterGoNames(name) {
  const [, folders, owner, receiver = "", rest] = go.exec(name) ?? [];
  if (!folders && !receiver) return null;
  return [folders && `…/${owner}${receiver}${rest}`, `…${receiver}${rest}`, receiver && `…${rest}`].filter(Boolean);
}

// Ever shorter forms of a name: without the place at its end, " (app.py:41)"; of C++ or Rust without
// arguments, without template arguments, without the namespaces around the class, and without the
// class, with a mark in its place.
export function shorterNames(name) {
  const [, named] = /^(.+) \([^()]*:\d+\)$/.exec(name) ?? [];
  // "<module>" and "f.<locals>.g" of Python are not templates, whose functions have arguments.
  if (named) return [named, ...(/^[^(]*<[^(]*$/.test(named) ? [] : shorterNames(named))];
  // "(+37 frames, 2.1 MiB)" and "(no name)" are not functions with arguments.
  if (!/[(<:/]/.test(name) || /^\((?!anonymous namespace\))/.test(name)) return [];
  const ofGo = shorterGoNames(name);
  if (ofGo) return ofGo;
  const forms = [], add = (form) => form !== name && form !== forms.at(-1) && form && forms.push(form);
  const noArguments = withoutBrackets(name, "(", ")", "()");
  add(noArguments);
  const noTypes = withoutBrackets(noArguments, "<", ">", "<…>");
  add(noTypes);
  const operator = noTypes.indexOf("::operator"), parts = noTypes.slice(0, operator < 0 ? undefined : operator).split("::");
  if (operator >= 0) parts.push(noTypes.slice(operator + 2));
  // An unpaired bracket means that a "::" may lie within brackets.
  const around = parts.slice(0, -1).join("").replace(/\(anonymous namespace\)|<…>|\(\)/g, "");
  if (parts.length < 2 || /[()<>]/.test(around)) return forms;
  if (parts.length > 2) add("…::" + parts.slice(-2).join("::"));
  add("…::" + parts.at(-1));
  return forms;
}

// Outermost pairs of brackets replaced. Those that belong to the name stay: "(anonymous namespace)",
// "operator()", "operator<", "operator->".
function withoutBrackets(name, open, close, instead) {
  let out = "", depth = 0;
  for (let i = 0; i < name.length; ++i) {
    const rest = name.slice(i);
    const kept = depth === 0 && /^(\(anonymous namespace\)|operator\s*(\(\)|->\*?|<=>|<<=?|>>=?|[<>]=?))/.exec(rest);
    if (kept) {
      out += kept[0];
      i += kept[0].length - 1;
    } else if (name[i] === open) {
      if (depth++ === 0) out += instead;
    } else if (name[i] === close && depth > 0) {
      --depth;
    } else if (depth === 0) {
      out += name[i];
    }
  }
  return depth === 0 ? out : name;
}
