// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/memflame/memflame_facts.h"

#include <algorithm>
#include <cmath>

namespace memflame {
namespace {

double real(const JsonNumber& number) {
  const auto digits = static_cast<double>(number.digits);
  return number.exponent < 0 ? digits / std::pow(10.0, -number.exponent)
                             : digits * std::pow(10.0, number.exponent);
}

// Events are unsigned: a number beyond int64_t becomes the largest one.
uint64_t events(const JsonNumber& number) {
  int64_t value = 0;
  bool rounded = false;
  if (!number.scaled(0, value, rounded)) return UINT64_MAX;
  return static_cast<uint64_t>(std::max<int64_t>(value, 0));
}

}  // namespace

void MemflameFacts::begin(uint8_t place, std::string_view key) {
  if (place == value_type) type_ = {};
  if (place == check) profile_.meta.reconciliation.emplace_back().os.reset();
  if (place == loss) {
    loss_name_ = key;
    loss_ = {};
  }
}

void MemflameFacts::end(uint8_t place) {
  if (place == value_type) {
    if (!profile_.touched().empty() || profile_.types.size() == max_columns)
      source_.fail("its value_types come too late, or are too many");
    profile_.types.push_back(type_);
  }
  for (size_t i = 0; place == loss && i < loss_info.size(); ++i)
    if (loss_info[i].name == loss_name_)
      profile_.losses.add(static_cast<Loss>(i), loss_.events, loss_.bytes);
}

void MemflameFacts::text(uint8_t place, std::string_view key, std::string& text) {
  Meta& meta = profile_.meta;
  if (place == document) {
    if (key == "title") meta.title = text;
    if (key == "command") meta.command = text;
    if (key == "host") meta.host = text;
    if (key == "sampling") meta.sampling = text;
  }
  if (place == value_type && key == "name") type_.name = text;
  if (place == value_type && key == "unit") {
    if (variances_are_columns_ && text == name(Unit::variance))
      type_.unit = Unit::variance;
    else if (!parse_unit(text, type_.unit))
      issues_.add("an unknown unit", 0, text);
  }
  if (place == notes) meta.notes.push_back(text);
  if (place == check && key == "name") meta.reconciliation.back().name = text;
  if (place == check && key == "captured_is") meta.reconciliation.back().captured_is = text;
}

void MemflameFacts::number(uint8_t place, std::string_view key, const JsonNumber& number) {
  if (place == value_type) {
    if (key == "decimals")
      type_.decimals = static_cast<uint8_t>(std::clamp<int64_t>(whole(number), 0, 18));
    if (key == "variance") type_.variance = static_cast<size_t>(whole(number));
    if (key == "varianceUnit") type_.variance_unit = variance_unit(number);
  }
  if (place == document && key == "seconds") {
    profile_.meta.seconds = real(number);
    if (!std::isfinite(profile_.meta.seconds)) source_.fail("its seconds are not a finite number");
  }
  if (place == loss && key == "bytes") loss_.bytes = whole(number);
  if (place == loss && key == "events") loss_.events = events(number);
  if (place == check && key == "captured")
    profile_.meta.reconciliation.back().captured = whole(number);
  if (place == check && key == "os") profile_.meta.reconciliation.back().os = whole(number);
}

double MemflameFacts::variance_unit(const JsonNumber& number) const {
  // Within these limits products with any variance and with the square of any --factor are finite.
  constexpr double least = 1e-100, most = 1e100;
  const double unit = real(number);
  if (!(unit >= least && unit <= most)) source_.fail("its columns of errors are damaged");
  return unit;
}

int64_t MemflameFacts::whole(const JsonNumber& number, int decimals) const {
  int64_t value = 0;
  bool rounded = false;
  if (!number.scaled(decimals, value, rounded))
    source_.fail("a number leaves the range of 64 bits");
  return value;
}

}  // namespace memflame
