// SPDX-License-Identifier: BSD-2-Clause
// Regular expressions that choose frames.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"

namespace re2 {
class RE2;
}

namespace memflame {

// Matches some part of a frame's function, or, after "module:", of its module.
class Pattern {
 public:
  // RE2 syntax. Throws Error (usage) with RE2's message; `option` is the option it was given to.
  Pattern(std::string_view option, std::string_view text);
  bool matches(const Profile& profile, const Frame& frame) const;
  const std::string& option() const { return option_; }

 private:
  std::string option_;
  bool module_ = false;
  std::shared_ptr<const re2::RE2> expression_;
};

// Which frames match one of the patterns, by FrameId::index.
std::vector<bool> matching(const Profile& profile, const std::vector<Pattern>& patterns);

// Replaces what matches in a name: "RE=TEXT", or "s/RE/TEXT/" with other punctuation allowed for
// '/'. With a 'g' behind it all matches in a name are replaced, not only the first. \1 to \9 in the
// text are groups, \0 is the match.
class Renaming {
 public:
  // Throws Error (usage).
  explicit Renaming(std::string_view text);
  // A name that would become empty stays unchanged.
  std::string apply(const std::string& name) const;

 private:
  bool everywhere_ = false;
  std::string text_;
  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace memflame
