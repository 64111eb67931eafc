#include "core/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace memflame {

std::string with_commas(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string iec_bytes(int64_t bytes) {
  constexpr std::array<const char*, 6> suffix{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(bytes);
  if (std::fabs(amount) < 1024) return std::to_string(bytes) + " B";
  size_t step = 0;
  // 1023.95 would print as "1024.0": go on to the next unit as soon as the rounded figure would.
  for (amount /= 1024; std::fabs(amount) >= 1023.95 && step + 1 < suffix.size(); ++step)
    amount /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", amount, suffix[step]);
  return text.data();
}

std::string percent(double part, double whole) {
  if (whole == 0) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * part / whole);
  return text.data();
}

int64_t rounded_up(double error) {
  constexpr double most = 9223372036854774784.0;  // the last double below 2^63
  return static_cast<int64_t>(std::ceil(std::clamp(error, 0.0, most)));
}

std::string human(int64_t value, Unit unit) {
  switch (unit) {
    case Unit::bytes:
      return iec_bytes(value);
    case Unit::pages: {
      int64_t bytes = 0;
      if (__builtin_mul_overflow(value, page_bytes, &bytes))
        bytes = value < 0 ? INT64_MIN : INT64_MAX;  // only a damaged input has so many
      return with_commas(value) + (value == 1 ? " page (" : " pages (") + iec_bytes(bytes) + ")";
    }
    case Unit::count:
    case Unit::variance:
      break;
  }
  return with_commas(value);
}

}  // namespace memflame
