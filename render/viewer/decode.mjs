// SPDX-License-Identifier: BSD-2-Clause
// The data block of a picture: base64 of a gzip stream of columns of LEB128 numbers, as
// render/picture/data_block.h writes them.
import { Lines } from "./lines.mjs";
import { Tree } from "./tree.mjs";

export class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.letters = new TextDecoder("latin1").decode(bytes);
    this.at = 0;
  }

  // A number takes at least one byte, so a wrong count cannot make us reserve gigabytes.
  need(count) {
    if (!(count <= this.bytes.length - this.at)) throw new Error("the data end too early");
    return count;
  }

  // Up to 2^53; `value` and `scale` come from bytes that were read before.
  number(value = 0, scale = 1) {
    for (;; scale *= 128) {
      this.need(1);
      const part = this.bytes[this.at++];
      value += (part & 127) * scale;
      if (part < 128) return value;
    }
  }

  // Zigzag: 0, -1, 1, -2, … The lowest bit is read as the sign: as a part of the number it would
  // need one bit more than a Number has.
  signed() {
    this.need(1);
    const part = this.bytes[this.at++], low = (part & 126) / 2;
    const size = part < 128 ? low : this.number(low, 64);
    return part & 1 ? -size - 1 : size;
  }

  signedBig() {
    let value = 0n, shift = 0n, part;
    do {
      this.need(1);
      part = this.bytes[this.at++];
      value |= BigInt(part & 127) << shift;
      shift += 7n;
    } while (part & 128);
    return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
  }

  column(Type, count, next) {
    const out = new Type(this.need(count));
    for (let i = 0; i < count; ++i) out[i] = next();
    return out;
  }

  // Most numbers are one byte.
  numbers(Type, count) {
    const out = new Type(this.need(count)), { bytes } = this;
    for (let i = 0; i < count; ++i) {
      const part = bytes[this.at];
      if (part < 128) {
        out[i] = part;
        ++this.at;
      } else {
        out[i] = this.number();
      }
    }
    return out;
  }

  text() {
    const size = this.need(this.number()), begin = this.at, plain = this.letters.slice(begin, begin + size);
    this.at += size;
    if (!beyondAscii.test(plain)) return plain;  // a piece of what is decoded already: ten times as fast
    return utf8.decode(this.bytes.subarray(begin, this.at)).replace(unreadable, "\ufffd");
  }
}
const utf8 = new TextDecoder(), beyondAscii = /[^ -~]/;
// As in clean_text.h: control characters, non-characters, marks that turn the writing direction.
const unreadable = /[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\p{NChar}]/gu;

// about: the JSON beside the data; bytes: the data, inflated.
export function decodeTree(about, bytes) {
  const reader = new Reader(bytes);
  const strings = Array.from({ length: reader.need(reader.number()) }, () => reader.text());
  const names = (count) => Array.from(reader.numbers(Int32Array, count), (i) => strings[i] ?? "");
  const count = reader.number();
  const frames = {
    name: names(count), module: names(count), kind: reader.numbers(Uint8Array, count),
    colour: reader.numbers(Uint32Array, count),
  };
  const size = reader.number();
  if (size === 0) throw new Error("there is no tree in the data");
  const up = reader.numbers(Int32Array, size - 1);
  const frame = reader.numbers(Int32Array, size);
  for (let n = 0; n < size; ++n) if (n > 0 && frame[n] >>> 0 >= count) throw new Error("a frame is missing");
  const merged = about.merged ? reader.numbers(Int32Array, size) : null;
  const figures = (length) => (about.big
    ? reader.column(BigInt64Array, length, () => reader.signedBig())
    : reader.column(Float64Array, length, () => reader.signed()));
  const own = about.types.map(() => figures(size));
  const beyond = Array.from({ length: reader.need(about.functions || 0) }, () => figures(count));
  const inner = about.blame && beyond.length ? Uint8Array.from(beyond.pop(), Number) : null;
  return new Tree({ about, frames, up, frame, own, merged, beyond: beyond.length ? beyond : null, inner });
}

// Where lists with the lengths `counts` begin, and where the last one ends.
function firstOf(counts, begin) {
  const first = new Int32Array(counts.length + 1).fill(begin);
  counts.forEach((count, i) => { first[i + 1] = first[i] + count; });
  return first;
}

// The block of source lines; bytes: inflated.
export function decodeLines(tree, bytes) {
  const reader = new Reader(bytes), { about, frame, size } = tree;
  const strings = Array.from({ length: reader.need(reader.number()) }, () => reader.text());
  const count = reader.number();
  const file = ["", ...Array.from(reader.numbers(Int32Array, count), (i) => strings[i] ?? "")];
  const line = [0, ...reader.numbers(Uint32Array, count)];
  const ofFrame = reader.numbers(Int32Array, tree.frames.name.length), ofNode = new Int32Array(size);
  for (let n = 1; n < size; ++n) if (ofFrame[frame[n]] > 1) ofNode[n] = reader.number();
  const frameFirst = firstOf(ofFrame, 0), nodeFirst = firstOf(ofNode, frameFirst.at(-1)), end = nodeFirst.at(-1);
  const places = reader.numbers(Int32Array, end);
  if (places.some((place) => place >>> 0 >= file.length)) throw new Error("a source line is missing");
  // The place with most of each list, at the index of the list's first entry.
  const most = about.types.map(() => new Int32Array(end));
  for (const column of most)
    for (const first of [frameFirst, nodeFirst])
      for (let n = 0; n + 1 < first.length; ++n)
        if (first[n + 1] - first[n] > 1) column[first[n]] = places[first[n] + reader.number()];
  return new Lines({ tree, file, line, frameFirst, nodeFirst, places, most });
}

export async function inflate(base64) {
  const text = atob(base64.replace(/\s+/g, "")), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
