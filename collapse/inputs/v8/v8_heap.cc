// SPDX-License-Identifier: BSD-2-Clause
// V8's heap snapshots (.heapsnapshot, .heaptimeline) that record allocation stacks: a tree of
// stacks with their allocations, and each object's node in that tree. Objects are summed up as they
// pass. The strings come last, and only names of functions and scripts are kept. So memory is that
// of the tree.
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collapse/inputs/readers.h"
#include "collapse/inputs/v8/v8_frame.h"
#include "collapse/inputs/v8/v8_rows.h"
#include "collapse/inputs/v8/v8_trace_tree.h"
#include "collapse/text/issues.h"
#include "collapse/text/json_tokens.h"
#include "core/error.h"
#include "core/hash.h"

namespace memflame {
namespace {

using Token = JsonTokens::Kind;

struct Sum {
  int64_t bytes = 0, objects = 0;
};

enum HeapColumn : uint8_t { inuse_space, inuse_objects, alloc_space, alloc_objects, heap_columns };

class HeapReader {
 public:
  HeapReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), json_(source) {
    profile_.types = {{"inuse_space", Unit::bytes},
                      {"inuse_objects", Unit::count},
                      {"alloc_space", Unit::bytes},
                      {"alloc_objects", Unit::count}};
  }

  Profile run() {
    if (json_.next() != Token::begin_object) json_.fail("not an object,");
    while (json_.next() == Token::key) take(std::string(json_.text()));
    json_.next();
    const bool traced =
        std::any_of(live_.begin(), live_.end(), [](const auto& of) { return of.first != 0; });
    if (tree_.nodes().size() < 2 && !traced)
      source_.fail(
          "no allocation stacks are in it; for what holds its objects use --from v8-snapshot, or "
          "take it with stacks (in DevTools 'Allocations on timeline' with stack traces, in node "
          "HeapProfiler.startTrackingHeapObjects with trackAllocations)");
    add_all();
    profile_.meta.title = "V8 heap";
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  void take(const std::string& key) {
    if (key == "snapshot") return take_header();
    if (key == "nodes") return take_objects();
    if (key == "trace_function_infos") return take_functions();
    if (key == "trace_tree") return tree_.take(json_);
    if (key == "strings") return take_strings();
    json_.skip_value();
  }

  void take_header() {
    begin_v8(json_, Token::begin_object, "snapshot");
    while (json_.next() == Token::key) {
      if (json_.text() != "meta") {
        json_.skip_value();
        continue;
      }
      begin_v8(json_, Token::begin_object, "meta");
      while (json_.next() == Token::key) {
        if (json_.text() == "node_fields")
          objects_.take(json_);
        else if (json_.text() == "trace_function_info_fields")
          function_fields_.take(json_);
        else
          json_.skip_value();
      }
    }
  }

  void take_objects() {
    const size_t size = objects_.of("self_size"), trace = objects_.of("trace_node_id");
    if (size == no_v8_field) json_.fail("its objects have no \"self_size\",");
    take_v8_rows(json_, objects_, "nodes", issues_, [&](const std::vector<int64_t>& row) {
      if (row[size] == 0) return;
      Sum& sum = live_[trace == no_v8_field ? 0 : row[trace]];
      if (__builtin_add_overflow(sum.bytes, row[size], &sum.bytes))
        json_.fail("a sum of bytes leaves the range of 64 bits");
      ++sum.objects;
    });
  }

  struct Function {
    int64_t name = 0, script = 0;  // indices of strings
    uint32_t line = 0;
  };

  void take_functions() {
    const size_t name = function_fields_.of("name"), script = function_fields_.of("script_name"),
                 line = function_fields_.of("line");
    if (name == no_v8_field || script == no_v8_field || line == no_v8_field)
      json_.fail("its functions have no names, scripts or lines,");
    take_v8_rows(json_, function_fields_, "trace_function_infos", issues_,
                 [&](const std::vector<int64_t>& row) {
                   const bool known =
                       row[line] > 0 && row[line] <= std::numeric_limits<uint32_t>::max();
                   functions_.push_back(
                       {row[name], row[script], known ? static_cast<uint32_t>(row[line]) : 0});
                   strings_[row[name]];
                   strings_[row[script]];
                 });
  }

  void take_strings() {
    begin_v8(json_, Token::begin_array, "strings");
    if (functions_.empty() && tree_.nodes().size() > 1)
      json_.fail("the strings come before the functions that use them,");
    for (int64_t number = 0; json_.next() != Token::end_array; ++number) {
      if (json_.kind() != Token::string) json_.fail("not a string among the strings,");
      const auto used = strings_.find(number);
      if (used != strings_.end()) used->second = profile_.strings.intern(json_.text());
    }
  }

  void add_all() {
    const std::vector<FrameId> frames = make_frames();
    std::vector<StackId> stacks(tree_.nodes().size());
    for (size_t i = 0; i < stacks.size(); ++i) {
      const V8TraceNode& node = tree_.nodes()[i];
      // The first is the root, which is in all stacks.
      if (i != 0) stacks[i] = profile_.stacks.push(stacks[node.caller], frame(frames, node));
      const auto live = live_.find(node.id);
      Sum sum;
      if (live != live_.end() && node.id != 0) sum = std::exchange(live->second, {});
      add(stacks[i] ? stacks[i] : profile_.push({}, v8_root),
          {sum.bytes, sum.objects, node.bytes, node.objects});
    }
    for (const auto& [id, sum] : live_) {
      if (sum.objects == 0) continue;
      if (id != 0)
        issues_.add("an object of a stack that is not in the tree", 0, std::to_string(id));
      add(profile_.push({}, "[no allocation stack]", FrameKind::note),
          {sum.bytes, sum.objects, 0, 0});
    }
  }

  void add(StackId stack, const std::array<int64_t, heap_columns>& row) {
    if (row != std::array<int64_t, heap_columns>{}) profile_.add(stack, row);
  }

  std::vector<FrameId> make_frames() {
    std::vector<FrameId> frames;
    for (const Function& f : functions_) {
      const std::string_view name = profile_.strings[strings_[f.name]];
      const std::string_view script = profile_.strings[strings_[f.script]];
      frames.push_back(v8_frame(profile_, name, script, f.line, options_));
    }
    return frames;
  }

  FrameId frame(const std::vector<FrameId>& frames, const V8TraceNode& node) {
    if (node.function >= 0 && static_cast<size_t>(node.function) < frames.size())
      return frames[static_cast<size_t>(node.function)];
    issues_.add("a stack of a function that is not there", 0, std::to_string(node.function));
    return v8_frame(profile_, "", "", 0, options_);
  }

  Source& source_;
  const ReadOptions& options_;
  JsonTokens json_;
  Profile profile_;
  Issues issues_;
  V8Fields objects_, function_fields_;
  std::vector<Function> functions_;
  V8TraceTree tree_;
  std::unordered_map<int64_t, Sum, NumberHash> live_;          // by a trace node's id
  std::unordered_map<int64_t, StringId, NumberHash> strings_;  // used by functions, by number
};

}  // namespace

// After v8-snapshot, which takes snapshots that have no functions.
bool is_v8_heap(std::string_view head) { return begins_as_json(head, R"({"snapshot":{"meta":{)"); }

Profile read_v8_heap(Source& source, const ReadOptions& options) {
  return HeapReader(source, options).run();
}

}  // namespace memflame
