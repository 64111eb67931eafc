// SPDX-License-Identifier: BSD-2-Clause
// V8's sampling heap profiles (.heapprofile, node --heap-prof): a tree of call frames with the
// bytes allocated there that still live, estimated from samples.
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collapse/inputs/readers.h"
#include "collapse/inputs/v8/v8_frame.h"
#include "collapse/text/issues.h"
#include "collapse/text/json_tokens.h"
#include "core/error.h"
#include "core/hash.h"

namespace memflame {
namespace {

using Token = JsonTokens::Kind;

struct Node {
  size_t caller = 0;  // index in the list, smaller than this node's; the root is its own caller
  FrameId frame;      // none for the root
  int64_t id = 0, bytes = 0;
};

class HeapProfileReader {
 public:
  HeapProfileReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), json_(source) {
    profile_.types = {{"inuse_space", Unit::bytes}};
  }

  Profile run() {
    if (json_.next() != Token::begin_object) json_.fail("not an object,");
    while (json_.next() == Token::key) {
      if (json_.text() == "head")
        take_tree();
      else if (json_.text() == "samples")
        take_samples();
      else
        json_.skip_value();
    }
    json_.next();
    if (nodes_.empty()) source_.fail("no tree is in it (\"head\" is missing)");
    add_all();
    profile_.meta.title = "V8 heap";
    profile_.meta.sampling = "sampled by V8, bytes are estimates";
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  // The children of a node are objects in its "children": where a node ends, its caller continues.
  void take_tree() {
    if (!nodes_.empty()) json_.fail("a second \"head\"");
    if (json_.next() != Token::begin_object) json_.fail("\"head\" is not an object,");
    nodes_.emplace_back();
    size_t at = 0;
    while (true) {
      switch (json_.next()) {
        case Token::key:
          take_field(nodes_[at]);
          break;
        case Token::begin_object:
          nodes_.push_back({.caller = at, .frame = {}});
          at = nodes_.size() - 1;
          break;
        case Token::end_object:
          if (at == 0) return;
          at = nodes_[at].caller;
          break;
        case Token::end_array:
          break;
        default:
          json_.fail("not a node of the tree,");
      }
    }
  }

  void take_field(Node& node) {
    const std::string_view key = json_.text();
    if (key == "callFrame") return take_frame(node);
    if (key == "selfSize") return take_number(node.bytes);
    if (key == "id") return take_number(node.id);
    if (key != "children") return json_.skip_value();
    if (json_.next() != Token::begin_array) json_.fail("\"children\" is not a list,");
  }

  void take_number(int64_t& into) {
    const auto number = json_.take_integer();
    if (number)
      into = *number;
    else
      issues_.add("not an integer", 0, json_.text());
  }

  void take_frame(Node& node) {
    if (json_.next() != Token::begin_object) json_.fail("\"callFrame\" is not an object,");
    std::string function, url;
    int64_t line = -1;
    while (json_.next() == Token::key) {
      if (json_.text() == "functionName")
        function = json_.take_string();
      else if (json_.text() == "url")
        url = json_.take_string();
      else if (json_.text() == "lineNumber")
        line = json_.take_integer().value_or(-1);
      else
        json_.skip_value();
    }
    if (line < -1 || line >= std::numeric_limits<uint32_t>::max()) line = -1;
    // V8 counts lines from 0 here.
    node.frame = v8_frame(profile_, function, url, static_cast<uint32_t>(line + 1), options_);
  }

  // One object per entry; only its position matters.
  void take_samples() {
    if (json_.next() != Token::begin_array) json_.fail("\"samples\" is not a list,");
    while (json_.next() != Token::end_array) {
      if (json_.kind() != Token::begin_object) json_.fail("a sample is not an object,");
      while (json_.next() == Token::key) {
        if (json_.text() != "nodeId") {
          json_.skip_value();
        } else if (const auto id = json_.take_integer()) {
          ++samples_[*id];
        }
      }
    }
  }

  void add_all() {
    if (!samples_.empty()) profile_.add_column({"samples", Unit::count});
    std::vector<StackId> stacks(nodes_.size());
    std::vector<int64_t> row(profile_.types.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      const FrameId frame = node.frame ? node.frame : v8_frame(profile_, "", "", 0, options_);
      if (i != 0) stacks[i] = profile_.stacks.push(stacks[node.caller], frame);
      row[0] = node.bytes;
      if (row.size() > 1) row[1] = take_count(node.id);
      if (std::all_of(row.begin(), row.end(), [](int64_t value) { return value == 0; })) continue;
      profile_.add(stacks[i] ? stacks[i] : profile_.push({}, v8_root), row);
    }
    add_lost_samples();
  }

  // V8 also lists samples of nodes that it added after it had written the tree.
  void add_lost_samples() {
    int64_t lost = 0;
    for (const auto& [id, count] : samples_) lost += count;
    if (lost == 0) return;
    profile_.add(profile_.push({}, "[not in the tree]", FrameKind::note),
                 std::array{int64_t{0}, lost});
    profile_.meta.notes.push_back(std::to_string(lost) +
                                  (lost == 1 ? " sample is" : " samples are") +
                                  " of a stack that is not in the file");
  }

  int64_t take_count(int64_t id) {
    const auto found = samples_.find(id);
    return found == samples_.end() ? 0 : std::exchange(found->second, 0);
  }

  Source& source_;
  const ReadOptions& options_;
  JsonTokens json_;
  Profile profile_;
  Issues issues_;
  std::vector<Node> nodes_;
  std::unordered_map<int64_t, int64_t, NumberHash> samples_;  // by a node's id
};

}  // namespace

bool is_v8_heapprofile(std::string_view head) {
  return begins_as_json(head, R"({"head":{"callFrame":{)") ||
         begins_as_json(head, R"({"head":{"selfSize":)");
}

Profile read_v8_heapprofile(Source& source, const ReadOptions& options) {
  return HeapProfileReader(source, options).run();
}

}  // namespace memflame
