// SPDX-License-Identifier: BSD-2-Clause
// Pictures show what an interpreter does between two functions of its language as one box,
// "[native]". A picture with a script has the functions too, and shows them when the box is clicked
// (viewer/runtime.mjs).
#pragma once

#include <optional>

#include "core/profile.h"
#include "render/picture/options.h"

namespace memflame {

class FoldedRuntime {
 public:
  // options: resolved. In the order of time nothing is folded: calls that do not follow each other
  // are boxes of their own.
  FoldedRuntime(const Profile& given, const RenderOptions& options);
  FoldedRuntime(const FoldedRuntime&) = delete;
  FoldedRuntime& operator=(const FoldedRuntime&) = delete;

  // The frame of the box; none: there is nothing to fold. It is in both profiles.
  FrameId native() const { return native_; }
  // With every stack as it is.
  const Profile& whole() const { return whole_ ? *whole_ : given_; }
  // As it is drawn at first. Totals are those of the given profile.
  const Profile& drawn() const { return folded_ ? *folded_ : whole(); }
  bool hides() const { return folded_.has_value(); }

 private:
  const Profile& given_;
  std::optional<Profile> whole_{}, folded_{};
  FrameId native_;
};

}  // namespace memflame
