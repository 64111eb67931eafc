// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/fold/fold.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "collapse/symbolize/demangle.h"
#include "core/own_agent.h"
#include "core/units.h"

namespace memflame {
namespace {

std::optional<Loss> loss_of(StopReason stop) {
  switch (stop) {
    case StopReason::complete:
      return std::nullopt;
#define MEMFLAME_STOP(name, label, remedy) \
  case StopReason::name:                   \
    return Loss::truncated_##name;
#include "core/stops.def"
#undef MEMFLAME_STOP
  }
  return std::nullopt;
}

// Functions with no caller in the program: where a thread begins, and main, whose caller in the C
// library keeps no frame pointer, so that the walk cannot continue from it.
constexpr std::array<std::string_view, 8> first_functions{
    "main",  "_start", "__libc_start_main", "__libc_start_call_main", "start_thread",
    "clone", "clone3", "__clone3"};

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Functions that several files of one recording have, if more than one of these files has values:
// malloc of libc and malloc of another allocator.
class SharedNames {
 public:
  SharedNames(const Recording& recording, std::span<const Aggregate> sums) {
    for (const std::string& name : recording.shared_names) names_.insert(demangle(name));
    std::set<std::string> modules;
    for (const Aggregate& sum : sums)
      for (const RawStackId stack : {sum.stack, sum.above}) {
        if (names_.empty() || !stack || stack.index >= recording.frames.size()) continue;
        const std::vector<LocationId>& places = recording.frames[stack.index];
        if (places.empty() || places[0].index >= recording.locations.size()) continue;
        const Location& leaf = recording.locations[places[0].index];
        if (has(leaf)) modules.insert(leaf.symbols.front().module);
      }
    if (modules.size() < 2) names_.clear();
  }

  bool has(const Location& leaf) const {
    return !leaf.symbols.empty() && names_.count(leaf.symbols.front().function) != 0;
  }

 private:
  std::set<std::string> names_;
};

// Whether the outermost frame that can be trusted is one with which every program or thread begins.
bool begins_at_the_first(const Recording& recording, const std::vector<LocationId>& locations,
                         size_t depth) {
  if (depth == 0 || locations[depth - 1].index >= recording.locations.size()) return false;
  const SymbolList& symbols = recording.locations[locations[depth - 1].index].symbols;
  return !symbols.empty() && std::find(first_functions.begin(), first_functions.end(),
                                       symbols.front().function) != first_functions.end();
}

// How many frames from the leaf on can be trusted. A function compiled without a frame pointer uses
// the register for something else, and the walk follows whatever that points to. The first "return
// address" outside any code shows it; it and all frames behind it are discarded. The leaf itself,
// in kernel and in user mode, was not read from the stack.
size_t depth_of_code(const Recording& recording, const RawStack& stack,
                     const std::vector<LocationId>& locations) {
  for (size_t i = 1; i < locations.size(); ++i) {
    const bool user_leaf = i == stack.kernel_pcs && !stack.pcs[i].is_return;
    if (!user_leaf && locations[i].index < recording.locations.size() &&
        !recording.locations[locations[i].index].is_code)
      return i;
  }
  return locations.size();
}

const std::vector<LocationId>& locations_of(const Recording& recording, RawStackId id) {
  if (recording.frames.size() <= id.index ||
      recording.frames[id.index].size() != recording.stacks.at(id.index).pcs.size())
    throw Error("internal: a recording has to be symbolized before it is folded");
  return recording.frames[id.index];
}

// How much of a stack can be trusted, and why it does not reach its first frame.
struct Extent {
  size_t depth = 0;
  std::optional<Loss> cut;
};

Extent extent_of(const Recording& recording, RawStackId id) {
  const RawStack& stack = recording.stacks.at(id.index);
  const std::vector<LocationId>& locations = locations_of(recording, id);
  Extent extent{.depth = depth_of_code(recording, stack, locations), .cut = loss_of(stack.stop)};
  if (extent.depth < locations.size()) extent.cut = Loss::truncated_not_code;
  // A stack that reaches a first function is complete, whatever the walk found beyond it.
  if (begins_at_the_first(recording, locations, extent.depth)) extent.cut.reset();
  return extent;
}

class Folder {
 public:
  Folder(const Recording& recording, std::span<const Aggregate> sums, const FoldOptions& options)
      : recording_(recording),
        sums_(sums),
        options_(options),
        range_of_(recording.locations.size()),
        is_agent_(recording.locations.size()) {
    profile_.meta = recording.meta;
    profile_.losses = recording.losses;
    profile_.types = recording.types;
    profile_.shown = recording.shown;
    if (options.code) profile_.code = recording.code;
    const SharedNames shared(recording, sums);
    for (uint32_t i = 0; i < recording.locations.size(); ++i) {
      const Location& location = recording.locations[i];
      if (shared.has(location)) leaf_of_[i] = {};
      is_agent_[i] = !location.symbols.empty() && is_own_agent(location.symbols.front().module);
    }
  }

  Profile run(std::vector<StackId>* stack_of_sum) {
    for (const Aggregate& sum : sums_) {
      if (std::max(sum.stack.index, sum.above.index) >= recording_.stacks.size())
        throw Error("the recording is damaged: a value belongs to a stack that is not in it");
      const bool all = stack_of_sum != nullptr && !options_.only_values;
      const StackId stack = all || has_values(sum) ? add(sum) : StackId{};
      if (stack_of_sum != nullptr) stack_of_sum->push_back(stack);
    }
    for (const Candidate& candidate : recording_.candidates)
      profile_.findings.push_back({.kind = candidate.kind,
                                   .detail = candidate.detail,
                                   .events = candidate.events,
                                   .bytes = candidate.bytes,
                                   .freeing = stack_of(candidate.freeing),
                                   .allocating = stack_of(candidate.allocating),
                                   .first_freeing = stack_of(candidate.first_freeing)});
    return std::move(profile_);
  }

 private:
  // The id of a stack that has no value of its own.
  StackId stack_of(RawStackId id) {
    if (!id) return {};
    if (id.index >= recording_.stacks.size())
      throw Error("the recording is damaged: it refers to a stack that is not in it");
    return top_of({.stack = id, .group = {}, .values = {}});
  }

  bool has_values(const Aggregate& sum) const {
    return sum.values.size() != profile_.types.size() ||
           std::any_of(sum.values.begin(), sum.values.end(), [](int64_t v) { return v != 0; });
  }

  StackId add(const Aggregate& sum) {
    const StackId top = top_of(sum);
    if (has_values(sum)) profile_.add(top, sum.values);
    return top;
  }

  StackId top_of(const Aggregate& sum) {
    const RawStack& stack = recording_.stacks[sum.stack.index];
    is_counted_ = false;
    StackId top = options_.as_recorded ? StackId{} : process(stack.space);
    const FrameKind kind = options_.as_recorded ? FrameKind::process : FrameKind::note;
    if (!sum.group.empty()) top = profile_.push(top, sum.group, kind);
    top = code_of_stack(sum, sum.stack, top);
    if (!sum.joint.empty()) top = profile_.push(top, sum.joint, FrameKind::note);
    if (sum.above) top = code_of_stack(sum, sum.above, top);
    // A value needs a frame to be visible.
    return top ? top : profile_.push(top, "[no stack]", FrameKind::note);
  }

  StackId process(SpaceId id) {
    if (!id || id.index >= recording_.spaces.size()) return {};
    const Space& space = recording_.spaces[id.index];
    const std::string pid = "pid " + std::to_string(space.pid);
    std::string name = space.comm.empty() ? "[" + pid + "]" : space.comm;
    if (options_.pid && !space.comm.empty()) name += " (" + (space.pid == 0 ? "ended" : pid) + ")";
    const StackId cgroup =
        space.cgroup.empty() ? StackId{} : profile_.push({}, space.cgroup, FrameKind::process);
    return profile_.push(cgroup, name, FrameKind::process);
  }

  // A stack, or what stands in for it.
  StackId code_of_stack(const Aggregate& sum, RawStackId id, StackId top) {
    const RawStack& stack = recording_.stacks[id.index];
    return stack.note.empty() ? frames(sum, id, top)
                              : profile_.push(top, stack.note, FrameKind::note);
  }

  StackId frames(const Aggregate& sum, RawStackId id, StackId top) {
    const RawStack& stack = recording_.stacks[id.index];
    const std::vector<LocationId>& locations = locations_of(recording_, id);
    const Extent extent = options_.as_recorded ? Extent{.depth = locations.size(), .cut = {}}
                                               : extent_of(recording_, id);
    if (extent.cut) {
      top = profile_.push(top, "[truncated: " + std::string(info(*extent.cut).label) + "]",
                          FrameKind::note);
      if (!is_counted_) count(*extent.cut, sum);
      is_counted_ = true;
    }
    for (size_t i = extent.depth; i-- > 0;) {
      if (locations[i].index >= recording_.locations.size())
        throw Error("the recording is damaged: a stack refers to a place that is not in it");
      if (is_agent_[locations[i].index]) continue;
      const std::span<const FrameId> own =
          i == 0 ? leaf_frames_of(locations[i]) : frames_of(locations[i]);
      if (is_trampoline(own) &&
          std::ranges::any_of(stack.pcs, [&](const Pc& pc) { return runs_in_loop(pc); }))
        continue;
      if (i > 0 && runs_in_loop(stack.pcs[i - 1]) && !is_script(stack.pcs[i])) {
        top = loop(own, stack, locations, i, top);
        continue;
      }
      for (const FrameId frame : own) top = profile_.stacks.push(top, frame);
    }
    if (!stack.leaf.empty()) top = profile_.push(top, stack.leaf, FrameKind::note);
    return top;
  }

  // Whether a frame is a function without code of its own: its frame is an interpreter's loop.
  bool runs_in_loop(const Pc& pc) const {
    return is_script(pc) && script_index(pc) < recording_.scripts.size() &&
           recording_.scripts[script_index(pc)].language == Language::python;
  }

  // With -X perf, Python calls each function through code of its own, for tools that know no
  // better: "py::resize:/srv/thumb.py". The function itself is in the stack.
  bool is_trampoline(std::span<const FrameId> own) const {
    const Frame& frame = profile_.frames[own.front()];
    return frame.kind == FrameKind::jit && profile_.strings[frame.function].starts_with("py::");
  }

  // An interpreter's loop at `i`, and the functions that it runs, which come next; moves `i` to the
  // last of them. What the compiler inlined into the loop works for the innermost of them.
  StackId loop(std::span<const FrameId> own, const RawStack& stack,
               const std::vector<LocationId>& locations, size_t& i, StackId top) {
    const std::vector<FrameId> inlined(own.begin() + 1, own.end());
    top = profile_.stacks.push(top, own.front());
    while (i > 0 && runs_in_loop(stack.pcs[i - 1])) {
      --i;
      if (locations[i].index >= recording_.locations.size())
        throw Error("the recording is damaged: a stack refers to a place that is not in it");
      for (const FrameId frame : frames_of(locations[i])) top = profile_.stacks.push(top, frame);
    }
    for (const FrameId frame : inlined) top = profile_.stacks.push(top, frame);
    return top;
  }

  struct Range {
    uint32_t first = 0, count = 0;
  };

  // A place occurs in many stacks, and its names in many places: they are interned once. Valid
  // until the next call.
  std::span<const FrameId> frames_of(LocationId id) {
    Range& range = range_of_[id.index];
    if (range.count == 0) range = make_frames(id);
    return std::span(frames_).subspan(range.first, range.count);
  }

  Range make_frames(LocationId id) {
    const SymbolList& symbols = recording_.locations[id.index].symbols;
    Range own;
    // With addresses, the frames of each place differ.
    Range& range = options_.code ? own : range_of_list_[symbols.all().data()];
    if (range.count != 0) return range;
    range.first = next_index(frames_.size());
    for (const Symbol& symbol : symbols)
      frames_.push_back(frame_of(symbol, symbol.function, code_of(id)));
    range.count = static_cast<uint32_t>(symbols.size());
    return range;
  }

  // Like frames_of(), with the file's name if the function's name alone is ambiguous.
  std::span<const FrameId> leaf_frames_of(LocationId id) {
    const auto ambiguous = leaf_of_.find(id.index);
    if (ambiguous == leaf_of_.end()) return frames_of(id);
    std::vector<FrameId>& made = ambiguous->second;
    if (!made.empty()) return made;
    const std::span<const FrameId> plain = frames_of(id);
    made.assign(plain.begin(), plain.end());
    const Symbol& symbol = recording_.locations[id.index].symbols.front();
    made.front() =
        frame_of(symbol, symbol.function + " [" + file_name(symbol.module) + "]", code_of(id));
    return made;
  }

  CodeId code_of(LocationId id) const {
    return options_.code && id.index < recording_.code_of.size() ? recording_.code_of[id.index]
                                                                 : CodeId{};
  }

  FrameId frame_of(const Symbol& symbol, const std::string& function, CodeId code) {
    Frame frame{.function = profile_.strings.intern(function),
                .module = profile_.strings.intern(symbol.module),
                .file = {},
                .kind = symbol.kind,
                .start_line = options_.code ? symbol.start_line : 0,
                .code = code};
    if (options_.lines) {
      frame.file = profile_.strings.intern(symbol.file);
      frame.line = symbol.line;
    }
    return profile_.frames.intern(frame);
  }

  // Counts the events whose stack has the mark, and the bytes shown below it.
  void count(Loss loss, const Aggregate& sum) {
    int64_t bytes = profile_.shown < sum.values.size() ? sum.values[profile_.shown] : 0;
    switch (profile_.shown < profile_.types.size() ? profile_.types[profile_.shown].unit
                                                   : Unit::count) {
      case Unit::bytes:
        break;
      case Unit::pages:
        if (__builtin_mul_overflow(bytes, page_bytes, &bytes)) bytes = INT64_MAX;
        break;
      case Unit::count:
      case Unit::nanoseconds:
      case Unit::variance:
        bytes = 0;
        break;
    }
    profile_.losses.add(loss, static_cast<uint64_t>(std::max<int64_t>(sum.events, 0)), bytes);
  }

  const Recording& recording_;
  std::span<const Aggregate> sums_;
  const FoldOptions& options_;
  std::vector<FrameId> frames_;  // of all places
  std::vector<Range> range_of_;  // in them, by location
  std::vector<bool> is_agent_;   // places in memflame's own agent
  std::unordered_map<const Symbol*, Range> range_of_list_;
  std::map<uint32_t, std::vector<FrameId>> leaf_of_;  // frames of leaves with ambiguous names
  Profile profile_;
  bool is_counted_ = false;  // the cut of this sum's stack, or of the one above it
};

}  // namespace

std::optional<Loss> why_cut(const Recording& recording, RawStackId stack) {
  return extent_of(recording, stack).cut;
}

Profile fold(const Recording& recording, const FoldOptions& options,
             std::vector<StackId>* stack_of_sum) {
  return fold(recording, recording.sums, options, stack_of_sum);
}

Profile fold(const Recording& recording, std::span<const Aggregate> sums,
             const FoldOptions& options, std::vector<StackId>* stack_of_sum) {
  if (stack_of_sum != nullptr) stack_of_sum->clear();
  return Folder(recording, sums, options).run(stack_of_sum);
}

}  // namespace memflame
