// SPDX-License-Identifier: BSD-2-Clause
// Frame sections of watched programs. A byte after the section chooses its kind.
#include <cstdlib>

#include "probes/unwind/eh_frame.h"
#include "probes/unwind/table.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): a program of its own
using namespace memflame::unwind;  // NOLINT(google-build-using-namespace): a program of its own

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t kind = data[size - 1];
  FrameSection section{std::as_bytes(std::span(data, size - 1)), 0x400000};
  section.debug = kind & 1;
  section.ends_at_zero = kind & 2;
  if (kind & 4) section.text = 0x500000;
  if (kind & 8) section.data = 0x600000;
  Frames frames;
  read_frames(section, frames);
  std::vector<row> rows;
  for (const Fde& fde : frames.fdes) {
    if (!fde_rows(frames, fde, rows)) continue;
    for (size_t i = 0; i < rows.size(); ++i) {
      const bool sorted = i == 0 ? rows[i].pc == 0 : rows[i - 1].pc < rows[i].pc;
      if (!sorted || !is_kind(rows[i].kind) || (fde.size > 0 && rows[i].pc >= fde.size))
        std::abort();
    }
  }
  return 0;
}
