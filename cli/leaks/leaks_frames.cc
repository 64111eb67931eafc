// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_frames.h"

#include <algorithm>
#include <string_view>

#include "collapse/tidy/names.h"
#include "core/owner.h"

namespace memflame {
namespace {

// Longer names of C++ functions are shown without their types.
constexpr size_t longest_name = 80;

// "main  server.cc:42 [server]"
std::string frame_text(const Profile& profile, const Frame& frame, bool in_full) {
  std::string text(profile.strings[frame.function]);
  if (!in_full && text.size() > longest_name)
    text = shorten(text, {.templates = true, .arguments = true});
  if (frame.kind == FrameKind::inlined) text += " (inlined)";
  if (frame.file)
    text += "  " + base_name(std::string(profile.strings[frame.file])) + ":" +
            std::to_string(frame.line);
  if (frame.module && frame.kind != FrameKind::unknown)
    text += " [" + base_name(std::string(profile.strings[frame.module])) + "]";
  return text;
}

// What an allocator calls in itself, and how a container of the C++ library comes to call it.
bool is_on_the_way(const Profile& profile, const Frame& frame) {
  const std::string_view function = profile.strings[frame.function];
  return owner_of(profile, frame) == Owner::allocator || is_of_cpp_library(function);
}

}  // namespace

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> frame_lines(const Profile& profile, StackId stack, bool all) {
  std::vector<FrameId> path = profile.path(stack);
  std::reverse(path.begin(), path.end());
  auto caller = path.begin();
  if (!all)
    caller = std::find_if(path.begin(), path.end(),
                          [&](FrameId id) { return !is_on_the_way(profile, profile.frames[id]); });
  if (caller == path.end()) caller = path.begin();
  std::vector<std::string> lines;
  for (auto id = path.begin(); id != path.end(); ++id)
    if (const Frame& frame = profile.frames[*id];
        frame.kind != FrameKind::process && (id == path.begin() || id >= caller))
      lines.push_back(frame_text(profile, frame, all));
  return lines;
}

size_t place_of_caller(const Profile& profile, StackId stack) {
  std::vector<FrameId> path = profile.path(stack);
  std::reverse(path.begin(), path.end());
  size_t place = 0;
  for (const FrameId id : path) {
    const Frame& frame = profile.frames[id];
    if (frame.kind == FrameKind::process) continue;
    if (!is_on_the_way(profile, frame)) return place;
    ++place;
  }
  return 0;
}

std::string process_of(const Recording& recording, SpaceId id) {
  if (!id || id.index >= recording.spaces.size()) return "";
  const Space& space = recording.spaces[id.index];
  return (space.cgroup.empty() ? "" : space.cgroup + ", ") + space.comm + " (" +
         (space.pid == 0 ? "several" : std::to_string(space.pid)) + ")";
}

}  // namespace memflame
