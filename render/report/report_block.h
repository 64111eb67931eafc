// SPDX-License-Identifier: BSD-2-Clause
// The block of data of a report's page beside that of its tree (render/picture/data_block.h):
// base64 of a gzip stream of LEB128 numbers, signed ones in zigzag form, read by rows.mjs.
//
//   edges: count, then the difference of each to the one before, in nanoseconds
//   rows, by node, then born, then freed: count, then columns:
//     node of the tree: difference to the row before
//     born: bin
//     freed: 0: never; else 1 + how many bins after `born`
//     for each column of the profile: signed
//   shapes: count, then columns: lifetime, size, born, freed (as above), bytes, blocks; the last
//   two
//     are signed
//   lines: count, then for each: count of points, then columns:
//     time in nanoseconds: difference to the point before
//     1 if the value is known, else 0
//     value, signed; 0 if it is not known
//
// Stacks that differ by source lines are nodes of their own, so that boxes can be lines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/report.h"
#include "render/picture/frame_tree.h"

namespace memflame {

// Throws Error if the report's rows do not fit together.
void check_report(const Report& report);

// The report's profile with values that are the sums of the sizes of all rows, so that each stack
// with a row is a node of its tree, and no sum of some rows is larger than that of all. Throws
// Error if they do not fit in 64 bits.
Profile profile_of_sizes(const Report& report);

// Own figures of the tree: the sums of rows.
void set_sums(FrameTree& tree, const Report& report);

// The block before it is packed.
std::string report_block(const Report& report, std::span<const uint32_t> node_of_stack);

}  // namespace memflame
