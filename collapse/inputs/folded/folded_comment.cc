// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/folded_comment.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/folded.h"
#include "core/units.h"

namespace memflame {
namespace {

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// A text in quotes, with \" and \\ in it; `text` then starts after it.
std::optional<std::string> unquote(std::string_view& text) {
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] == '\\' && ++i == text.size()) break;
    value += text[i];
  }
  return std::nullopt;
}

}  // namespace

// `word key=value key="text"`: the first may be a word without a value.
struct FoldedComments::Fields {
  std::vector<std::pair<std::string, std::string>> all;
  bool good = true;

  explicit Fields(std::string_view text) {
    while (good && !text.empty()) {
      const size_t end = text.find_first_of(" =");
      std::string key(text.substr(0, end));
      text.remove_prefix(std::min(end, text.size()));
      std::optional<std::string> value = "";
      if (text.starts_with("=")) {
        text.remove_prefix(1);
        value = text.starts_with('"') ? unquote(text) : bare(text);
      }
      good = value && !key.empty() && (text.empty() || text.starts_with(' '));
      if (!good) return;
      all.emplace_back(std::move(key), std::move(*value));
      text.remove_prefix(text.empty() ? 0 : 1);
    }
    good = good && !all.empty();
  }

  static std::string bare(std::string_view& text) {
    std::string value(text.substr(0, text.find(' ')));
    text.remove_prefix(value.size());
    return value;
  }

  std::string_view operator[](std::string_view key) const {
    for (const auto& [name, value] : all)
      if (name == key) return value;
    return {};
  }
};

bool FoldedComments::take(std::string_view line) {
  const Fields fields(line.substr(folded_comment.size()));
  if (!fields.good) return false;
  const auto& [word, value] = fields.all.front();
  if (word == "folded") return begin_text(fields);
  if (word == "loss") {
    LossCount count;
    if (!parse(fields["events"], count.events) || !parse(fields["bytes"], count.bytes))
      return false;
    for (size_t i = 0; i < loss_info.size(); ++i) {
      if (loss_info[i].name != fields["name"]) continue;
      losses_.add(static_cast<Loss>(i), count.events, count.bytes);
      return true;
    }
    return false;
  }
  if (word == "reconciliation") {
    Reconciliation row{.name = std::string(fields["name"]),
                       .captured_is = std::string(fields["captured_is"])};
    if (!parse(fields["captured"], row.captured) || !parse(fields["os"], row.os.emplace()))
      return false;
    meta_.reconciliation.push_back(row);
    return true;
  }
  return take_field(word, value);
}

namespace {

// "live:bytes,live-count:count"; a column without a unit gets the unit its name implies, or the
// text's.
bool parse_columns(std::string_view list, Unit unit, std::vector<ValueType>& types) {
  while (true) {
    const std::string_view column = list.substr(0, list.find(','));
    const size_t colon = column.rfind(':');
    ValueType type{std::string(column.substr(0, colon)), unit};
    if (colon == std::string_view::npos)
      static_cast<void>(parse_unit(column, type.unit));
    else if (!parse_unit(column.substr(colon + 1), type.unit))
      return false;
    const auto same = [&](const ValueType& other) { return other.name == type.name; };
    if (type.name.empty() || types.size() == max_columns ||
        std::any_of(types.begin(), types.end(), same))
      return false;
    types.push_back(std::move(type));
    if (column.size() == list.size()) return true;
    list.remove_prefix(column.size() + 1);
  }
}

std::string text_of(const std::vector<ValueType>& types) {
  std::string text;
  for (const ValueType& type : types)
    text += (text.empty() ? "" : ", ") + type.name + " (" + std::string(name(type.unit)) + ")";
  return text;
}

std::string grouped(int64_t value, uint8_t decimals) {
  return human(value, {"", Unit::count, no_column, 1, decimals});
}

// Gives both numbers the unit of the one with more decimals.
void align(Decimal& a, Decimal& b) {
  for (Decimal* number : {&a, &b})
    for (const uint8_t decimals = std::max(a.decimals, b.decimals); number->decimals < decimals;
         ++number->decimals)
      if (__builtin_mul_overflow(number->digits, 10, &number->digits))
        throw Error("the totals of these texts leave the range of 64 bits");
}

}  // namespace

bool FoldedComments::begin_text(const Fields& fields) {
  ValueType type{std::string(fields["value"]), Unit::count};
  Decimal total;
  const bool has_total = !fields["total"].empty();
  if (type.name.empty() || !parse_unit(fields["unit"], type.unit) ||
      (has_total && !parse_decimal(fields["total"], total)))
    return false;
  std::vector<ValueType> types;
  if (fields["columns"].empty())
    types = {type};
  else if (!parse_columns(fields["columns"], type.unit, types))
    return false;
  const auto shown = std::find(types.begin(), types.end(), type);
  if (shown == types.end()) return false;
  if (!types_.empty() && types_ != types)
    throw Error("texts of " + text_of(types_) + " and " + text_of(types) +
                " do not add up; collapse them one by one");
  align(total_, total);
  if (__builtin_add_overflow(total_.digits, total.digits, &total_.digits))
    throw Error("the totals of these texts leave the range of 64 bits");
  total_is_known_ = total_is_known_ && has_total;
  // The combined duration of two runs means nothing, so it is not kept.
  if (++texts_ > 1) meta_.seconds = 0;
  shown_ = static_cast<size_t>(shown - types.begin());
  types_ = std::move(types);
  return true;
}

bool FoldedComments::take_field(std::string_view key, std::string value) {
  double seconds = 0;
  if (key == "title") {
    join(meta_.title, value);
  } else if (key == "command") {
    join(meta_.command, value);
  } else if (key == "host") {
    join(meta_.host, value);
  } else if (key == "sampling") {
    join(meta_.sampling, value);
  } else if (key == "seconds") {
    if (!parse(value, seconds) || !std::isfinite(seconds)) return false;
    if (texts_ < 2) meta_.seconds = seconds;
  } else if (key == "roots") {
    roots_are_processes_ = value == "process";
  } else if (key == "note") {
    meta_.notes.push_back(std::move(value));
  } else {
    return false;
  }
  return true;
}

void FoldedComments::finish(Profile& profile) {
  profile.losses.add(losses_);
  meta_.notes.insert(meta_.notes.end(), profile.meta.notes.begin(), profile.meta.notes.end());
  profile.meta = std::move(meta_);
  if (!any() || !total_is_known_) return;
  const uint8_t decimals = profile.types[profile.shown].decimals;
  Decimal total{profile.total(profile.shown), decimals};
  Decimal expected = total_;
  align(total, expected);
  if (total.digits != expected.digits)
    profile.meta.notes.push_back("the lines add up to " +
                                 grouped(profile.total(profile.shown), decimals) + ", not to the " +
                                 grouped(total_.digits, total_.decimals) +
                                 " of their header: lines were added or taken away");
}

}  // namespace memflame
