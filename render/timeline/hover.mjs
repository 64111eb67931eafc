// SPDX-License-Identifier: BSD-2-Clause
// Shows the values of all lines at the time below the pointer, in place of their extremes.

const svg = document.querySelector("svg.memflame");
const { lines } = JSON.parse(document.querySelector(".mf-lines").textContent);
const plots = [...svg.querySelectorAll(".plot")].map((node) => {
  const rule = document.createElementNS("http://www.w3.org/2000/svg", "line");
  rule.setAttribute("class", "rule");
  rule.setAttribute("visibility", "hidden");
  node.append(rule);
  const number = (name) => Number(node.dataset[name]);
  return { rule, left: number("left"), width: number("width"), top: number("top"), height: number("height"),
           from: number("from"), to: number("to") };
});
const reads = [...svg.querySelectorAll(".read")].map((node) => ({
  node, line: lines[Number(node.dataset.line)], usual: node.textContent,
}));
let now = null;

function scaled(value, base, units) {
  let unit = 0;
  while (Math.abs(value) >= base && unit + 1 < units.length) {
    value /= base;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

function words(value, line) {
  if (value === null || value === undefined) return "not known";
  value /= 10 ** (line.decimals || 0);
  if (line.unit === "bytes") return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]);
  if (line.unit === "nanoseconds") return scaled(value, 1000, ["ns", "µs", "ms", "s"]);
  return value.toLocaleString("en-US") + (line.unit === "pages" ? " pages" : "");
}

// The last value at or before that time.
function valueAt(points, seconds) {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= seconds) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? null : points[low - 1][1];
}

function duration(seconds, length) {
  if (length < 10) return `${seconds.toFixed(3)} s`;
  if (length <= 180) return `${seconds.toFixed(1)} s`;
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  return `${Math.floor(seconds / 3600)}:${two(seconds / 60 % 60)}:${two(seconds % 60)}`;
}

function show(seconds) {
  now = seconds;
  for (const { rule, left, width, top, height, from, to } of plots) {
    const seen = seconds !== null && seconds >= from && seconds <= to && to > from;
    rule.setAttribute("visibility", seen ? "visible" : "hidden");
    if (!seen) continue;
    const x = left + (seconds - from) / (to - from) * width;
    rule.setAttribute("x1", x);
    rule.setAttribute("x2", x);
    rule.setAttribute("y1", top);
    rule.setAttribute("y2", top + height);
  }
  for (const { node, line, usual } of reads) {
    node.classList.toggle("live", seconds !== null);
    const { to } = plots[0];
    node.textContent = seconds === null ? usual
      : `${words(valueAt(line.points, seconds), line)} at ${duration(seconds, to)}`;
  }
}

svg.addEventListener("pointermove", (event) => {
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  // The plot below the pointer, or the last one above it.
  const plot = plots.filter(({ top }) => top <= y).pop() || plots[0];
  if (!plot || x < plot.left || x > plot.left + plot.width) return show(null);
  show(plot.from + (x - plot.left) / plot.width * (plot.to - plot.from));
});
svg.addEventListener("pointerleave", () => show(null));
document.addEventListener("keydown", (event) => {
  if (plots.length === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
  const { from, to } = plots[plots.length - 1];
  const step = (to - from) / (event.shiftKey ? 20 : 200);
  if (event.key === "Escape") show(null);
  else if (event.key === "ArrowRight") show(Math.min(to, now === null ? from : now + step));
  else if (event.key === "ArrowLeft") show(Math.max(from, now === null ? to : now - step));
  else return;
  event.preventDefault();
});
