// SPDX-License-Identifier: BSD-2-Clause
#include "core/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <system_error>

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
  // 1023.95 would print as "1024.0": use the next unit as soon as the rounded number would.
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

namespace {

// 1250000 -> "1.250 ms"; nanoseconds have no decimals.
std::string seconds(int64_t nanoseconds) {
  constexpr std::array<const char*, 4> suffix{"ns", "µs", "ms", "s"};
  double amount = static_cast<double>(nanoseconds);
  size_t step = 0;
  for (; std::fabs(amount) >= 999.9995 && step + 1 < suffix.size(); ++step) amount /= 1000;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), step == 0 ? "%.0f %s" : "%.3f %s", amount, suffix[step]);
  return text.data();
}

}  // namespace

std::string in_words(const Reconciliation& row) {
  if (!row.os) return row.name + " is not known";
  if (!row.captured_is.empty())
    return row.captured_is + " " + iec_bytes(row.captured) + ", " + row.name + " " +
           iec_bytes(*row.os) + ": they need not agree";
  return "captured " + iec_bytes(row.captured) + " of " + iec_bytes(*row.os) + " " + row.name +
         " (" + percent(static_cast<double>(row.captured), static_cast<double>(*row.os)) + ")";
}

std::string have_cut_stacks(uint64_t events) {
  return events == 1 ? " event has a cut stack" : " events have a cut stack";
}

int64_t whole(int64_t value, uint8_t decimals) {
  for (; decimals > 1; --decimals) value /= 10;
  return decimals == 0 ? value : value / 10 + (value % 10) / 5;
}

std::string plain(int64_t value, uint8_t decimals) {
  std::string digits = std::to_string(value);
  if (decimals == 0) return digits;
  const size_t sign = value < 0 ? 1 : 0;
  if (digits.size() < sign + decimals + 1)
    digits.insert(sign, sign + decimals + 1 - digits.size(), '0');
  return digits.insert(digits.size() - decimals, 1, '.');
}

std::optional<uint64_t> byte_count(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  constexpr std::string_view prefixes = "KMGT";
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const size_t power = prefixes.find(static_cast<char>(unit[0] & ~0x20));
    const std::string_view rest = unit.substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB"))
      return std::nullopt;
    factor = std::ldexp(1.0, static_cast<int>(power + 1) * 10);
  }
  const double bytes = number * factor;
  if (!(bytes >= 0) || bytes >= std::ldexp(1.0, 63)) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

std::optional<double> seconds_of_unit(char letter) {
  switch (letter) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86400;
    default:
      return std::nullopt;
  }
}

std::optional<double> parse_duration(std::string_view text) {
  double seconds = 0, last_unit = INFINITY;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{} || !(number >= 0) || !std::isfinite(number)) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    std::optional<double> unit = 1;
    if (!text.empty()) {
      unit = seconds_of_unit(text.front());
      text.remove_prefix(1);
    } else if (std::isfinite(last_unit)) {
      return std::nullopt;  // "1m30": seconds or hours?
    }
    // "30s1m" is more likely a mistake than a wish.
    if (!unit || *unit >= last_unit) return std::nullopt;
    last_unit = *unit;
    seconds += number * *unit;
  }
  return seconds;
}

std::string human(int64_t exact, const ValueType& type) {
  const int64_t value = whole(exact, type.decimals);
  switch (type.unit) {
    case Unit::bytes:
      return iec_bytes(value);
    case Unit::nanoseconds:
      return seconds(value);
    case Unit::pages: {
      int64_t bytes = 0;
      if (__builtin_mul_overflow(value, page_bytes, &bytes))
        bytes = value < 0 ? INT64_MIN : INT64_MAX;  // only a damaged input has that many
      return with_commas(value) + (value == 1 ? " page (" : " pages (") + iec_bytes(bytes) + ")";
    }
    case Unit::count:
    case Unit::variance:
      break;
  }
  if (type.decimals == 0) return with_commas(value);
  std::string fraction = plain(exact, type.decimals);
  fraction.erase(0, fraction.find('.'));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  const bool negative = exact < 0;
  for (uint8_t i = 0; i < type.decimals; ++i) exact /= 10;
  return (negative && exact == 0 ? "-0" : with_commas(exact)) + (fraction == "." ? "" : fraction);
}

}  // namespace memflame
