// SPDX-License-Identifier: BSD-2-Clause
// What bytehound recorded, as a recording with events: everything that reads recordings reads it
// then.
//
// A recording of bytehound says for each block when it came, with which stack and thread, and when
// it was reallocated and freed. It has copies of the files that code was mapped from, which names
// are taken from.
#pragma once

#include <memory>
#include <string_view>

#include "collapse/history/file.h"
#include "collapse/source/source.h"

namespace memflame {

// Whether the events of an input with this beginning are those of bytehound; Source has unpacked
// their blocks.
bool is_bytehound(std::string_view head);

struct BytehoundOptions {
  bool files = true;              // look for names
  bool refuse_truncated = false;  // a last event that is cut off: refuse it, or leave it out
};

// Writes the recording, with names. Throws Error if there is no allocation in it, if numbers leave
// their range, or if it is not what bytehound's library writes. Events that are not understood are
// counted in its losses.
void record_bytehound(Source& source, std::unique_ptr<HistoryFile> file,
                      const BytehoundOptions& options = {});

}  // namespace memflame
