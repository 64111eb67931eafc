// SPDX-License-Identifier: BSD-2-Clause
// What Windows' UMDH writes: the live blocks of a process (`umdh -p:PID`), or what has changed
// between two such logs (`umdh LOG1 LOG2`).
//
//   *- - - - - - - - - - Heap 140000 Hogs - - - - - - - - - -
//
//   30 bytes + 2C at 206EDDA8BA0 by BackTraceEDD4EEA6
//   	7FFE82352933
//
//   +    5320 (  f110 -  9df0)     3a allocs	BackTrace00053
//   +      14 (    3a -    26)	BackTrace00053	allocations
//
//   	ntdll!RtlAllocateHeap+00000274
//   	server!make+0000002C (c:\src\make.cc, 163)
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "collapse/inputs/heap/umdh_comparison.h"
#include "collapse/inputs/heap/umdh_lines.h"
#include "collapse/inputs/text_reader.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr std::array<std::string_view, 3> umdh_heads{"UMDH: ", "// Debug library initialized",
                                                     "// Loaded modules:"};

bool is_heap_line(std::string_view line) {
  return line.starts_with("*- - - - ") && line.find("eap ") != std::string_view::npos;
}

class UmdhReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {
        {"live", Unit::bytes}, {"live_blocks", Unit::count}, {"overhead", Unit::bytes}};
    each_line([&](std::string_view line) { take(line); });
    end_entry();
    if (!whole)
      cut_off("its last line may be cut off");
    else if (in_heap_)
      cut_off("the last heap has no end, so blocks may be missing");
    profile.meta.title = "UMDH";
    if (!comparison_.empty()) {
      if (any_blocks_) lines.fail("it has blocks and changes: give one log or one comparison");
      comparison_.finish(profile);
    }
    if (nameless_ != 0)
      profile.meta.notes.push_back("stacks that are not in the file: " + with_commas(nameless_) +
                                   "; they are named by their number");
    return finish(
        "line like '30 bytes + 2C at 206EDDA8BA0 by BackTraceEDD4EEA6' or '+ 5320 ( f110 "
        "- 9df0) 3a allocs BackTrace00053'");
  }

 private:
  void take(std::string_view line) {
    if (is_heap_line(line)) return take_heap(line);
    if (line.starts_with("//")) return take_module(line);
    if (const auto blocks = umdh_blocks(line)) return begin_blocks(*blocks);
    if (const auto change = umdh_change(line)) return take_change(*change);
    if (const auto total = umdh_total(line)) {
      end_entry();
      return comparison_.set_total(*total);
    }
    if (line.starts_with("Allocations for trace ")) return end_entry();
    if (!in_entry_) return;
    const std::string_view text = trimmed(line);
    if (!text.empty()) return take_frame(text);
    if (!frames_.empty()) end_entry();
  }

  void take_heap(std::string_view line) {
    end_entry();
    if (line.find(" Start of data for heap ") != std::string_view::npos) in_heap_ = true;
    if (line.find(" End of data for heap ") != std::string_view::npos) in_heap_ = false;
  }

  void take_module(std::string_view line) {
    end_entry();
    if (const auto module = umdh_module(line))
      modules_[module->base] = {module->size, std::string(windows_file_name(module->path))};
  }

  void begin_blocks(const UmdhBlocks& blocks) {
    begin_entry(blocks.trace);
    blocks_ = blocks;
    blocks_->trace = {};
  }

  void take_change(const UmdhChange& change) {
    if (!fits(change)) bad("a change that is not the difference of its two numbers");
    if (!change.of_blocks) {
      begin_entry(change.trace);
      comparison_.add(change);
    } else if (in_entry_ && frames_.empty() && change.trace == trace_ && !blocks_) {
      comparison_.add_blocks(change);
    } else {
      bad("blocks without the bytes of their stack above them");
    }
  }

  void begin_entry(std::string_view trace) {
    end_entry();
    in_entry_ = true;
    trace_ = trace;
  }

  void take_frame(std::string_view text) {
    frames_.push_back(frame(text, [&](std::string_view each) { return parse(each); }));
  }

  TextFrame parse(std::string_view text) {
    const UmdhFrame found = umdh_frame(text);
    TextFrame made = found.frame;
    if (!made.function.empty()) {
      if (options.offsets && !found.offset.empty())
        name_ = std::string(made.function) + "+" + std::string(found.offset);
      else
        return made;
    } else {
      made.kind = FrameKind::unknown;
      name_ = options.addresses && found.address ? std::string(text) : place_of(found, made.module);
    }
    made.function = name_;
    return made;
  }

  // "[ntdll.dll+0x2933]" of code without a symbol.
  std::string place_of(const UmdhFrame& found, std::string_view module) {
    if (!found.address) return module.empty() ? "[unknown]" : "[" + std::string(module) + "]";
    auto next = modules_.upper_bound(*found.address);
    if (next == modules_.begin()) return "[unknown]";
    --next;
    const uint64_t offset = *found.address - next->first;
    if (offset >= next->second.size) return "[unknown]";
    constexpr size_t most_digits = 16;
    std::array<char, most_digits> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), offset, 16).ptr;
    return "[" + next->second.name + "+0x" + std::string(digits.data(), end) + "]";
  }

  void end_entry() {
    if (!in_entry_) return;
    in_entry_ = false;
    const StackId stack = stack_of_entry();
    frames_.clear();
    if (blocks_) {
      profile.add(stack, std::array{blocks_->bytes, blocks_->count, blocks_->overhead});
      any_blocks_ = true;
    } else {
      comparison_.set_stack(stack);
    }
    blocks_.reset();
  }

  // A log may have the frames of a stack only where it is first.
  StackId stack_of_entry() {
    const auto known = stacks_.find(trace_);
    if (frames_.empty() && known != stacks_.end()) return known->second;
    StackId stack;
    if (frames_.empty()) {
      ++nameless_;
      stack = profile.push({}, "[" + trace_ + "]", FrameKind::unknown);
    } else {
      stack = push_leaf_first(profile, {}, frames_);
    }
    return stacks_.insert_or_assign(trace_, stack).first->second;
  }

  struct Module {
    uint64_t size = 0;
    std::string name;
  };

  bool in_entry_ = false, in_heap_ = false, any_blocks_ = false;
  std::string trace_;                 // of the entry
  std::optional<UmdhBlocks> blocks_;  // the entry, unless it is the last of the comparison
  std::vector<FrameId> frames_;       // of the entry, leaf first
  UmdhComparison comparison_;
  std::unordered_map<std::string, StackId> stacks_;
  std::map<uint64_t, Module> modules_;  // by their first address
  int64_t nameless_ = 0;
  std::string name_;
};

}  // namespace

bool is_umdh(std::string_view head) {
  std::string_view line;
  while (next_line(head, line)) {
    if (is_heap_line(line)) return true;
    if (std::any_of(umdh_heads.begin(), umdh_heads.end(),
                    [&](std::string_view each) { return line.starts_with(each); }))
      return true;
    try {
      if (umdh_blocks(line) || umdh_change(line)) return true;
    } catch (const Error&) {  // a number beyond 64 bits, which the reader reports
      return true;
    }
  }
  return false;
}

Profile read_umdh(Source& source, const ReadOptions& options) {
  return UmdhReader(source, options).run();
}

}  // namespace memflame
