// The boxes of one picture, and numbers for people. flame.js and the flame_*.js before it are put
// into one function when the program is built; nothing of them is seen from outside.

// Every figure comes from the data-* attributes, which are exact; the pixels in the file are for
// readers without scripts.
function readBoxes(svg) {
  const total = svg.dataset.total;
  // Doubles hold integers up to 2^53; beyond, all sums and differences are made with BigInt.
  const integer = BigInt(total) <= BigInt(Number.MAX_SAFE_INTEGER) ? Number : BigInt;
  const frames = svg.querySelector(".frames");
  // rows[depth][i]: boxes from left to right.
  const rows = !frames ? [] : Array.from(frames.children, (row, depth) =>
    Array.from(row.children, (g) => {
      const [title, rect, text] = g.childNodes, from = integer(g.dataset.o);
      const size = integer(g.dataset.v), figures = title.textContent.split("\n");
      const merged = g.classList.contains("merged");
      const to = from + size, name = figures.shift();
      g.box = { g, rect, text, depth, from, size, to, merged, name, figures, role: "", hit: false };
      return g.box;
    }));
  return { integer, rows, frames, total: integer(total), root: rows.length ? rows[0][0] : null };
}

const contains = (outer, inner) => outer.from <= inner.from && inner.to <= outer.to;

// What lies below at least one of the boxes, between `from` and `to`: a box in another one that was
// counted adds nothing.
function covered(boxes, from, to) {
  const inOrder = boxes.slice().sort((a, b) =>
    a.from < b.from ? -1 : a.from > b.from ? 1 : a.depth - b.depth);
  let sum = from - from, reached = from;
  for (const box of inOrder) {
    const begin = box.from > reached ? box.from : reached, end = box.to < to ? box.to : to;
    if (begin >= end) continue;
    sum += end - begin;
    reached = end;
  }
  return sum;
}

// As core/units.h writes them.
const commas = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
function bytes(n) {
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let amount = Number(n), step = 0;
  if (amount < 1024) return n + " B";
  for (amount /= 1024; amount >= 1023.95 && step < 5; ++step) amount /= 1024;
  return `${amount.toFixed(1)} ${units[step]} (${commas(n)} B)`;
}
function seconds(n) {
  const units = ["ns", "µs", "ms", "s"];
  let amount = Number(n), step = 0;
  for (; amount >= 999.9995 && step < 3; ++step) amount /= 1000;
  return (step ? amount.toFixed(3) : n) + " " + units[step];
}
// Figures with a fraction are whole numbers of 10^-decimals.
function human(n, unit, decimals = 0) {
  if (decimals) {
    const scale = 10n ** BigInt(decimals), whole = BigInt(n) / scale, rest = BigInt(n) % scale;
    if (unit === "count" && rest)
      return commas(whole) + "." + String(rest).padStart(decimals, "0").replace(/0+$/, "");
    n = whole;
  }
  if (unit === "bytes") return bytes(n);
  if (unit === "nanoseconds") return seconds(n);
  return commas(n) + (unit !== "pages" ? "" : String(n) === "1" ? " page" : " pages");
}
const percent = (part, whole) => (100 * Number(part) / Number(whole)).toFixed(1) + " %";
