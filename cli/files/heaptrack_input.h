// SPDX-License-Identifier: BSD-2-Clause
// Opens inputs. A raw file of heaptrack, or a recording of bytehound, becomes the recording with
// events that it is: a temporary file, which goes with the Source.
#pragma once

#include <string>

#include "collapse/inputs/heap/heaptrack_raw.h"
#include "collapse/source/source.h"

namespace memflame {

// Whether an input with this beginning is a raw file of heaptrack or a recording of bytehound.
bool is_recorded_elsewhere(std::string_view head);

// Any input; "-" is standard input. Throws Error if it cannot be read.
Source open_input(const std::string& path, const HeaptrackRawOptions& options = {});

// For commands that take recordings only. Throws Error, with the reason, for other files of
// heaptrack.
Source open_recording(const std::string& path);

// Why a file that heaptrack_interpret has written has no single blocks, and what to do.
extern const std::string_view heaptrack_has_sums;

}  // namespace memflame
