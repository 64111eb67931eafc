// SPDX-License-Identifier: BSD-2-Clause
// What `malloc_history` of macOS prints with -allBySize or -allByCount, and with -callTree:
//
//   malloc_history Report Version:  2.0
//   Process:         server [1234]
//
//   3 calls for 12288 bytes: thread_7fff7a1 |start | main | make | malloc
//
//   Call graph:
//       5 (20.0K) start  (in dyld) + 37  [0x10e264025]
//         3 (12.0K) main  (in server) + 164  [0x104582770]
#include "collapse/inputs/macos/call_tree.h"
#include "collapse/inputs/macos/mac_frame.h"
#include "collapse/inputs/scan.h"
#include "collapse/inputs/text_reader.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr std::string_view history_head = "malloc_history Report Version:";

struct Calls {
  int64_t count = 0, bytes = 0;
  std::string_view stack;
};

// "3 calls for 12288 bytes: thread_7fff7a1 |start | main".
std::optional<Calls> calls_line(std::string_view line) {
  // Before a number is read: lines of other formats may begin with one beyond 64 bits.
  const std::string_view behind = line.substr(first_not_in(line, digit_bytes));
  if (!behind.starts_with(" calls for ") && !behind.starts_with(" call for ")) return std::nullopt;
  Scan scan{line};
  Calls calls;
  if (!scan.number(calls.count)) return std::nullopt;
  if (!scan.literal(" calls for ") && !scan.literal(" call for ")) return std::nullopt;
  if (!scan.number(calls.bytes) || calls.bytes < 0) return std::nullopt;
  if (!scan.literal(" bytes:") && !scan.literal(" byte:")) return std::nullopt;
  calls.stack = trimmed(scan.rest);
  return calls;
}

// "ALLOC 0x7684870-0x7684993 [size=292]: …", and "FREE …".
bool is_block_event(std::string_view line) {
  return (line.starts_with("ALLOC ") || line.starts_with("FREE ") ||
          line.starts_with("VM_ALLOC ") || line.starts_with("VM_FREE ")) &&
         line.find(" [size=") != std::string_view::npos;
}

class MallocHistoryReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {{"bytes", Unit::bytes}, {"calls", Unit::count}};
    each_line([&](std::string_view line) { take(line); });
    end_parts();
    if (!whole) cut_off("its last line may be cut off");
    describe();
    if (profile.touched().empty() && events_ != 0)
      lines.fail(
          "it has only events of single blocks (ALLOC, FREE); take the sums of all stacks, "
          "with malloc_history -allBySize or -callTree");
    return finish(
        "line like '3 calls for 12288 bytes: thread_7fff7a1 |start | main', nor a call "
        "graph with sizes");
  }

 private:
  void take(std::string_view line) {
    if (process_.take(line)) return;
    if (const auto calls = calls_line(line)) return take_calls(*calls);
    if (is_block_event(line)) {
      ++events_;
      return;
    }
    if (trimmed(line) == graph_head) {
      end_parts();
      in_graph_ = true;
      return;
    }
    if (listed_) return take_listed(line);
    if (in_graph_) take_node(line);
  }

  StackId root(std::string_view thread) {
    return push_process(profile, process_.name, process_.pid, thread, options);
  }

  void take_calls(const Calls& calls) {
    end_parts();
    std::string_view text = calls.stack;
    const std::string_view thread = take_piped_thread(text);
    StackId stack = root(thread);
    if (text.empty()) {
      listed_ = calls;
      stack_ = stack;
      return;
    }
    while (!text.empty()) {
      const FrameId id = frame(take_until(text, " | "), [&](std::string_view each) {
        return text_frame(parse_piped_frame(each), options, storage_);
      });
      stack = profile.stacks.push(stack, id);
    }
    add(stack, calls.count, calls.bytes);
  }

  // The frames below "3 calls for 12288 bytes:", one a line, root first.
  void take_listed(std::string_view line) {
    const auto found = parse_listed_frame(line);
    if (!found) return end_parts();
    const FrameId id =
        frame(line, [&](std::string_view) { return text_frame(*found, options, storage_); });
    stack_ = profile.stacks.push(stack_, id);
  }

  void take_node(std::string_view line) {
    const auto found = parse_tree_line(line);
    if (!found || !found->size) {
      // What follows is the same again, by function.
      if (trimmed(line).empty()) return;
      if (line.starts_with(' ') && !tree_.empty()) return bad("not a line of the call graph");
      return end_parts();
    }
    const auto caller = tree_.caller(found->indent);
    CallTree::Node node{.stack = caller.value_or(StackId{}),
                        .count = found->count,
                        .bytes = found->size->bytes,
                        .unit = found->size->unit};
    if (!caller) node.stack = root("");
    if (found->text != tree_total) {
      const FrameId id = frame(found->text, [&](std::string_view text) {
        return text_frame(parse_tree_frame(text), options, storage_);
      });
      node.stack = profile.stacks.push(node.stack, id);
    }
    tree_.add(found->indent, node);
  }

  void add(StackId stack, int64_t count, int64_t bytes) {
    if (!stack) stack = profile.push({}, "[no stack]", FrameKind::note);
    profile.add(stack, std::array{bytes, count});
  }

  void end_parts() {
    if (listed_) add(stack_, listed_->count, listed_->bytes);
    listed_.reset();
    const uint64_t before = tree_.contradictions();
    tree_.end();
    if (tree_.contradictions() != before)
      bad("lines of the call graph above it have fewer calls than the lines below them");
    in_graph_ = false;
  }

  void describe() {
    profile.meta.title = "malloc_history";
    if (tree_.rounded())
      profile.meta.notes.emplace_back(
          "sizes are rounded as malloc_history printed them; "
          "-allBySize has exact ones");
    if (events_ != 0)
      profile.meta.notes.push_back("events of single blocks (ALLOC, FREE) are left out: " +
                                   with_commas(events_));
  }

  MacProcess process_;
  CallTree tree_{[this](StackId stack, int64_t count, int64_t bytes) { add(stack, count, bytes); }};
  std::optional<Calls> listed_;  // its frames are being read
  StackId stack_;
  std::string storage_;
  bool in_graph_ = false;
  int64_t events_ = 0;
};

}  // namespace

bool is_malloc_history(std::string_view head) {
  std::string_view line;
  bool in_graph = false;
  while (next_line(head, line)) {
    try {
      if (line.starts_with(history_head) || calls_line(line)) return true;
      if (in_graph) {
        const auto found = parse_tree_line(line);
        return found && found->size;
      }
    } catch (const Error&) {  // a number beyond 64 bits, which the reader reports
      return true;
    }
    in_graph = trimmed(line) == graph_head;
  }
  return false;
}

Profile read_malloc_history(Source& source, const ReadOptions& options) {
  return MallocHistoryReader(source, options).run();
}

}  // namespace memflame
