// The data block of a picture: base64 of a gzip stream of columns of LEB128 numbers, as
// render/tree_columns.h writes them.
import { Tree } from "./tree.mjs";

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  byte() {
    if (this.at >= this.bytes.length) throw new Error("the data end too early");
    return this.bytes[this.at++];
  }

  // Up to 2^53.
  number() {
    let value = 0, scale = 1, part;
    do {
      part = this.byte();
      value += (part & 127) * scale;
      scale *= 128;
    } while (part & 128);
    return value;
  }

  // Zigzag: 0, -1, 1, -2, …
  signed() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  signedBig() {
    let value = 0n, shift = 0n, part;
    do {
      part = this.byte();
      value |= BigInt(part & 127) << shift;
      shift += 7n;
    } while (part & 128);
    return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
  }

  numbers(Type, count) {
    // A number takes a byte at least: a wrong count is no reason to reserve gigabytes.
    if (count > this.bytes.length - this.at) throw new Error("the data end too early");
    const out = new Type(count);
    for (let i = 0; i < count; ++i) out[i] = this.number();
    return out;
  }

  text() {
    const size = this.number();
    const text = utf8.decode(this.bytes.subarray(this.at, this.at + size));
    this.at += size;
    return text;
  }
}
const utf8 = new TextDecoder();

// about: the JSON beside the data; bytes: the data, inflated.
export function decodeTree(about, bytes) {
  const reader = new Reader(bytes);
  const strings = Array.from({ length: reader.number() }, () => reader.text());
  const names = (count) => Array.from(reader.numbers(Int32Array, count), (i) => strings[i] ?? "");
  const count = reader.number();
  const frames = {
    name: names(count), module: names(count), kind: reader.numbers(Uint8Array, count),
    colour: reader.numbers(Uint32Array, count),
  };
  const size = reader.number();
  const up = reader.numbers(Int32Array, size - 1);
  const frame = reader.numbers(Int32Array, size);
  for (let n = 0; n < size; ++n) if (frame[n] >= count) throw new Error("a frame is missing");
  const merged = about.merged ? reader.numbers(Int32Array, size) : null;
  const own = about.types.map(() => {
    const column = about.big ? new BigInt64Array(size) : new Float64Array(size);
    for (let n = 0; n < size; ++n) column[n] = about.big ? reader.signedBig() : reader.signed();
    return column;
  });
  return new Tree({ about, frames, up, frame, own, merged });
}

export async function inflate(base64) {
  const text = atob(base64.replace(/\s+/g, "")), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
