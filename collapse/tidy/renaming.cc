// SPDX-License-Identifier: BSD-2-Clause
// Steps that only change the names of frames.
#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"

namespace memflame {

Profile demangle_names(Profile profile) {
  return with_names(std::move(profile), demangle_decorated);
}

Profile rename_frames(Profile profile, const std::vector<Renaming>& renamings) {
  const auto rename = [&](std::string_view name) {
    std::string renamed(name);
    for (const Renaming& renaming : renamings) renamed = renaming.apply(renamed);
    return renamed;
  };
  return with_names(std::move(profile), rename, true);
}

Profile shorten_names(Profile profile, const Shortening& what) {
  return with_names(std::move(profile), [&](std::string_view name) { return shorten(name, what); });
}

}  // namespace memflame
