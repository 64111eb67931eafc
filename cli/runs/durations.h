// SPDX-License-Identifier: BSD-2-Clause
// Lengths of time and numbers of bytes as users type them, and the time of day.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace memflame {

// A length of time (parse_duration()) as whole nanoseconds, and with ms, us and ns. Exact for
// numbers of up to 15 digits, so that a time which an output prints is the time that it means;
// others are rounded. At most 10^9 s.
std::optional<uint64_t> parse_nanoseconds_of_run(std::string_view text);

// "90..5m": a stretch of a recording, in nanoseconds since it began. Either side may be left out.
struct TimeStretch {
  std::optional<uint64_t> from_ns, until_ns;
};
// Throws Error(usage) in the name of --between.
TimeStretch parse_stretch(const std::string& text);

// "512K", "1.5MiB", "4096": bytes. Throws Error(usage) with the option's name.
uint64_t parse_bytes(const std::string& option, const std::string& text);

// The local time of day now: "17:05:09".
std::string clock_text();

}  // namespace memflame
