// SPDX-License-Identifier: BSD-2-Clause
// What `leaks` of macOS prints: trees of what each leaked block holds, below the stack that
// allocated the root of the tree if stacks were logged. It may stand among output of the program.
//
//   leaks Report Version: 4.0, multi-line stacks
//   Process 1234: 3 leaks for 176 total leaked bytes.
//
//   STACK OF 2 INSTANCES OF 'ROOT LEAK: <malloc in make>':
//   2   dyld                                  0x1877a8274 start + 2840
//   1   server                                0x1043365ec main + 104  main.c:28
//   0   libsystem_malloc.dylib                0x1879627cc malloc + 148
//   ====
//       3 (176 bytes) << TOTAL >>
//         2 (112 bytes) ROOT LEAK: <malloc in make 0x137f04200> [64]
//            1 (48 bytes) <CFString 0x137f04260> [48]
//         1 (64 bytes) ROOT LEAK: <malloc in make 0x137f04300> [64]
//
// Older versions list blocks: "Leak: 0x600000d506c0  size=64  zone: DefaultMallocZone_0x11  Song",
// and below it "Call stack: [thread 0x10a974380]: | 0x10a5f678d (libdyld.dylib) start | …".
#include <array>

#include "collapse/inputs/macos/call_tree.h"
#include "collapse/inputs/macos/leaked_object.h"
#include "collapse/inputs/macos/mac_frame.h"
#include "collapse/inputs/scan.h"
#include "collapse/inputs/text_reader.h"
#include "core/units.h"

namespace memflame {
namespace {

struct Leaked {
  int64_t count = 0, bytes = 0;
};

// "Process 1234: 3 leaks for 176 total leaked bytes."
std::optional<Leaked> leaked_total(std::string_view line) {
  if (line.find(" total leaked byte") == std::string_view::npos) return std::nullopt;
  Scan scan{line};
  uint64_t pid = 0;
  Leaked leaked;
  const bool known = scan.literal("Process ") && scan.small_number(pid) && scan.literal(": ") &&
                     scan.number(leaked.count) &&
                     (scan.literal(" leaks for ") || scan.literal(" leak for ")) &&
                     scan.number(leaked.bytes) && scan.literal(" total leaked byte");
  return known && leaked.count >= 0 && leaked.bytes >= 0 ? std::optional(leaked) : std::nullopt;
}

bool is_stack_head(std::string_view line) {
  return line.starts_with("STACK OF ") && line.find(" OF '") != std::string_view::npos;
}

class LeaksReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {{"leaked", Unit::bytes},
                     {"leaked_blocks", Unit::count},
                     {"roots", Unit::bytes},
                     {"roots_blocks", Unit::count}};
    each_line([&](std::string_view line) { take(line); });
    end_report();
    if (!whole) cut_off("its last line may be cut off");
    profile.meta.title = "leaks";
    if (reports_ > 1)
      profile.meta.notes.push_back("reports on " + with_commas(reports_) + " are added up");
    if (tree_.rounded())
      profile.meta.notes.emplace_back("some sizes are rounded as leaks printed them");
    if (reports_ != 0 && told_any_ && profile.touched().empty() && stated_.count == 0)
      lines.fail("it reports no leak, so there is nothing to show");
    return finish("leak like '1 (64 bytes) ROOT LEAK: <malloc in make 0x137f04200> [64]'");
  }

 private:
  void take(std::string_view line) {
    if (process_.take(line)) return;
    if (const auto total = leaked_total(line)) return begin_report(*total);
    if (is_stack_head(line)) return begin_stack();
    if (line.starts_with("Leak: ")) return take_block(line.substr(6));
    if (take_call_stack(line)) return;
    if (in_stack_) return take_frame(line);
    if (const auto found = parse_tree_line(line)) {
      if (found->size) return take_node(*found);
    }
    if (line.starts_with("Binary Images:")) end_group();
  }

  void begin_report(const Leaked& total) {
    end_report();
    ++reports_;
    told_any_ = true;
    stated_ = total;
  }

  StackId root(std::string_view thread) {
    return push_process(profile, process_.name, process_.pid, thread, options);
  }

  void begin_stack() {
    end_group();
    in_stack_ = true;
    stack_ = root("");
    frames_ = 0;
  }

  void take_frame(std::string_view line) {
    const auto found = parse_listed_frame(line);
    if (!found) {
      if (trimmed(line) == "====" || trimmed(line).empty()) in_stack_ = false;
      return;
    }
    const FrameId id =
        frame(line, [&](std::string_view) { return text_frame(*found, options, storage_); });
    stack_ = profile.stacks.push(stack_, id);
    ++frames_;
  }

  void take_node(const TreeLine& line) {
    auto caller = tree_.caller(line.indent);
    // A second tree behind one stack has no stack.
    if (!caller && tree_begun_) end_group();
    tree_begun_ = true;
    const LeakedObject object = parse_leaked_object(line.text);
    const bool with_stack = frames_ != 0;
    CallTree::Node node{.stack = with_stack ? stack_ : caller.value_or(root("")),
                        .count = line.count,
                        .bytes = line.size->bytes,
                        .each = object.size,
                        .unit = line.size->unit};
    if (line.text != tree_total) {
      if (!with_stack)
        node.stack = profile.push(node.stack, options.addresses ? object.text : object.name);
      if (object.is_root && object.size >= 0)
        profile.add(node.stack, std::array<int64_t, 4>{0, 0, object.size, 1});
    }
    tree_.add(line.indent, node);
  }

  void add(StackId stack, int64_t count, int64_t bytes) {
    if (!stack) stack = profile.push({}, "[not listed]", FrameKind::note);
    profile.add(stack, std::array<int64_t, 4>{bytes, count, 0, 0});
    if (!add_to(listed_.count, count, Unit::count) || !add_to(listed_.bytes, bytes, Unit::bytes))
      throw Error("a sum leaves the range of 64 bits");
  }

  // "0x600000d506c0  size=64  zone: DefaultMallocZone_0x11da72000   Song  Swift  server".
  void take_block(std::string_view text) {
    end_group();
    block_ = parse_leaked_block(text);
    if (!block_) return bad("not a leaked block");
  }

  // "Call stack: [thread 0x10a974380]: | 0x10a5f678d (libdyld.dylib) start | …".
  bool take_call_stack(std::string_view line) {
    constexpr std::string_view mark = "Call stack:";
    std::string_view text = trimmed(line);
    if (!block_ || !text.starts_with(mark)) return false;
    text.remove_prefix(mark.size());
    StackId stack = root(take_piped_thread(text));
    while (!text.empty()) {
      const FrameId id = frame(take_until(text, " | "), [&](std::string_view each) {
        return text_frame(parse_piped_frame(each), options, storage_);
      });
      stack = profile.stacks.push(stack, id);
    }
    add(stack, 1, block_->size);
    block_.reset();
    return true;
  }

  void end_group() {
    const uint64_t before = tree_.contradictions();
    tree_.end();
    if (tree_.contradictions() != before)
      bad("a tree above it has lines that contain fewer leaks "
          "than the lines below them");
    if (block_) add(profile.push(root(""), block_->name), 1, block_->size);
    block_.reset();
    in_stack_ = tree_begun_ = false;
    frames_ = 0;
  }

  void end_report() {
    end_group();
    if (told_any_ &&
        (stated_.count != listed_.count || (stated_.bytes != listed_.bytes && !tree_.rounded()))) {
      profile.meta.notes.push_back("the report states " + in_words(stated_) + ", it lists " +
                                   in_words(listed_));
      if (listed_.count < stated_.count)
        profile.losses.add(Loss::input_left_out,
                           static_cast<uint64_t>(stated_.count - listed_.count));
    }
    listed_ = stated_ = {};
  }

  static std::string in_words(const Leaked& leaked) {
    return with_commas(leaked.bytes) + " B in " + with_commas(leaked.count) + " leaks";
  }

  MacProcess process_;
  CallTree tree_{[this](StackId stack, int64_t count, int64_t bytes) { add(stack, count, bytes); }};
  bool in_stack_ = false, tree_begun_ = false, told_any_ = false;
  StackId stack_;  // of the group, if it has frames
  size_t frames_ = 0;
  std::optional<LeakedBlock> block_;
  std::string storage_;
  Leaked stated_, listed_;
  int64_t reports_ = 0;
};

}  // namespace

bool is_leaks(std::string_view head) {
  std::string_view line;
  while (next_line(head, line)) {
    try {
      if (line.starts_with("leaks Report Version:") || is_stack_head(line) || leaked_total(line))
        return true;
    } catch (const Error&) {  // a number beyond 64 bits, which the reader reports
      return true;
    }
  }
  return false;
}

Profile read_leaks(Source& source, const ReadOptions& options) {
  return LeaksReader(source, options).run();
}

}  // namespace memflame
