// SPDX-License-Identifier: BSD-2-Clause
// What `heaptrack --raw` wrote, as a recording with events: everything that reads recordings reads
// it then.
//
// A raw file says for each block when it came, with which stack, and when it went. It does not say
// which thread did it, nor that a realloc is one: that is a free and an allocation. heaptrack looks
// at the clock every 10 ms. Events between two such times keep their order, one nanosecond apart.
#pragma once

#include <memory>
#include <string_view>

#include "collapse/history/file.h"
#include "collapse/source/source.h"

namespace memflame {

// Whether an input with this beginning is a file of heaptrack, and one that heaptrack_interpret has
// not processed yet.
bool is_heaptrack_raw(std::string_view head);

struct HeaptrackRawOptions {
  bool files = true;  // the files it names may be opened, to compare them with what was recorded
  bool refuse_truncated = false;  // a last line that is cut off: refuse it, or leave it out
};

// Writes the recording of a raw file. It has no names: whoever reads it looks them up. Throws Error
// if there is no allocation in it, if it is of another version, or if numbers leave their range.
// Lines that are not understood are counted in its losses.
void record_heaptrack(Source& source, std::unique_ptr<HistoryFile> file,
                      const HeaptrackRawOptions& options = {});

}  // namespace memflame
