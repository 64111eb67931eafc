// SPDX-License-Identifier: BSD-2-Clause
#include "render/text/folded_names.h"

#include <algorithm>

#include "core/folded.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

std::string_view mark_of(FrameKind kind) {
  for (const FoldedSuffix& suffix : folded_suffixes)
    if (suffix.kind == kind) return suffix.text;
  return {};
}

bool is_plain(std::string_view name) {
  return name.find(';') == std::string_view::npos && is_plain_text(name);
}

std::string written(std::string_view name, std::string_view mark) {
  std::string text = clean_text(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text += mark;
}

}  // namespace

FoldedNames::FoldedNames(const Profile& profile, bool marks) : names_(profile.frames.size()) {
  std::vector<std::string_view> unmarked(profile.strings.size());  // several frames have one name
  for (uint32_t i = 1; i < names_.size(); ++i) {
    const Frame& frame = profile.frames[FrameId{i}];
    const std::string_view name = profile.strings[frame.function];
    const std::string_view mark = marks ? mark_of(frame.kind) : "";
    if (!mark.empty()) {
      names_[i] = kept_[kept_.intern(written(name, mark))];
      continue;
    }
    std::string_view& known = unmarked[frame.function.index];
    if (known.data() == nullptr)
      known = is_plain(name) ? name : kept_[kept_.intern(written(name, mark))];
    names_[i] = known;
  }
}

}  // namespace memflame
