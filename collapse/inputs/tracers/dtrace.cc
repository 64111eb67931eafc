// SPDX-License-Identifier: BSD-2-Clause
// What DTrace prints of aggregations whose keys are stacks:
//
//   CPU     ID                    FUNCTION:NAME
//     8  35077                        :tick-60s
//
//     sshd                                               a further key
//                 genunix`fop_open+0x5d                   stack(): leaf first
//                 unix`sys_syscall+0x17d
//
//                 libc.so.1`__open+0xa                    ustack()
//                 sshd`main+0x12
//                   4096
#include <algorithm>
#include <array>

#include "collapse/inputs/text_reader.h"
#include "collapse/inputs/tracers/dtrace_compat.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr size_t frame_indent = 8;  // DTrace puts 14 blanks before a frame, 2 before a key

size_t indent(std::string_view line) { return first_not_in(line, blank_bytes); }

bool is_header(std::string_view line) {
  return trimmed(line).starts_with("CPU") && line.find("FUNCTION:NAME") != std::string_view::npos;
}

// "  8  35077      :tick-60s", below the header.
bool is_probe(std::string_view line) {
  line = trimmed(line);
  const std::string_view cpu = take_until(line, " ");
  line = trimmed(line);
  const std::string_view id = take_until(line, " ");
  return all_in(cpu, digit_bytes) && all_in(id, digit_bytes) &&
         line.find(':') != std::string_view::npos;
}

// A number among keys is right-aligned: "             1234  bash".
bool begins_with_number(std::string_view text) {
  text = trimmed(text);
  const size_t digits = first_not_in(text, digit_bytes);
  return digits != 0 && text.substr(digits).starts_with("  ");
}

bool is_dtrace_frame(std::string_view line) {
  return line.find('`') != std::string_view::npos ||
         (indent(line) >= frame_indent && !begins_with_number(line)) ||
         (trimmed(line).starts_with("0x") && hex_address(trimmed(line)));
}

bool is_distribution(std::string_view line) {
  return line.find("- Distribution -") != std::string_view::npos;
}

TextFrame parse_dtrace_frame(std::string_view line, const ReadOptions& options) {
  constexpr std::array<std::string_view, 5> kernels{"unix", "genunix", "mach_kernel", "kernel",
                                                    "vmlinux"};
  TextFrame frame{.function = trimmed(line)};
  if (const size_t tick = frame.function.find('`'); tick != std::string_view::npos) {
    frame.module = frame.function.substr(0, tick);
    frame.function.remove_prefix(tick + 1);
  }
  if (!options.offsets) frame.function = without_offset(frame.function);
  // On macOS each machine type has a kernel: "kernel.release.t6000".
  if (std::find(kernels.begin(), kernels.end(), frame.module) != kernels.end() ||
      frame.module.starts_with("kernel."))
    frame.kind = FrameKind::kernel;
  if (frame.function.starts_with("0x"))
    if (const auto address = hex_address(frame.function))
      frame.kind = is_kernel_address(*address) ? FrameKind::kernel : FrameKind::unknown;
  return frame;
}

class DtraceReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {options.type.value_or(ValueType{"count", Unit::count})};
    each_line([&](std::string_view line) { take(line); });
    end_distribution();
    if (number_) end_stack(*number_);
    end_of_stacks(!frames_.empty() || !keys_.empty(), "the last number");
    return finish("stack with a number below it");
  }

 private:
  struct Part {
    size_t begin = 0;
    bool kernel = false;
  };

  void take(std::string_view line) {
    if (in_distribution_ && take_bucket(line)) return;
    end_distribution();
    const std::string_view text = trimmed(line);
    // A number with a frame right below it was a key; stacks begin after an empty line.
    if (number_) {
      if (text.empty() || !is_dtrace_frame(line) || integer(text))
        end_stack(*number_);
      else
        keys_.push_back(std::to_string(*number_));
      number_.reset();
    }
    if (text.empty()) {
      new_part_ = true;
      return;
    }
    if (is_header(line) || (frames_.empty() && is_probe(line)) || line.starts_with("dtrace: ") ||
        text == "^C")
      return;
    if (const auto number = integer(text)) return take_number(*number);
    if (is_distribution(line)) {
      in_distribution_ = true;
      distribution_ = 0;
      return;
    }
    if (is_dtrace_frame(line)) return take_frame(line);
    take_key(text);
  }

  void take_number(int64_t number) {
    if (frames_.empty())
      number_ = number;
    else
      end_stack(number);
  }

  void take_frame(std::string_view line) {
    if (new_part_ || parts_.empty()) parts_.push_back({frames_.size(), false});
    new_part_ = false;
    const FrameId id =
        frame(line, [&](std::string_view text) { return parse_dtrace_frame(text, options); });
    if (profile.frames[id].kind == FrameKind::kernel) parts_.back().kernel = true;
    frames_.push_back(id);
  }

  // "bash", or several: "bash      1234". After a stack, and if no stack follows, the number is the
  // value.
  void take_key(std::string_view text) {
    const size_t gap = text.rfind("  ");
    const auto value =
        gap == std::string_view::npos ? std::nullopt : integer(trimmed(text.substr(gap)));
    take_words(trimmed(text.substr(0, value ? gap : text.size())));
    if (value) take_number(*value);
  }

  // Numbers next to text are keys of their own: "1234  bash", "bash      1234".
  void take_words(std::string_view text) {
    constexpr std::string_view gap = "  ";
    for (size_t at = text.find(gap); at != std::string_view::npos; at = text.find(gap)) {
      if (!integer(text.substr(0, at))) break;
      keys_.emplace_back(text.substr(0, at));
      text = trimmed(text.substr(at));
    }
    std::vector<std::string_view> numbers;  // from the last
    for (size_t at = text.rfind(gap); at != std::string_view::npos; at = text.rfind(gap)) {
      if (!integer(text.substr(at + gap.size()))) break;
      numbers.push_back(text.substr(at + gap.size()));
      text = trimmed(text.substr(0, at));
    }
    keys_.emplace_back(text);
    keys_.insert(keys_.end(), numbers.rbegin(), numbers.rend());
  }

  // The kernel's stack goes on top of the program's, whichever was printed first.
  void end_stack(int64_t value) {
    StackId top;
    for (const std::string& key : keys_) top = profile.push(top, key);
    for (const bool kernel : {false, true})
      for (size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i].kernel != kernel) continue;
        const size_t end = i + 1 < parts_.size() ? parts_[i + 1].begin : frames_.size();
        const auto part = std::span(frames_).subspan(parts_[i].begin, end - parts_[i].begin);
        if (kernel)
          for (FrameId& id : part) id = with_kind(profile, id, FrameKind::kernel);
        top = push_leaf_first(profile, top, part);
      }
    if (frames_.empty()) top = profile.push(top, "[no stack]", FrameKind::note);
    profile.add(top, std::array{value});
    frames_.clear();
    parts_.clear();
    keys_.clear();
  }

  // "              32 |@@@@@@@@ 12".
  bool take_bucket(std::string_view line) {
    const size_t bar = line.find('|');
    if (bar == std::string_view::npos) return false;
    const std::string_view text = trimmed(line.substr(bar + 1));
    const auto count = integer(text.substr(text.find_last_of(" \t@") + 1));
    if (!count) return false;
    if (!add_to(distribution_, *count, Unit::count))
      throw Error("a distribution leaves the range of 64 bits");
    return true;
  }

  void end_distribution() {
    if (!in_distribution_) return;
    in_distribution_ = false;
    end_stack(distribution_);
  }

  std::vector<FrameId> frames_;
  std::vector<Part> parts_;
  std::vector<std::string> keys_;
  std::optional<int64_t> number_;
  bool new_part_ = true, in_distribution_ = false;
  int64_t distribution_ = 0;
};

}  // namespace

bool is_dtrace(std::string_view head) {
  bool frames = false;
  std::string_view line;
  while (next_line(head, line)) {
    const std::string_view text = trimmed(line);
    if (text.empty() || line.starts_with("dtrace: ")) continue;
    if (is_header(line)) return true;
    const bool number = text.find_first_not_of("-0123456789") == std::string_view::npos;
    if ((number || is_distribution(line)) && frames) return true;
    if (indent(line) >= frame_indent && line.find('`') != std::string_view::npos)
      frames = true;
    else if (!number && text.find(';') != std::string_view::npos)
      return false;
  }
  return false;
}

Profile read_dtrace(Source& source, const ReadOptions& options) {
  return options.compat ? read_dtrace_compat(source, options) : DtraceReader(source, options).run();
}

}  // namespace memflame
