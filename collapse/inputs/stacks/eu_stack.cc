// SPDX-License-Identifier: BSD-2-Clause
// The output of elfutils' eu-stack (and pstack if that is elfutils'): the stack of each thread of a
// process or core.
//
//   PID 8776 - process
//   TID 8778:
//   #0  0x00007f8bd30b5df2 pause - /usr/lib/libc.so.6            -m: module
//       [93ac61ec…]@0x7f8bd2fe2000+0xd3df2                        -b: build id
//       ./pause.c:29:10                                            -s: source, or a file only
//   #1  0x00005628f09ba196 - 1 main                                -a: a return address
#include <array>

#include "collapse/inputs/text_reader.h"
#include "collapse/text/byte_set.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr ByteSet end_of_id = byte_set(" :");

bool is_eu_stack_frame(std::string_view line) {
  if (!line.starts_with('#')) return false;
  line.remove_prefix(1);
  const std::string_view number = take_until(line, " ");
  return all_in(number, digit_bytes) && trimmed(line).starts_with("0x");
}

class EuStackReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {{"threads", Unit::count}};
    each_line([&](std::string_view line) { take(line); });
    end_frame();
    end_thread();
    if (!whole) cut_off("its last line may be cut off");
    if (stopped_ != 0)
      profile.meta.notes.push_back(with_commas(static_cast<int64_t>(stopped_)) +
                                   " stacks are not whole: eu-stack was told to stop (-n)");
    return finish("thread like 'TID 8778:' with frames below it");
  }

 private:
  void take(std::string_view line) {
    if (line.starts_with("PID ") || line.starts_with("TID ")) return begin(line);
    if (in_thread_ && is_eu_stack_frame(line)) return take_frame(line);
    if (in_thread_ && line.starts_with("    ") && have_frame_) return take_detail(trimmed(line));
    // Printed on standard error, and possibly captured with the output.
    if (line.starts_with("eu-stack: ") &&
        line.find("shown max number of frames") != std::string_view::npos)
      ++stopped_;
    else if (!trimmed(line).empty())
      bad("not a line of a stack");
  }

  void begin(std::string_view line) {
    end_frame();
    end_thread();
    const bool process = line.starts_with("PID ");
    line.remove_prefix(4);
    (process ? pid_ : tid_) = line.substr(0, first_in(line, end_of_id));
    in_thread_ = !process;
  }

  void take_frame(std::string_view line) {
    end_frame();
    line = trimmed(line.substr(line.find(' ')));
    const std::string_view address = take_until(line, " ");
    line = trimmed(line);
    if (line.starts_with("- 1")) line = trimmed(line.substr(3));
    text_ = line;
    address_ = address;
    file_.clear();
    line_ = 0;
    have_frame_ = true;
  }

  // "[BUILD ID]@0x7f8b+0xd3" or "FILE[:LINE[:COLUMN]]".
  void take_detail(std::string_view text) {
    if (text.starts_with('[') && text.find("]@0x") != std::string_view::npos) return;
    auto line = take_line_number(text);
    if (const auto before = take_line_number(text)) line = before;
    file_ = text;
    line_ = line.value_or(0);
  }

  // Inlined functions (-i) have the address of the function they are in.
  void end_frame() {
    if (!have_frame_) return;
    have_frame_ = false;
    TextFrame made{.function = text_, .file = file_, .line = line_};
    if (const size_t dash = made.function.rfind(" - "); dash != std::string_view::npos) {
      made.module = trimmed(made.function.substr(dash + 3));
      made.function = trimmed(made.function.substr(0, dash));
    } else if (made.function.starts_with("- ")) {
      made.module = trimmed(made.function.substr(2));
      made.function = {};
    }
    if (made.function.empty()) {
      made.function = options.addresses ? std::string_view(address_) : "[unknown]";
      made.kind = FrameKind::unknown;
    }
    const FrameId id = intern(profile, made, options);
    if (!frames_.empty() && address_ == last_address_ && text_ != last_text_)
      frames_.back() = with_kind(profile, frames_.back(), FrameKind::inlined);
    frames_.push_back(id);
    last_address_ = address_;
    last_text_ = text_;
  }

  void end_thread() {
    if (!frames_.empty()) {
      const StackId root = push_process(profile, "", pid_, tid_, options);
      profile.add(push_leaf_first(profile, root, frames_), std::array{int64_t{1}});
    }
    frames_.clear();
  }

  std::string pid_, tid_;
  bool in_thread_ = false, have_frame_ = false;
  uint64_t stopped_ = 0;
  std::string text_, address_, file_, last_text_, last_address_;
  uint32_t line_ = 0;
  std::vector<FrameId> frames_;
};

}  // namespace

bool is_eu_stack(std::string_view head) {
  std::string_view line;
  bool thread = false;
  while (next_line(head, line)) {
    if (thread && is_eu_stack_frame(line)) return true;
    thread = line.starts_with("TID ") && line.ends_with(':');
  }
  return false;
}

Profile read_eu_stack(Source& source, const ReadOptions& options) {
  return EuStackReader(source, options).run();
}

}  // namespace memflame
