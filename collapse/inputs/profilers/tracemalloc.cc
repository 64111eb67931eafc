// SPDX-License-Identifier: BSD-2-Clause
// Snapshots of Python's tracemalloc (Snapshot.dump()): a pickle of the class Snapshot, which holds
// a list of traces: (domain, size, frames, number of all frames). A frame is a file and a line, and
// the first one is the innermost.
#include <array>
#include <unordered_map>

#include "collapse/inputs/profilers/pickle_values.h"
#include "collapse/inputs/text_frame.h"
#include "collapse/text/issues.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

using PickleKind = PickleValues::Kind;

class TracemallocReader {
 public:
  TracemallocReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), bytes_(source.all()), values_(pickled()) {}

  Profile run() {
    profile_.meta.title = "tracemalloc";
    profile_.types = {{"bytes", Unit::bytes}, {"blocks", Unit::count}};
    const auto snapshot = values_.state(values_.root(), "tracemalloc", "Snapshot");
    const auto traces = values_.state(values_.find(snapshot, "traces"), "tracemalloc", "_Traces");
    const auto list = values_.find(traces, "_traces");
    if (values_.kind(list) != PickleKind::list)
      source_.fail("it is a pickle, and not one of a tracemalloc.Snapshot");
    for (const PickleValues::Id trace : values_.items(list)) take(trace);
    if (profile_.touched().empty())
      source_.fail("no trace is in it" + (issues_.any() ? "; " + issues_.texts().front() : ""));
    describe(values_.number(values_.find(snapshot, "traceback_limit")));
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  PickleValues pickled() const {
    try {
      return PickleValues(bytes_);
    } catch (const Error& error) {
      source_.fail(error.what());
    }
  }

  void take(PickleValues::Id trace) {
    if (values_.kind(trace) != PickleKind::tuple) return bad();
    const std::vector<PickleValues::Id>& parts = values_.items(trace);
    // Before Python 3.9 there is no number of all frames.
    if (parts.size() != 3 && parts.size() != 4) return bad();
    if (values_.kind(parts[0]) != PickleKind::number ||
        values_.kind(parts[1]) != PickleKind::number || values_.number(parts[1]) < 0 ||
        values_.kind(parts[2]) != PickleKind::tuple)
      return bad();
    if (values_.number(parts[0]) != 0) ++other_domains_;
    const int64_t all = parts.size() == 4 ? values_.number(parts[3]) : 0;
    const bool cut = all > static_cast<int64_t>(values_.items(parts[2]).size());
    cut_ += cut ? 1 : 0;
    profile_.add(stack_of(parts[2], cut), std::array{values_.number(parts[1]), int64_t{1}});
  }

  void bad() { issues_.add("not a trace", 0, "a value of another form"); }

  // Many traces share a tuple of frames.
  StackId stack_of(PickleValues::Id frames, bool cut) {
    StackId& stack = stacks_[uint64_t{frames} << 1U | (cut ? 1U : 0U)];
    if (stack) return stack;
    if (cut)
      stack = profile_.push({}, "[truncated: more frames than tracemalloc keeps]", FrameKind::note);
    const std::vector<PickleValues::Id>& list = values_.items(frames);
    for (size_t i = list.size(); i-- > 0;) stack = profile_.stacks.push(stack, frame_of(list[i]));
    if (!stack) stack = profile_.push({}, "[no stack]", FrameKind::note);
    return stack;
  }

  FrameId frame_of(PickleValues::Id id) {
    FrameId& frame = frames_[id];
    if (frame) return frame;
    std::string_view file = "[unknown]";
    int64_t line = 0;
    if (values_.kind(id) == PickleKind::tuple && values_.items(id).size() == 2) {
      const std::vector<PickleValues::Id>& parts = values_.items(id);
      if (values_.kind(parts[0]) == PickleKind::text) file = values_.text(parts[0]);
      if (values_.kind(parts[1]) == PickleKind::number) line = values_.number(parts[1]);
    } else {
      issues_.add("not a frame", 0, "a value of another form");
    }
    const std::string name =
        std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(line);
    const auto small = static_cast<uint32_t>(line > 0 && line <= INT32_MAX ? line : 0);
    frame =
        intern(profile_, {.function = name, .module = file, .file = file, .line = small}, options_);
    return frame;
  }

  void describe(int64_t limit) {
    if (cut_ != 0)
      profile_.meta.notes.push_back(with_commas(cut_) + " blocks have more than " +
                                    with_commas(limit) +
                                    " frames: tracemalloc.start(N) keeps N of them");
    if (other_domains_ != 0)
      profile_.meta.notes.push_back(with_commas(other_domains_) +
                                    " blocks are of domains other than Python's own");
  }

  Source& source_;
  const ReadOptions& options_;
  const std::string bytes_;
  const PickleValues values_;
  Profile profile_;
  Issues issues_;
  std::unordered_map<uint64_t, StackId> stacks_;          // by the tuple, and whether it is cut
  std::unordered_map<PickleValues::Id, FrameId> frames_;  // by the tuple
  int64_t cut_ = 0, other_domains_ = 0;                   // traces
};

}  // namespace

bool is_tracemalloc(std::string_view head) {
  constexpr std::string_view module = "\x8c\x0btracemalloc";
  constexpr size_t without_frame = 2, with_frame = 11;
  return head.size() > with_frame && head[0] == '\x80' &&
         (head.substr(without_frame).starts_with(module) ||
          head.substr(with_frame).starts_with(module));
}

Profile read_tracemalloc(Source& source, const ReadOptions& options) {
  return TracemallocReader(source, options).run();
}

}  // namespace memflame
