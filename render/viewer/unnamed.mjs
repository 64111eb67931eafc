// SPDX-License-Identifier: BSD-2-Clause
// Functions without a symbol: they can be left out of a picture.
import { commas } from "./format.mjs";

const withoutSymbol = 4;  // FrameKind::unknown of core/stack.h

export const unnamedIn = (tree) =>
  (tree.unnamed ??= Array.from(tree.frames.kind.keys()).filter((frame) => tree.frames.kind[frame] === withoutSymbol));

// "3 functions without a symbol hidden", or "".
export function unnamedWords(tree, unknown) {
  const count = unknown ? unnamedIn(tree).length : 0;
  return count ? `${commas(count)} ${count === 1 ? "function" : "functions"} without a symbol hidden` : "";
}
