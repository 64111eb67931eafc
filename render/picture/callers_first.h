// SPDX-License-Identifier: BSD-2-Clause
// Blame in pictures whose stacks begin with their innermost function (Transform::reverse): there
// the frames that are passed over are the first ones, and what is drawn begins at the function that
// called them.
#pragma once

#include <optional>
#include <string>

#include "core/profile.h"
#include "render/picture/options.h"

namespace memflame {

class CallersFirst {
 public:
  // options: resolved; if stacks are reversed, they draw all frames afterwards, since what they
  // hide is gone.
  CallersFirst(const Profile& given, RenderOptions& options);
  CallersFirst(const CallersFirst&) = delete;
  CallersFirst& operator=(const CallersFirst&) = delete;

  // What is drawn. Totals are those of the given profile.
  const Profile& profile() const { return made_ ? *made_ : given_; }
  // blame_note(), or "" if nothing was left out.
  const std::string& note() const { return note_; }

 private:
  const Profile& given_;
  std::optional<Profile> made_{};
  std::string note_{};
};

}  // namespace memflame
