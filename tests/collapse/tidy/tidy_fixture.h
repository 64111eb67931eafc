// SPDX-License-Identifier: BSD-2-Clause
// Profiles written as folded text, for the tests of collapse/tidy/.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/input.h"
#include "collapse/tidy/tidy.h"

namespace memflame {

using Lines = std::map<std::string, int64_t>;

inline Profile profile_of(std::string text) {
  Source source = Source::of_memory(std::move(text));
  return read_folded(source, {});
}

// "main;f" -> 12, with the marks of kinds ("f_[k]").
inline Lines lines(const Profile& profile) {
  Lines result;
  for (const StackId stack : profile.touched()) {
    std::string line;
    for (const FrameId id : profile.path(stack)) {
      const Frame& frame = profile.frames[id];
      line += (line.empty() ? "" : ";") + std::string(profile.strings[frame.function]);
      if (frame.kind == FrameKind::kernel) line += "_[k]";
      if (frame.kind == FrameKind::inlined) line += "_[i]";
    }
    result[line] += profile.values(stack)[profile.shown];
  }
  return result;
}

inline std::vector<Pattern> patterns(const std::vector<std::string>& texts,
                                     std::string_view option = "--option") {
  std::vector<Pattern> result;
  result.reserve(texts.size());
  for (const std::string& text : texts) result.emplace_back(option, text);
  return result;
}

}  // namespace memflame
