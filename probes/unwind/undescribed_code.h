// SPDX-License-Identifier: BSD-2-Clause
// Following the code of a file that has no FDEs: from its symbols, its entry point and what these
// call, see followed_code.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/elf/image.h"
#include "probes/unwind/followed_code.h"

namespace memflame::unwind {

struct CodeGap {
  uint64_t start = 0, end = 0;  // virtual addresses
};

// `gaps`: code that is neither described nor recognised, sorted, without overlaps and empty ones.
// `described`: functions with FDEs, whose calls lead into the gaps; they are read only if the file
// has no symbols. `entry`: where the kernel starts the file; 0 for none.
FollowedCode follow_gaps(const ImageBytes& image, const ElfImage& elf,
                         const std::vector<CodeGap>& gaps, const std::vector<CodeGap>& described,
                         uint64_t entry);

}  // namespace memflame::unwind
