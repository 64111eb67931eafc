// SPDX-License-Identifier: BSD-2-Clause
// A thread dump of jstack or "kill -3": the stack of each Java thread.
//
//   "main" #1 prio=5 os_prio=0 tid=0x00007f nid=0x1 waiting on condition [0x00007f]
//      java.lang.Thread.State: TIMED_WAITING (sleeping)
//           at java.lang.Thread.sleep(java.base@17/Native Method)
//           at Main.main(Main.java:5)
//           - locked <0x000000> (a java.lang.Object)
#include <array>

#include "collapse/inputs/text_reader.h"

namespace memflame {
namespace {

constexpr std::string_view state_mark = "java.lang.Thread.State: ";
constexpr std::string_view frame_mark = "at ";

// "Main.main(java.base@17/Main.java:5)".
TextFrame parse(std::string_view line) {
  TextFrame frame{.function = trimmed(line).substr(frame_mark.size()), .kind = FrameKind::jit};
  auto place = take_bracketed(frame.function, '(', ')');
  if (!place) return frame;
  if (const size_t slash = place->rfind('/'); slash != std::string_view::npos) {
    frame.module = place->substr(0, slash);
    place->remove_prefix(slash + 1);
  }
  if (const auto number = take_line_number(*place)) {
    frame.file = *place;
    frame.line = *number;
  }
  return frame;
}

class JstackReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {{"threads", Unit::count}};
    each_line([&](std::string_view line) { take(line); });
    end_thread();
    if (!whole) cut_off("its last line may be cut off");
    return finish(R"(thread like '"main" #1 … ' with lines 'at …' below it)");
  }

 private:
  void take(std::string_view line) {
    if (line.starts_with('"')) return begin_thread(line);
    const std::string_view text = trimmed(line);
    if (text.empty() || !in_thread_ || text.starts_with("Locked ownable")) return;
    if (text.starts_with(state_mark)) {
      state_ = text.substr(state_mark.size());
    } else if (text.starts_with(frame_mark)) {
      frames_.push_back(frame(line, [](std::string_view all) { return parse(all); }));
    } else if (!text.starts_with("- ") && line.starts_with(' ')) {
      bad("not a line of a thread");
    }
  }

  void begin_thread(std::string_view line) {
    end_thread();
    in_thread_ = true;
    name_ = line.substr(1, line.rfind('"') - 1);
  }

  // A thread without Java frames belongs to the virtual machine itself, and is left out.
  void end_thread() {
    if (!frames_.empty()) {
      StackId top;
      if (options.tid) {
        top = profile.push(top, name_, FrameKind::process);
        if (!state_.empty()) top = profile.push(top, "[" + state_ + "]", FrameKind::note);
      }
      profile.add(push_leaf_first(profile, top, frames_), std::array{int64_t{1}});
    }
    frames_.clear();
    state_.clear();
    in_thread_ = false;
  }

  bool in_thread_ = false;
  std::string name_, state_;
  std::vector<FrameId> frames_;
};

}  // namespace

bool is_jstack(std::string_view head) {
  std::string_view line;
  bool thread = false;
  while (next_line(head, line)) {
    if (line.starts_with("Full thread dump ")) return true;
    if (thread && trimmed(line).starts_with(state_mark)) return true;
    thread = line.starts_with('"') && line.find("\" ") != std::string_view::npos;
  }
  return false;
}

Profile read_jstack(Source& source, const ReadOptions& options) {
  return JstackReader(source, options).run();
}

}  // namespace memflame
