// SPDX-License-Identifier: BSD-2-Clause
// Leak checks of valgrind's memcheck, as text (here) or as XML (memcheck_xml.h). Lines of the log
// begin with the process, "==4711== " or "==00:00:01.470 4711== "; what the program writes may come
// between.
//
//   ==4711== 160 (32 direct, 128 indirect) bytes in 1 blocks are definitely lost in loss record 2
//   of 5
//   ==4711==    at 0x48417B4: malloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
//   ==4711==    by 0x1093D3: lose_list(int) (leaks.cc:17)
//   ==4711==
//   ==4711== LEAK SUMMARY:
//   ==4711==    definitely lost: 1,056 bytes in 2 blocks
#include <algorithm>

#include "collapse/inputs/heap/memcheck_leaks.h"
#include "collapse/inputs/heap/memcheck_xml.h"
#include "collapse/inputs/heap/valgrind_label.h"
#include "collapse/inputs/text_reader.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr std::string_view memcheck_banner = "Memcheck, a memory error detector";

struct LogLine {
  std::string_view pid, text;
};

std::optional<LogLine> log_line(std::string_view line) {
  constexpr size_t longest = 40;
  const size_t begin = line.find("==");
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(begin + 2);
  const size_t end = rest.find("==");
  if (end > longest) return std::nullopt;
  std::string_view pid = rest.substr(0, end);
  // A time may stand before it.
  if (const size_t blank = pid.rfind(' '); blank != std::string_view::npos)
    pid.remove_prefix(blank + 1);
  rest.remove_prefix(end + 2);
  if (!all_in(pid, digit_bytes) || (!rest.empty() && rest.front() != ' ')) return std::nullopt;
  if (!rest.empty()) rest.remove_prefix(1);
  return LogLine{pid, rest};
}

// "   by 0x1093D3: f (f.c:12)": what is behind "by".
std::optional<std::string_view> frame_text(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with("at 0x") && !text.starts_with("by 0x")) return std::nullopt;
  return text.substr(3);
}

class MemcheckReader : TextReader {
 public:
  MemcheckReader(Source& source, const ReadOptions& read_options)
      : TextReader(source, read_options), checks_(profile, read_options) {}

  Profile run() {
    profile.meta.title = profile.meta.command = "memcheck";
    each_line([&](std::string_view line) { take(line); });
    for (auto& [pid, open] : records_) end_record(pid, open);
    if (!whole)
      cut_off("its last line may be cut off");
    else if (has_banner_ && checks_.any_open())
      cut_off("a leak check has no LEAK SUMMARY, so leaks may be missing");
    const std::string why = checks_.finish();
    if (!why.empty()) lines.fail(why + (issues.any() ? "; " + issues.texts().front() : ""));
    issues.finish(profile);
    return std::move(profile);
  }

 private:
  struct OpenRecord {
    std::optional<LossRecord> record;
    std::vector<ValgrindFrame> frames;  // leaf first
  };

  void take(std::string_view whole_line) {
    const std::optional<LogLine> line = log_line(whole_line);
    if (!line) return;
    const std::string_view text = line->text;
    OpenRecord& open = records_.try_emplace(std::string(line->pid)).first->second;
    if (open.record) {
      if (const auto frame = frame_text(text)) {
        open.frames.push_back(valgrind_frame(profile, *frame, options));
        return;
      }
      end_record(line->pid, open);
    }
    if (const auto record = parse_loss_record(text)) {
      open.record = record;
    } else if (text.starts_with("LEAK SUMMARY:") ||
               text.starts_with("All heap blocks were freed")) {
      checks_.end(line->pid);
    } else if (text.starts_with(memcheck_banner)) {
      has_banner_ = true;
    } else if (text.starts_with("Command: ")) {
      profile.meta.command = "memcheck " + std::string(text.substr(9));
    } else {
      take_sum(*line);
    }
  }

  void take_sum(const LogLine& line) {
    if (!line.text.starts_with("   ")) return;
    for (size_t i = 0; i < leak_kinds.size(); ++i)
      if (const auto sum = parse_leak_sum(line.text, leak_kinds[i].text))
        return checks_.state(line.pid, i, *sum);
    if (const auto sum = parse_leak_sum(line.text, "suppressed"))
      checks_.state_suppressed(line.pid, *sum);
  }

  void end_record(std::string_view pid, OpenRecord& open) {
    if (!open.record) return;
    std::reverse(open.frames.begin(), open.frames.end());
    const StackId root = push_process(profile, "", pid, "", options);
    const StackId stack = open.frames.empty() ? profile.push(root, "[no stack]", FrameKind::note)
                                              : push_frames(profile, open.frames, root);
    checks_.add(pid, *open.record, stack);
    open = {};
  }

  LeakChecks checks_;
  std::map<std::string, OpenRecord, std::less<>> records_;  // by pid
  bool has_banner_ = false;  // and so there are summaries; with -q there are neither
};

}  // namespace

bool is_memcheck(std::string_view head) {
  if (is_memcheck_xml(head)) return true;
  std::string_view line;
  while (next_line(head, line)) {
    const std::optional<LogLine> found = log_line(line);
    if (!found) continue;
    try {
      if (found->text.starts_with(memcheck_banner) || parse_loss_record(found->text)) return true;
    } catch (const Error&) {  // a number beyond 64 bits, which the reader reports
      return true;
    }
  }
  return false;
}

Profile read_memcheck(Source& source, const ReadOptions& options) {
  if (is_memcheck_xml(source.head())) return read_memcheck_xml(source, options);
  return MemcheckReader(source, options).run();
}

}  // namespace memflame
