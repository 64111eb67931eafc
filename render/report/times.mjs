// SPDX-License-Identifier: BSD-2-Clause
// Times of a run as people write and read them.

const two = (number) => String(Math.floor(number)).padStart(2, "0");

// "12.5 s", "1:02:03.5"; length: of the run, which decides how many digits help.
export function timeText(seconds, length) {
  const digits = length < 0.1 ? 6 : length < 10 ? 3 : length < 600 ? 1 : 0, scale = 10 ** digits;
  const rounded = Math.round(seconds * scale) / scale;
  if (length < 180) return `${rounded.toFixed(digits)} s`;
  const rest = (rounded % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  return rounded < 3600 ? `${Math.floor(rounded / 60)}:${rest}` : `${Math.floor(rounded / 3600)}:${two((rounded / 60) % 60)}:${rest}`;
}

const timeUnits = { d: 86400, h: 3600, m: 60, min: 60, s: 1, "": 1, ms: 1e-3, us: 1e-6, "µs": 1e-6, ns: 1e-9 };

function lengthOf(text) {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|us|µs|ns|min|[dhms])?\s*/gy)];
  if (!parts.length || parts.map(([whole]) => whole).join("") !== text) return null;
  return parts.reduce((sum, [, number, unit = ""]) => sum + Number(number) * timeUnits[unit], 0);
}

// Seconds: "90", "1m30s", "12.5 s", "1:02:03", "98%", "start", "peak", "end", or a mark's name. null
// if it is not one of these. run: {end, peak, marks: [[name, seconds]]}
export function parseTime(text, { end, peak, marks }) {
  const word = text.trim();
  const named = marks.find(([name]) => name === word) ?? [["start", 0], ["peak", peak], ["end", end]].find(([name]) => name === word.toLowerCase());
  if (named) return named[1];
  const share = /^(\d+(?:\.\d+)?)\s*%$/.exec(word);
  if (share) return (end * Number(share[1])) / 100;
  const clock = /^(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$/.exec(word);
  if (clock) return Number(clock[1] ?? 0) * 3600 + Number(clock[2]) * 60 + Number(clock[3]);
  return lengthOf(word);
}

const timeSteps = [1, 2, 5].flatMap((n) => [1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10].map((unit) => n * unit))
  .filter((step) => step < 20).sort((a, b) => a - b)
  .concat([30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000, 1728000, 4320000]);

// Round times in [0, end], at most `most` of them.
export function ticksOf(end, most) {
  const step = timeSteps.find((one) => end / one <= most) ?? end / most;
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, i) => i * step);
}
