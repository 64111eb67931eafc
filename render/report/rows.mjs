// SPDX-License-Identifier: BSD-2-Clause
// The rows of a report, and the other numbers in their block (render/report/report_block.h).
import { Reader } from "../viewer/decode.mjs";

export const never = 0xffff;  // `freed` of what was not freed

const freedOf = (reader, born) => {
  const codes = reader.numbers(Uint16Array, born.length);
  return codes.map((code, i) => (code ? born[i] + code - 1 : never));
};

function numbersFrom(differences) {
  let at = 0;
  return differences.map((difference) => (at += difference));
}

// {edges, seconds, bins, node, born, freed, columns, shapes, lines}. edges: nanoseconds as BigInts;
// seconds: the same as Numbers. Rows lie in columns: row i is of node[i], born in the bin born[i], freed
// in freed[i] or never; columns[type][i] are its figures. facts: the JSON beside the block.
export function decodeRows(tree, facts, bytes) {
  const reader = new Reader(bytes), { about } = tree;
  let edge = 0n;
  const edges = Array.from({ length: reader.need(reader.number()) }, () => (edge += BigInt(reader.number())));
  if (edges.length < 2) throw new Error("the report has no time");
  const figures = (count) => (about.big
    ? reader.column(BigInt64Array, count, () => reader.signedBig())
    : reader.column(Float64Array, count, () => reader.signed()));
  const count = reader.number(), bins = edges.length - 1;
  const node = numbersFrom(reader.numbers(Int32Array, count)), born = reader.numbers(Uint16Array, count);
  const rows = { edges, seconds: Float64Array.from(edges, (ns) => Number(ns) / 1e9), bins, node, born,
                 freed: freedOf(reader, born), columns: about.types.map(() => figures(count)) };
  if (node.some((n) => n >= tree.size) || outside(rows)) throw new Error("a row has no place");
  rows.shapes = decodeShapes(reader, figures);
  if (outside({ ...rows.shapes, bins })) throw new Error("blocks have no time");
  if (reader.number() !== facts.lines.length) throw new Error("lines are missing");
  rows.lines = facts.lines.map((line) => ({ ...line, ...decodePoints(reader) }));
  return rows;
}

const outside = ({ born, freed, bins }) => born.some((bin, i) => bin >= bins || (freed[i] >= bins && freed[i] !== never));

function decodeShapes(reader, figures) {
  const count = reader.number();
  const lifetime = reader.numbers(Uint8Array, count), size = reader.numbers(Uint8Array, count);
  const born = reader.numbers(Uint16Array, count);
  return { lifetime, size, born, freed: freedOf(reader, born), bytes: figures(count), blocks: figures(count) };
}

// times: seconds. values: null where a value is not known.
function decodePoints(reader) {
  const count = reader.number();
  const times = numbersFrom(reader.numbers(Float64Array, count)).map((ns) => ns / 1e9);
  const known = reader.numbers(Uint8Array, count);
  const values = Array.from(reader.column(Float64Array, count, () => reader.signed()), (value, i) => (known[i] ? value : null));
  return { times, values };
}
