// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/named_verdict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "collapse/fold/fold.h"
#include "collapse/tidy/names.h"
#include "core/allocator_list.h"
#include "core/owner.h"

namespace memflame {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Lines are left out, as they change with every edit above them.
std::string key_of(const std::vector<LeakFrame>& frames) {
  std::string key;
  for (const LeakFrame& frame : frames) {
    key += frame.function;
    key += '\0';
    key += file_name(frame.module);
    key += '\0';
  }
  return key;
}

// Functions of one name in several files are marked with theirs: "malloc [libjemalloc.so.2]".
std::string_view without_mark(std::string_view function, std::string_view module) {
  const std::string mark = " [" + std::string(file_name(module)) + "]";
  return function.ends_with(mark) ? function.substr(0, function.size() - mark.size()) : function;
}

bool wanted_the_memory(const Profile& profile, const Frame& frame, std::string_view function) {
  const bool is_code = frame.kind == FrameKind::user || frame.kind == FrameKind::inlined;
  return owner_of(profile, frame) != Owner::allocator &&
         !(is_code && builtin_allocators().contains(function)) && !is_of_cpp_library(function);
}

}  // namespace

NamedVerdict named_stack(const Profile& profile, StackId stack) {
  NamedVerdict result;
  std::optional<size_t> caller;
  const std::vector<FrameId> path = profile.path(stack);
  for (auto id = path.rbegin(); id != path.rend(); ++id) {
    const Frame& frame = profile.frames[*id];
    if (frame.kind == FrameKind::process) {
      result.process = profile.strings[frame.function];
      continue;
    }
    const std::string_view module = profile.strings[frame.module];
    const std::string_view function = without_mark(profile.strings[frame.function], module);
    if (!caller && wanted_the_memory(profile, frame, function)) caller = result.frames.size();
    result.frames.push_back({.function = std::string(function),
                             .module = std::string(module),
                             .file = std::string(profile.strings[frame.file]),
                             .line = frame.line,
                             .is_inlined = frame.kind == FrameKind::inlined});
  }
  result.caller = caller.value_or(0);
  result.key = key_of(result.frames);
  return result;
}

std::vector<NamedVerdict> named_verdicts(const Ledger& ledger, std::span<const Track> tracks,
                                         Recording recording, const VerdictOptions& options,
                                         Losses& losses, std::span<const ReachSums> reach) {
  recording.sums.clear();
  for (size_t i = 1; i < tracks.size(); ++i)
    recording.sums.push_back(
        {tracks[i].stack, tracks[i].group, std::vector<int64_t>(recording.types.size()), 0});
  std::vector<StackId> stacks;
  const Profile profile = fold(recording, {.pid = false, .lines = true}, &stacks);

  std::map<std::string, std::pair<NamedVerdict, std::vector<TrackId>>> groups;
  for (size_t i = 0; i < stacks.size(); ++i) {
    NamedVerdict each = named_stack(profile, stacks[i]);
    std::string key = each.key;
    const auto group = groups.try_emplace(std::move(key), std::move(each), std::vector<TrackId>{});
    group.first->second.second.push_back(TrackId{static_cast<uint32_t>(i + 1)});
  }
  std::vector<NamedVerdict> all;
  for (auto& [key, group] : groups) {
    const std::optional<Verdict> verdict = ledger.verdict(group.second, options);
    if (!verdict) continue;
    group.first.verdict = *verdict;
    group.first.tracks = group.second.size();
    if (!reach.empty()) group.first.reach.emplace();
    for (const TrackId track : group.second)
      if (track.index < reach.size()) *group.first.reach += reach[track.index];
    const RawStackId stack = tracks[group.second.front().index].stack;
    if (const std::optional<Loss> cut = why_cut(recording, stack))
      losses.add(*cut, static_cast<uint64_t>(std::max<int64_t>(verdict->live_blocks, 0)),
                 verdict->live_bytes);
    all.push_back(std::move(group.first));
  }
  std::stable_sort(all.begin(), all.end(), [](const NamedVerdict& a, const NamedVerdict& b) {
    return is_worse(a.verdict, b.verdict);
  });
  return all;
}

}  // namespace memflame
