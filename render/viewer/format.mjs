// Figures as core/units.h writes them. A figure is a Number, or a BigInt where the profile's sums
// leave 2^53; those with a fraction are whole numbers of 10^-decimals.

export const commas = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

const steps = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

// 124675686 -> "118.9 MiB"
export function iec(n) {
  let amount = Math.abs(Number(n)), step = 0;
  if (amount < 1024) return n + " B";
  for (amount /= 1024; amount >= 1023.95 && step < 5; ++step) amount /= 1024;
  return `${n < 0 ? "-" : ""}${amount.toFixed(1)} ${steps[step]}`;
}

function bytes(n) {
  return n < 1024 && n > -1024 ? n + " B" : `${iec(n)} (${commas(n)} B)`;
}

function seconds(n) {
  const units = ["ns", "µs", "ms", "s"];
  let amount = Number(n), step = 0;
  for (; Math.abs(amount) >= 999.9995 && step < 3; ++step) amount /= 1000;
  return (step ? amount.toFixed(3) : n) + " " + units[step];
}

// The digits of a figure with `decimals`, without needless zeros.
function fraction(n, decimals) {
  const scale = 10n ** BigInt(decimals), value = BigInt(n), size = value < 0n ? -value : value;
  const rest = String(size % scale).padStart(decimals, "0").replace(/0+$/, "");
  return (value < 0n ? "-" : "") + commas(size / scale) + (rest && "." + rest);
}

function whole(n, decimals) {
  if (!decimals) return n;
  const value = BigInt(n) / 10n ** BigInt(decimals);
  return typeof n === "bigint" ? value : Number(value);
}

// "118.9 MiB (124,675,686 B)", "3 pages", "1.250 s", "1,204"; `type` has a unit and decimals.
export function human(n, type) {
  const { unit, decimals = 0 } = type;
  if (unit === "bytes") return bytes(whole(n, decimals));
  if (unit === "nanoseconds") return seconds(whole(n, decimals));
  const digits = decimals ? fraction(n, decimals) : commas(n);
  return digits + (unit !== "pages" ? "" : digits === "1" ? " page" : " pages");
}

// The same in few letters, for a box: "118.9 MiB".
export function brief(n, type) {
  return type.unit === "bytes" ? iec(whole(n, type.decimals || 0)) : human(n, type);
}

export function percent(part, whole) {
  const all = Number(whole);
  return all === 0 ? "-" : ((100 * Number(part)) / all).toFixed(1) + " %";
}

// How many pages of memory that many bytes are: "30,439 pages".
export function inPages(n) {
  const pages = typeof n === "bigint" ? (n + 4095n) / 4096n : Math.ceil(n / 4096);
  return `${commas(pages)} ${String(pages) === "1" ? "page" : "pages"} of 4 KiB`;
}
