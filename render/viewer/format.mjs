// SPDX-License-Identifier: BSD-2-Clause
// Figures as core/units.h and render/picture/caption.h write them. A figure is a Number, or a
// BigInt if the profile's sums exceed 2^53. Figures with a fraction are whole multiples of
// 10^-decimals.

export const commas = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

const steps = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

// 124675686 -> "118.9 MiB"
export function iec(n) {
  let amount = Math.abs(Number(n)), step = 0;
  if (amount < 1024) return n + " B";
  for (amount /= 1024; amount >= 1023.95 && step < 5; ++step) amount /= 1024;
  return `${n < 0 ? "-" : ""}${amount.toFixed(1)} ${steps[step]}`;
}

function seconds(n) {
  const units = ["ns", "µs", "ms", "s"];
  let amount = Number(n), step = 0;
  for (; Math.abs(amount) >= 999.9995 && step < 3; ++step) amount /= 1000;
  return (step ? amount.toFixed(3) : n) + " " + units[step];
}

// All digits, without needless zeros behind the point: "1250", "12.5".
export function plain(n, decimals = 0) {
  if (!decimals) return String(n);
  const scale = 10n ** BigInt(decimals), value = BigInt(n), size = value < 0n ? -value : value;
  const rest = String(size % scale).padStart(decimals, "0").replace(/0+$/, "");
  return (value < 0n ? "-" : "") + size / scale + (rest && "." + rest);
}

function digits(n, decimals) {
  const [before, behind] = plain(n, decimals).split(".");
  return commas(before) + (behind ? "." + behind : "");
}

// Half away from zero.
function whole(n, decimals) {
  if (!decimals) return n;
  const scale = 10n ** BigInt(decimals), value = BigInt(n), half = value < 0n ? -scale / 2n : scale / 2n;
  const rounded = (value + half) / scale;
  return typeof n === "bigint" ? rounded : Number(rounded);
}

// For people: "118.9 MiB", "3 pages", "1.250 s", "1,204". `type` has a unit and decimals.
export function brief(n, { unit, decimals = 0, word }) {
  if (unit === "bytes") return iec(whole(n, decimals));
  if (unit === "nanoseconds") return seconds(whole(n, decimals));
  if (word) return `${digits(n, decimals)} ${word}`;
  return digits(n, decimals) + (unit !== "pages" ? "" : String(n) === "1" ? " page" : " pages");
}

// For people and exact: "118.9 MiB (124,675,686 B)", "3 pages (12.0 KiB, 12,288 B)", "1.250 s
// (1,250,000,000 ns)".
export function human(n, type) {
  const { unit, decimals = 0 } = type, text = brief(n, type), short = n > -1024 && n < 1024;
  if (unit === "bytes" && !short) return `${text} (${digits(n, decimals)} B)`;
  if (unit === "nanoseconds" && !short) return `${text} (${digits(n, decimals)} ns)`;
  if (unit !== "pages" || decimals) return text;
  const bytes = BigInt(n) * 4096n;
  return BigInt.asIntN(64, bytes) === bytes ? `${text} (${iec(bytes)}, ${commas(bytes)} B)` : text;
}

export function percent(part, all) {
  return Number(all) === 0 ? "-" : ((100 * Number(part)) / Number(all)).toFixed(1) + " %";
}

// The pages of memory that n bytes take: "30,439 pages of 4 KiB".
export function inPages(n) {
  const pages = typeof n === "bigint" ? (n + 4095n) / 4096n : Math.ceil(n / 4096);
  return `${commas(pages)} ${String(pages) === "1" ? "page" : "pages"} of 4 KiB`;
}
