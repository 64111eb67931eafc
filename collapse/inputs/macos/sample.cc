// SPDX-License-Identifier: BSD-2-Clause
// What `sample` of macOS prints: how often a thread was seen in each function.
//
//   Analysis of sampling server (pid 1234) every 1 millisecond
//   Process:         server [1234]
//
//   Call graph:
//       2569 Thread_1447670   DispatchQueue_1: com.apple.main-thread  (serial)
//       + 2569 start  (in dyld) + 13  [0x7fff8a477fb9]
//       +   2569 main  (in server) + 164  [0x104582770]  main.c:28
//
//   Total number in stack (recursive counted multiple, when >=5):
#include "collapse/inputs/macos/call_tree.h"
#include "collapse/inputs/macos/mac_frame.h"
#include "collapse/inputs/scan.h"
#include "collapse/inputs/text_reader.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr std::string_view sample_head = "Analysis of sampling ";
constexpr std::string_view thread_mark = "Thread_";

class SampleReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {{"samples", Unit::count}};
    each_line([&](std::string_view line) { take(line); });
    end_graph();
    if (!whole)
      cut_off("its last line may be cut off");
    else if (in_graph_)
      cut_off("nothing is behind the call graph, so its end may be missing");
    profile.meta.title = "sample";
    if (graphs_ > 1)
      profile.meta.notes.push_back("call graphs of " + with_commas(graphs_) +
                                   " reports are added up");
    return finish("call graph with lines like '2569 main  (in server) + 164  [0x104582770]'");
  }

 private:
  void take(std::string_view line) {
    if (process_.take(line)) return;
    if (line.starts_with(sample_head)) return take_head(line.substr(sample_head.size()));
    if (trimmed(line) == graph_head) {
      end_graph();
      in_graph_ = true;
      ++graphs_;
      return;
    }
    if (!in_graph_) return;
    const auto found = parse_tree_line(line);
    if (found) return take_node(*found);
    // What follows is the same again, by function.
    if (!trimmed(line).empty()) {
      if (line.starts_with(' ') && !tree_.empty()) return bad("not a line of the call graph");
      end_graph();
      in_graph_ = false;
    }
  }

  // "server (pid 1234) every 1 millisecond".
  void take_head(std::string_view text) {
    constexpr std::string_view mark = " (pid ";
    const size_t at = text.rfind(mark);
    if (at == std::string_view::npos) return;
    process_.name = text.substr(0, at);
    text.remove_prefix(at + mark.size());
    process_.pid = take_until(text, ")");
    if (text.starts_with(" every ")) profile.meta.notes.push_back("one sample" + std::string(text));
  }

  void take_node(const TreeLine& line) {
    const auto caller = tree_.caller(line.indent);
    CallTree::Node node;
    node.count = line.count;
    if (!caller && line.text.starts_with(thread_mark)) {
      std::string_view rest = line.text.substr(thread_mark.size());
      node.stack = push_process(profile, process_.name, process_.pid,
                                rest.substr(0, first_not_in(rest, digit_bytes)), options);
    } else {
      node.stack = profile.stacks.push(caller.value_or(StackId{}), frame_of(line.text));
    }
    tree_.add(line.indent, node);
  }

  FrameId frame_of(std::string_view text) {
    return frame(text, [&](std::string_view each) {
      return text_frame(parse_tree_frame(each), options, storage_);
    });
  }

  void add(StackId stack, int64_t count) {
    if (!stack) stack = profile.push({}, "[no stack]", FrameKind::note);
    profile.add(stack, std::array{count});
  }

  void end_graph() {
    const uint64_t before = tree_.contradictions();
    tree_.end();
    if (tree_.contradictions() != before)
      bad("lines of the call graph above it have fewer samples than the lines below them");
  }

  MacProcess process_;
  CallTree tree_{[this](StackId stack, int64_t count, int64_t) { add(stack, count); }};
  std::string storage_;
  bool in_graph_ = false;
  int64_t graphs_ = 0;
};

}  // namespace

bool is_sample(std::string_view head) {
  std::string_view line;
  bool in_graph = false;
  while (next_line(head, line)) {
    if (line.starts_with(sample_head)) return true;
    if (in_graph) {
      Scan scan{trimmed(line)};
      uint64_t count = 0;
      return scan.small_number(count) && scan.literal(" ") && !scan.rest.starts_with('(') &&
             (scan.rest.starts_with(thread_mark) || scan.rest.find("  (in ") != scan.rest.npos);
    }
    in_graph = trimmed(line) == graph_head;
  }
  return false;
}

Profile read_sample(Source& source, const ReadOptions& options) {
  return SampleReader(source, options).run();
}

}  // namespace memflame
