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

// Matches some part of a frame's function, or with "module:" before it of its module.
class Pattern {
 public:
  // RE2 syntax. Throws Error (usage) with RE2's message; `option` says where it was given.
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

// Another name for what matches: "RE=TEXT", or "s/RE/TEXT/" with any punctuation for '/', and with
// a 'g' behind it for all matches and not the first of a name only. \1 to \9 in the text are
// groups, \0 is the match.
class Renaming {
 public:
  // Throws Error (usage).
  explicit Renaming(std::string_view text);
  // A name of which nothing would be left stays as it is.
  std::string apply(const std::string& name) const;

 private:
  bool everywhere_ = false;
  std::string text_;
  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace memflame
