// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/durations.h"

#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <system_error>

#include "collapse/select/literals.h"
#include "core/error.h"

namespace memflame {

std::optional<uint64_t> parse_nanoseconds_of_run(std::string_view text) {
  constexpr double most_seconds = 1e9;
  if (const std::optional<uint64_t> exact = parse_nanoseconds(text)) return exact;
  const std::optional<double> seconds = parse_duration(text);
  if (!seconds || *seconds > most_seconds) return std::nullopt;
  return static_cast<uint64_t>(std::llround(*seconds * 1e9));
}

TimeStretch parse_stretch(const std::string& text) {
  const auto refuse = [&] {
    throw Error("--between '" + text +
                    "': expected two times since the run began, like 90..5m or 1h..2h; either may "
                    "be left out",
                ExitCode::usage);
  };
  const size_t dots = text.find("..");
  if (dots == std::string::npos) refuse();
  const auto side = [&](std::string_view time) {
    if (time.empty()) return std::optional<uint64_t>{};
    const std::optional<uint64_t> ns = parse_nanoseconds_of_run(time);
    if (!ns) refuse();
    return ns;
  };
  const std::string_view whole = text;
  const TimeStretch stretch{side(whole.substr(0, dots)), side(whole.substr(dots + 2))};
  if (stretch.until_ns && stretch.from_ns.value_or(0) > *stretch.until_ns) refuse();
  return stretch;
}

std::string clock_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  return text.data();
}

uint64_t parse_bytes(const std::string& option, const std::string& text) {
  const std::optional<uint64_t> bytes = byte_count(text);
  if (!bytes)
    throw Error(option + " " + text + ": expected a number of bytes, like 4096, 512K, 1.5M or 2GiB",
                ExitCode::usage);
  return *bytes;
}

}  // namespace memflame
