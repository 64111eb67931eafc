// SPDX-License-Identifier: BSD-2-Clause
// The tree in a picture as its script reads it (viewer/decode.mjs) and as `collapse` reads it back
// (collapse/inputs/memflame/memflame_html.cc).
//
// A picture has a JSON object with the facts about the profile (title to losses as in
// outputs/json.cc, but without empty ones), and a block of data: base64 of a gzip stream of LEB128
// numbers, figures in zigzag form:
//   strings: count, then for each its size and bytes (as the profile has them)
//   frames, in order of their names: count, then columns: name, module, kind, colour (0xRRGGBB)
//   nodes, depth-first, the root first: count, then columns:
//     for all but the root: how many levels it is above a callee of the node before
//     frame, as an index into frames (0 for the root)
//     how many frames are merged in the node (only if the JSON has "merged": 1)
//     for each type of figures: the node's own
//   figures by function (only if the JSON has "functions", the number of their columns): what
//     functions have beyond the nodes (FunctionFigures::beyond), one column after the other, each
//     with a number for each frame; the number of the last frame, merged boxes, is for functions
//     that are left out
//   what frames are that may be passed over (only if the JSON has "blame"; it counts as one of the
//     columns before): 0 other, 1 allocator, 2 container (core/inner_frame.h)
//
// With "runtime", the JSON names frames by their index: "native", the box [native], and "scripts",
// those of languages with an interpreter, what lies between two of them can be folded; "shown" says
// that it is not at first.
//
// If any frame has a source line, a second block of the same form has the lines:
//   strings: as above
//   places: count, then columns: file, line (0: unknown). Place 0 is none and not in the list
//   places of functions: how many each frame has, 0 if no line of it is known
//   places of nodes whose function has several: how many; other nodes have their function's
//   the lists of these places, those of functions first
//   for each type of figures, for each list of several: which entry has most of them, from 0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/profile.h"
#include "render/picture/blame.h"
#include "render/picture/frame_tree.h"
#include "render/picture/function_figures.h"
#include "render/picture/layout.h"
#include "render/picture/palette.h"
#include "render/text/clean_text.h"

namespace memflame {

// Depth-first.
struct DataNodes {
  std::vector<FrameId> frame;  // none for the root and for merged boxes
  std::vector<uint32_t> depth;
  std::vector<uint32_t> merged;  // empty: none is
  std::vector<int64_t> own;      // rows of figures
  size_t columns = 0;
  std::optional<FunctionFigures> functions{};  // where nodes are merged
  NodeLines lines{};                           // by node
  NodeLines function_lines{};                  // by FrameId::index, over all nodes of the profile
  std::vector<uint32_t> marked{};              // the node of each of Profile::marks; 0: none
  std::vector<InnerFrame> inner{};             // by FrameId::index; empty: none is passed over
  FrameId native{};                            // FoldedRuntime::native()
  size_t size() const { return frame.size(); }
};
DataNodes data_nodes(FrameTree tree, const Profile& profile);
// layout: of the tree.
DataNodes data_nodes(const Layout& layout, const FrameTree& tree, const Profile& profile);

struct DataSource {
  const Profile& profile;
  const RenderOptions& options;
  const Palette& palette;
  const CleanStrings& names;
};

// JSON without "<", ">" and "&": fit for a script element and for XML text.
std::string about_json(const DataSource& source, const DataNodes& nodes);

// Appends base64 in lines.
void append_data(std::string& out, const DataSource& source, const DataNodes& nodes);
// The block of source lines; nothing when no frame has one.
void append_lines(std::string& out, const DataSource& source, const DataNodes& nodes);

}  // namespace memflame
