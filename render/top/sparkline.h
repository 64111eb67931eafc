// SPDX-License-Identifier: BSD-2-Clause
// A line of small bars, one letter each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace memflame {

// `width` bars for at most `most` values, of which the latest is on the right; blanks are for
// values that are missing. Bars begin at 0, and the largest value has the highest one. Where
// several values share a bar, it shows the largest. Without `utf8`, denser letters are larger
// values.
std::string sparkline(std::span<const int64_t> values, size_t most, size_t width, bool utf8);

}  // namespace memflame
