// SPDX-License-Identifier: BSD-2-Clause
// Stacks as bcc's stackcount, profile, offcputime and mallocstacks print them when not folded:
//
//   Tracing 1 functions for "malloc"... Hit Ctrl-C to end.
//
//     submit_bio                  kernel, leaf first; -v: its address before it, -s: an offset
//       --                        -d: here the kernel's stack ends
//     fsync
//     main
//       tar [15069]               stackcount -P;  "    -      tar (15069)" of profile
//       12
//
// mallocstacks has the number first: "4096 bytes allocated at:". profile -a marks the kernel's
// functions: "submit_bio_[k]". Older versions under Python 3 print b'submit_bio'.
#include <algorithm>
#include <array>

#include "collapse/inputs/folded/marked_names.h"
#include "collapse/inputs/text_reader.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr std::string_view allocated_at = " bytes allocated at:";

bool is_bcc_banner(std::string_view line) {
  return (line.starts_with("Tracing ") || line.starts_with("Sampling at ")) &&
         (line.ends_with("Hit Ctrl-C to end.") || line.ends_with(" secs."));
}

// "b'submit_bio'"
std::string_view without_quotes(std::string_view name) {
  const bool is_quoted = name.size() > 3 && (name.starts_with("b'") || name.starts_with("b\"")) &&
                         name.back() == name[1];
  return is_quoted ? name.substr(2, name.size() - 3) : name;
}

constexpr ByteSet time_bytes = byte_set("0123456789:");

bool is_clock_time(std::string_view line) {
  line = trimmed(line);
  return line.size() == 8 && line[2] == ':' && line[5] == ':' && all_in(line, time_bytes);
}

TextFrame parse(std::string_view line, const ReadOptions& options) {
  constexpr size_t shortest_address = 6;
  TextFrame frame{.function = trimmed(line)};
  const std::string_view first = frame.function.substr(0, frame.function.find(' '));
  std::string_view address;
  if (first != frame.function && first.size() >= shortest_address && is_hex(first)) {
    address = first;
    frame.function = trimmed(frame.function.substr(first.size()));
    if (is_kernel_address(hex_address(first).value_or(0))) frame.kind = FrameKind::kernel;
  }
  frame.function = without_quotes(frame.function);
  if (const FrameKind marked = take_mark(frame.function); marked != FrameKind::user)
    frame.kind = marked;
  if (frame.function.starts_with("[Missed ")) {
    frame.kind = FrameKind::note;
  } else if (frame.function == "[unknown]") {
    if (options.addresses && !address.empty()) frame.function = address;
    if (frame.kind == FrameKind::user) frame.kind = FrameKind::unknown;
  } else {
    const std::string_view bare = without_offset(frame.function);
    if (is_kernel_entry(bare)) frame.kind = FrameKind::kernel;
    if (!options.offsets) frame.function = bare;
  }
  return frame;
}

class BccReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {options.type.value_or(ValueType{"count", Unit::count})};
    each_line([&](std::string_view line) { take(line); });
    end_allocation();
    end_of_stacks(!frames_.empty(), "the last line");
    return finish("stack with a number below it");
  }

 private:
  void take(std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.empty()) return end_allocation();
    if (line[0] != ' ' && line[0] != '\t') return unindented(line);
    if (allocation_) return add_frame(line);
    if (const auto value = integer(text)) return end_stack(*value);
    if (text == "--") return delimiter();
    if (take_process(line, text)) return;
    add_frame(line);
  }

  void unindented(std::string_view line) {
    if (line.ends_with(allocated_at)) {
      end_allocation();
      allocation_ = integer(line.substr(0, line.size() - allocated_at.size()));
      if (allocation_ && !options.type) profile.types = {{"bytes", Unit::bytes}};
      if (allocation_) return;
    }
    if (line.starts_with("Sampling at ") && !options.type) profile.types[0].name = "samples";
    if (line.starts_with("Tracing off-CPU time (us)") && !options.type)
      profile.types[0].name = "microseconds";
    constexpr std::array<std::string_view, 4> known{"^C", "Detaching...", "Attaching ",
                                                    "Press Ctrl+C"};
    const bool expected = std::any_of(known.begin(), known.end(), [&](std::string_view begin) {
      return line.starts_with(begin);
    });
    if (!expected && !is_bcc_banner(line) && !is_clock_time(line)) bad("not a line of a stack");
  }

  void delimiter() {
    for (; delimited_ < frames_.size(); ++delimited_) mark_kernel(frames_[delimited_]);
    has_delimiter_ = true;
  }

  // "    tar [15069]" below frames with two blanks, or "    -     tar (15069)".
  bool take_process(std::string_view line, std::string_view text) {
    const bool dashed = text.starts_with("- ");
    if (!dashed && (!line.starts_with("    ") || !text.ends_with(']'))) return false;
    const auto pid = dashed ? take_bracketed(text, '(', ')') : take_bracketed(text, '[', ']');
    if (!pid || !all_in(*pid, digit_bytes)) return false;
    pid_ = *pid;
    comm_ = without_quotes(dashed ? trimmed(text.substr(1)) : text);
    return true;
  }

  void add_frame(std::string_view line) {
    frames_.push_back(frame(line, [&](std::string_view text) { return parse(text, options); }));
  }

  void mark_kernel(FrameId& id) {
    if (profile.frames[id].kind != FrameKind::note) id = with_kind(profile, id, FrameKind::kernel);
  }

  // Without a delimiter the kernel's stack ends at the function through which the kernel was
  // entered.
  void mark_kernel() {
    if (has_delimiter_) return;
    size_t end = frames_.size();
    while (end > 0 && profile.frames[frames_[end - 1]].kind != FrameKind::kernel) --end;
    for (size_t i = 0; i < end; ++i) mark_kernel(frames_[i]);
  }

  void end_stack(int64_t value) {
    mark_kernel();
    StackId top = push_process(profile, comm_, pid_, "", options);
    if (frames_.empty()) top = profile.push(top, "[no stack]", FrameKind::note);
    profile.add(push_leaf_first(profile, top, frames_), std::array{value});
    frames_.clear();
    comm_.clear();
    pid_.clear();
    has_delimiter_ = false;
    delimited_ = 0;
  }

  void end_allocation() {
    if (!allocation_) return;
    const int64_t value = *allocation_;
    allocation_.reset();
    end_stack(value);
  }

  std::vector<FrameId> frames_;
  std::string comm_, pid_;
  bool has_delimiter_ = false;
  size_t delimited_ = 0;  // frames before the last delimiter
  std::optional<int64_t> allocation_;
};

}  // namespace

bool is_bcc_stacks(std::string_view head) {
  std::string_view line;
  while (next_line(head, line)) {
    if (is_bcc_banner(line)) return true;
    if (line.ends_with(allocated_at) &&
        first_not_in(line, digit_bytes) == line.size() - allocated_at.size())
      return true;
  }
  return false;
}

Profile read_bcc_stacks(Source& source, const ReadOptions& options) {
  return BccReader(source, options).run();
}

}  // namespace memflame
