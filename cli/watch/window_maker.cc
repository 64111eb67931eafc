// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/window_maker.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "collapse/fold/fold.h"
#include "collapse/history/stack_labels.h"
#include "probes/run/memory_plan.h"
#include "render/output.h"
#include "render/text/clean_text.h"
#include "render/text/folded_names.h"

namespace memflame {
namespace {

constexpr double seconds_an_hour = 3600;

// Root first, without the frame of the process.
std::string folded_stack(const Profile& profile, const FoldedNames& names, StackId stack) {
  std::string text;
  for (const FrameId frame : profile.path(stack)) {
    if (profile.frames[frame].kind == FrameKind::process) continue;
    text += text.empty() ? "" : ";";
    text += names.views()[frame.index];
  }
  return text;
}

size_t column_named(const Recording& recording, std::string_view name) {
  for (size_t i = 0; i < recording.types.size(); ++i)
    if (recording.types[i].name == name) return i;
  return no_column;
}

// The column that says how much a stack has grown: of the bytes in use if these are known.
size_t growth_of(const Recording& recording, size_t inuse) {
  return inuse == no_column ? 0 : recording.types.size() - 1;
}

void keep_most(std::vector<WindowStack>& all) {
  const auto rank = [](const WindowStack& row) {
    return std::tuple(row.verdict != name(VerdictKind::leak), -row.inuse_bytes, -row.growth_bytes);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const WindowStack& a, const WindowStack& b) { return rank(a) < rank(b); });
  if (all.size() > WindowMaker::most_shown) all.resize(WindowMaker::most_shown);
}

// The stacks to be shown: leaks first, then what holds most, or came most where nothing is known of
// what is held.
std::vector<WindowStack> top_stacks(const Recording& recording, const Profile& profile,
                                    const std::vector<StackMark>& marks) {
  const size_t inuse = column_named(recording, "inuse_space");
  const size_t growth = growth_of(recording, inuse);
  std::unordered_map<uint32_t, const StackMark*> mark_of;
  for (const StackMark& mark : marks) mark_of.emplace(mark.stack.index, &mark);
  std::vector<WindowStack> all;
  const FoldedNames names(profile, false);
  std::unordered_map<std::string, size_t> places;  // by names: processes share a row
  for (const StackId stack : profile.touched()) {
    const int64_t held = inuse == no_column ? 0 : profile.values(stack)[inuse];
    const int64_t grown = profile.values(stack)[growth];
    if (held == 0 && grown == 0) continue;
    std::string text = folded_stack(profile, names, stack);
    const auto [place, is_new] = places.try_emplace(text, all.size());
    if (is_new) {
      all.push_back({.function = clean_text(stack_label(profile, stack)),
                     .stack = std::move(text),
                     .verdict = {}});
    }
    WindowStack& row = all[place->second];
    row.inuse_bytes += held;
    row.growth_bytes += grown;
    const auto mark = mark_of.find(stack.index);
    if (mark == mark_of.end() || row.verdict == name(VerdictKind::leak)) continue;
    row.verdict = name(mark->second->kind);
    row.bytes_per_hour = mark->second->bytes_per_second * seconds_an_hour;
  }
  keep_most(all);
  return all;
}

std::string packed(const Profile& profile) {
  std::ostringstream bytes;
  output_for("pprof", "").write(bytes, profile, {});
  return std::move(bytes).str();
}

// The growth is known from the windows before, so it is only for the head.
Recording without_growth(Recording recording) {
  recording.types.pop_back();
  for (Aggregate& sum : recording.sums) sum.values.pop_back();
  return recording;
}

void add_profile(std::optional<Profile>& into, Profile&& more) {
  if (!into) {
    into = std::move(more);
    return;
  }
  const Meta meta = into->meta;
  merge(*into, more);
  // It is one window for all that.
  into->meta.title = meta.title;
  into->meta.began_ns = meta.began_ns;
  into->meta.seconds = meta.seconds;
}

}  // namespace

void WindowMaker::add_names(WindowDraft& draft, KeptNames& kept, uint64_t room) const {
  Recording& recording = draft.recording;
  recording.meta.command = command_;
  recording.meta.host = host_;
  recording.meta.began_ns = draft.began_ns;
  recording.meta.seconds = static_cast<double>(draft.ended_ns - draft.began_ns) / 1e9;
  recording.meta.sampling = draft.sampling;
  kept.symbolize(recording, {.inlines = names_,
                             .debug_servers = false,
                             .files = names_,
                             .code = true,
                             .memory_bytes = free_memory(),
                             .used_bytes = room});
}

std::vector<Window> WindowMaker::make(std::vector<WindowDraft> drafts, uint64_t room) {
  kept_.resize(drafts.size());
  std::vector<std::vector<Part>> services;
  for (size_t i = 0; i < drafts.size(); ++i) {
    add_names(drafts[i], kept_[i], room);
    for (const DraftService& service : drafts[i].services) {
      const auto known = std::find_if(services.begin(), services.end(), [&](const auto& parts) {
        return parts.front().service->labels == service.labels;
      });
      if (known == services.end())
        services.push_back({{&drafts[i], &service}});
      else
        known->push_back({&drafts[i], &service});
    }
  }
  std::vector<Window> windows;
  windows.reserve(services.size());
  for (const std::vector<Part>& parts : services)
    windows.push_back(window_of(drafts.front(), parts));
  return windows;
}

Window WindowMaker::window_of(const WindowDraft& first, const std::vector<Part>& parts) {
  Window window;
  WindowHead& head = window.head;
  head.id = new_window_id();
  head.began_ns = first.began_ns;
  head.ended_ns = first.ended_ns;
  head.labels = parts.front().service->labels;
  head.figures = first.figures;
  std::optional<Profile> all;
  for (const auto& [draft, service] : parts) {
    Recording own = draft->recording;
    own.sums.clear();
    for (const size_t sum : service->sums) own.sums.push_back(draft->recording.sums[sum]);
    std::vector<StackId> stack_of_sum;
    const Profile profile = fold(own, {}, &stack_of_sum);
    std::vector<StackMark> marks;
    if (draft->judged) marks = marks_of(*draft->judged, own, profile, stack_of_sum);
    const std::vector<WindowStack> top = top_stacks(own, profile, marks);
    head.top.insert(head.top.end(), top.begin(), top.end());
    for (const auto& [name, value] : service->figures) head.figures[name] += value;
    // Which stacks are cut is known once they have names.
    head.figures["cut_stacks"] += static_cast<double>(profile.losses.sum(LossKind::cut).events);
    add_profile(all, fold(without_growth(std::move(own)), {.lines = true, .code = true}));
  }
  keep_most(head.top);
  window.pprof = packed(*all);
  return window;
}

}  // namespace memflame
