// gdb's "bt" and "thread apply all bt" (and a pstack that is made of them): a stack a thread.
//
//   Thread 2 (Thread 0x7f8bd2fde6c0 (LWP 8778) "worker"):
//   #0  0x00007f8bd30b5df2 in __libc_pause () at ./pause.c:29
//   #1  deep::level (n=n@entry=0) at thr.cc:5             no address: #0 is inlined into it
//   #2  0x00005628f09ba1bc in work (p=0x3) from /lib/libwork.so
#include <array>

#include "collapse/inputs/gdb_frame.h"
#include "collapse/inputs/text_reader.h"
#include "core/units.h"

namespace memflame {
namespace {

class Reader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {{"threads", Unit::count}};
    each_line([&](std::string_view line) { take(line); });
    end_thread();
    if (!whole) cut_off("its last line may be cut off");
    if (stopped_ != 0)
      profile.meta.notes.push_back(
          with_commas(static_cast<int64_t>(stopped_)) +
          " stacks are not whole: gdb could not go on or was told to stop");
    return finish("frame like '#0  0x00401136 in main () at main.c:5'");
  }

 private:
  static constexpr size_t longest_frame = size_t{1} << 20U;

  void take(std::string_view line) {
    if (line.starts_with("Thread ") && line.ends_with(':')) return begin_thread(line);
    if (const auto number = gdb_frame_number(line)) {
      if (*number == 0) end_stack();
      end_frame();
      text_ = line;
      return;
    }
    const bool empty = trimmed(line).empty();
    // gdb breaks long lines and goes on behind four blanks; bt full has variables behind eight.
    if (line.starts_with("    ") && !empty) {
      if (!text_.empty() && line[4] != ' ' && text_.size() < longest_frame)
        text_.append(" ").append(trimmed(line));
      return;
    }
    end_frame();
    if (line.starts_with("Backtrace stopped:") || line.starts_with("(More stack frames follow"))
      ++stopped_;
    else if (!empty && !is_chatter(line))
      bad("no frame");
    if (empty) end_stack();
  }

  static bool is_chatter(std::string_view line) {
    for (const std::string_view begin :
         {"[New ", "[Thread debugging", "[Inferior ", "[Switching to ", "[Current thread is ",
          "Using host libthread_db", "warning: ", "No locals.", "No symbol table info"})
      if (line.starts_with(begin)) return true;
    return false;
  }

  // 'Thread 2 (Thread 0x7f8bd2fde6c0 (LWP 8778) "worker"):'
  void begin_thread(std::string_view line) {
    end_thread();
    const size_t open = line.find('"');
    const size_t close = line.rfind('"');
    if (open != close) name_ = line.substr(open + 1, close - open - 1);
    for (const std::string_view mark : {"LWP ", "process "}) {
      const size_t at = line.find(mark);
      if (at == std::string_view::npos) continue;
      const std::string_view digits = line.substr(at + mark.size());
      tid_ = digits.substr(0, digits.find_first_not_of("0123456789"));
      return;
    }
  }

  void end_frame() {
    if (text_.empty()) return;
    const GdbFrame parsed = parse_gdb_frame(text_);
    TextFrame made = parsed.frame;
    if (made.function == "??") {
      made.function = options.addresses && !parsed.address.empty() ? parsed.address : "[unknown]";
      made.kind = FrameKind::unknown;
    }
    if (!frames_.empty() && parsed.address.empty() && !parsed.special)
      frames_.back() = with_kind(profile, frames_.back(), FrameKind::inlined);
    frames_.push_back(intern(profile, made, options));
    text_.clear();
  }

  void end_stack() {
    end_frame();
    if (frames_.empty()) return;
    const StackId root = push_process(profile, name_, "", tid_, options);
    profile.add(push_leaf_first(profile, root, frames_), std::array{int64_t{1}});
    frames_.clear();
    name_.clear();
    tid_.clear();
  }

  void end_thread() {
    end_stack();
    name_.clear();
    tid_.clear();
  }

  std::string text_, name_, tid_;
  std::vector<FrameId> frames_;
  uint64_t stopped_ = 0;
};

}  // namespace

bool is_gdb(std::string_view head) {
  std::string_view line;
  while (next_line(head, line)) {
    const auto number = gdb_frame_number(line);
    if (!number) continue;
    const bool call = line.find(" (") != std::string_view::npos;
    if (call && (line.find(" in ") != std::string_view::npos || line.ends_with(')') ||
                 line.find(") at ") != std::string_view::npos))
      return true;
  }
  return false;
}

Profile read_gdb(Source& source, const ReadOptions& options) {
  return Reader(source, options).run();
}

}  // namespace memflame
