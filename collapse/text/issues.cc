// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/text/issues.h"

#include <algorithm>

#include "core/units.h"

namespace memflame {
namespace {

constexpr std::string_view tells = " not understood (";

}  // namespace

bool tells_of_issue(std::string_view note) { return note.find(tells) != std::string_view::npos; }

bool tells_of_cut(std::string_view note) {
  const auto has = [&](std::string_view text) { return note.find(text) != std::string_view::npos; };
  return has("ends in the middle") || has("the last stack has no end");
}

Issues::Kind& Issues::kind(std::string_view why) {
  const auto same = [&](const Kind& kind) { return kind.why == why; };
  const auto at = std::find_if(kinds_.begin(), kinds_.end(), same);
  return at != kinds_.end() ? *at : kinds_.emplace_back(Kind{std::string(why), 0, 0, {}});
}

void Issues::add(std::string_view why, size_t line, std::string_view text) {
  Kind& known = kind(why);
  if (known.count++ != 0) return;
  constexpr size_t excerpt = 60;
  known.first_line = line;
  known.excerpt = std::string(text.substr(0, excerpt)) + (text.size() > excerpt ? "…" : "");
}

void Issues::add(const Issues& later, size_t lines_before) {
  for (const Kind& other : later.kinds_) {
    Kind& known = kind(other.why);
    if (known.count == 0) {
      known.first_line = other.first_line == 0 ? 0 : other.first_line + lines_before;
      known.excerpt = other.excerpt;
    }
    known.count += other.count;
  }
}

std::vector<std::string> Issues::texts() const {
  std::vector<std::string> texts;
  for (const Kind& kind : kinds_) {
    // Formats without lines have records, samples, objects.
    const std::string what = kind.first_line != 0 ? " line" : " record";
    std::string text = with_commas(static_cast<int64_t>(kind.count)) + what +
                       (kind.count == 1 ? "" : "s") + std::string(tells) + kind.why + ")";
    if (kind.first_line != 0)
      text +=
          (kind.count == 1 ? ": line " : ", the first is line ") + std::to_string(kind.first_line);
    texts.push_back(text + ": '" + kind.excerpt + "'");
  }
  return texts;
}

void Issues::finish(Profile& profile) const {
  for (const Kind& kind : kinds_) profile.losses.add(Loss::input_line, kind.count);
  for (std::string& text : texts()) profile.meta.notes.push_back(std::move(text));
}

}  // namespace memflame
