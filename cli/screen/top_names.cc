// SPDX-License-Identifier: BSD-2-Clause
#include "cli/screen/top_names.h"

#include <algorithm>

#include "cli/leaks/leaks_frames.h"
#include "collapse/tidy/names.h"
#include "collapse/verdicts/suppressions.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

// "f(int) [clone .isra.0]" -> "f": a compiler's copies of a function are told apart in full names.
std::string short_name(std::string_view name) {
  name = name.substr(0, name.find(" [clone "));
  return shorten(name, {.templates = true, .arguments = true});
}

}  // namespace

NamedTopStack top_names(const Profile& profile, StackId stack, const std::string& process) {
  TopNames names;
  names.process = clean_text(process);
  for (const std::string& line : frame_lines(profile, stack, true))
    names.frames.push_back(clean_text(line));
  names.place = place_of_caller(profile, stack);
  std::vector<FrameId> path = profile.path(stack);
  std::reverse(path.begin(), path.end());
  std::erase_if(path, [&](FrameId id) { return profile.frames[id].kind == FrameKind::process; });
  for (size_t i = names.place; i < path.size(); ++i)
    names.functions.push_back(
        clean_text(short_name(profile.strings[profile.frames[path[i]].function])));
  return {std::make_shared<const TopNames>(std::move(names)), one_time_blocks_of(profile, stack)};
}

}  // namespace memflame
