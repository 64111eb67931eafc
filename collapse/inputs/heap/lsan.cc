// SPDX-License-Identifier: BSD-2-Clause
// Leaks as LeakSanitizer prints them, alone or as a part of AddressSanitizer. A report may stand
// among other output of the program, each of its lines behind a prefix.
//
//   ==4711==ERROR: LeakSanitizer: detected memory leaks
//
//   Direct leak of 96 byte(s) in 3 object(s) allocated from:
//       #0 0x7ffff78b9628 in operator new[](unsigned long) /src/asan_new_delete.cpp:98
//       #1 0x5555555551ef in lose_strings /tmp/leaks.cc:25
//
//   SUMMARY: AddressSanitizer: 396 byte(s) leaked in 6 allocation(s).
#include <algorithm>
#include <array>

#include "collapse/inputs/heap/sanitizer_frame.h"
#include "collapse/inputs/heap/valgrind_label.h"
#include "collapse/inputs/scan.h"
#include "collapse/inputs/text_reader.h"
#include "collapse/text/byte_set.h"
#include "core/units.h"

namespace memflame {
namespace {

struct LeakSize {
  int64_t bytes = 0, objects = 0;
};

struct LeakHead {
  bool direct = false;
  LeakSize size;
};

// "Direct leak of 96 byte(s) in 3 object(s) allocated from:".
std::optional<LeakHead> leak_head(std::string_view line) {
  constexpr std::string_view leak = " leak of ";
  const size_t at = line.find(leak);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view kind = line.substr(0, at);
  LeakHead head{.direct = kind.ends_with("Direct"), .size = {}};
  if (!head.direct && !kind.ends_with("Indirect")) return std::nullopt;
  Scan scan{line.substr(at + leak.size())};
  const bool known = scan.number(head.size.bytes) && scan.literal(" byte(s) in ") &&
                     scan.number(head.size.objects) && scan.literal(" object(s) allocated from:");
  if (!known || head.size.bytes < 0 || head.size.objects < 0) return std::nullopt;
  return head;
}

// "SUMMARY: LeakSanitizer: 396 byte(s) leaked in 6 allocation(s)."
std::optional<LeakSize> leak_summary(std::string_view line) {
  constexpr std::string_view mark = "Sanitizer: ";
  const size_t at = line.find("SUMMARY: ");
  const size_t behind = at == std::string_view::npos ? at : line.find(mark, at);
  if (behind == std::string_view::npos) return std::nullopt;
  Scan scan{line.substr(behind + mark.size())};
  LeakSize size;
  const bool known = scan.number(size.bytes) && scan.literal(" byte(s) leaked in ") &&
                     scan.number(size.objects) && scan.literal(" allocation(s)");
  return known && size.bytes >= 0 && size.objects >= 0 ? std::optional(size) : std::nullopt;
}

struct NumberedFrame {
  uint64_t number = 0;
  std::string_view address, text;  // text: what is behind the address
};

// "#1 0x5555555551ef in f f.c:1", with anything before it.
std::optional<NumberedFrame> numbered_frame(std::string_view line) {
  for (size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    Scan scan{line.substr(at + 1)};
    NumberedFrame frame;
    if (!scan.small_number(frame.number) || !scan.literal(" 0x")) continue;
    const size_t digits = first_not_in(scan.rest, hex_bytes);
    frame.address = {scan.rest.data() - 2, digits + 2};
    frame.text = scan.rest.substr(digits);
    if (digits != 0) return frame;
  }
  return std::nullopt;
}

class LsanReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {{"direct", Unit::bytes},
                     {"direct_objects", Unit::count},
                     {"indirect", Unit::bytes},
                     {"indirect_objects", Unit::count}};
    each_line([&](std::string_view line) { take(line); });
    end_leak();
    if (!whole)
      cut_off("its last line may be cut off");
    else if (!ended_)
      cut_off("there is no SUMMARY behind the last leak, so leaks may be missing");
    describe();
    return finish("leak like 'Direct leak of 32 byte(s) in 1 object(s) allocated from:'");
  }

 private:
  void take(std::string_view line) {
    if (const auto head = leak_head(line)) return begin_leak(*head);
    if (const auto all = leak_summary(line)) return end_report(*all);
    if (line.find("Omitting ") != std::string_view::npos) return take_omitted(line);
    if (line.find("==ERROR: AddressSanitizer: ") != std::string_view::npos) {
      end_leak();
      ++errors_;
      return;
    }
    if (!in_leak_) return;
    if (trimmed(line).empty()) return end_leak();
    // Anything else is output of the program that came between.
    if (const auto found = numbered_frame(line)) take_frame(*found);
  }

  void begin_leak(const LeakHead& head) {
    end_leak();
    in_leak_ = true;
    ended_ = false;
    head_ = head;
    add(told_, head.size);
  }

  void take_frame(const NumberedFrame& found) {
    if (found.number != frames_.size()) return bad("not the next frame of a leak");
    const std::string_view key = options.addresses ? lines.line() : found.text;
    const FrameId id = frame(key, [&](std::string_view) { return parse(found); });
    frames_.push_back({id, hex_address(found.address).value_or(0)});
  }

  TextFrame parse(const NumberedFrame& found) {
    const SanitizerFrame parsed = parse_sanitizer_frame(found.text);
    TextFrame made = parsed.frame;
    if (!made.function.empty()) {
      if (!options.offsets) made.function = without_offset(made.function);
      return made;
    }
    made.kind = FrameKind::unknown;
    made.function = options.addresses ? found.address : unknown_name(parsed);
    return made;
  }

  std::string_view unknown_name(const SanitizerFrame& parsed) {
    std::string_view module = parsed.frame.module;
    if (module.empty()) return "[unknown]";
    module.remove_prefix(module.rfind('/') + 1);
    unknown_ = "[" + std::string(module) + "+" + std::string(parsed.offset) + "]";
    return unknown_;
  }

  void end_leak() {
    if (!in_leak_) return;
    in_leak_ = false;
    std::reverse(frames_.begin(), frames_.end());
    const StackId stack = frames_.empty() ? profile.push({}, "[no stack]", FrameKind::note)
                                          : push_frames(profile, frames_);
    frames_.clear();
    std::array<int64_t, 4> row{};
    row[head_.direct ? 0 : 2] = head_.size.bytes;
    row[head_.direct ? 1 : 3] = head_.size.objects;
    profile.add(stack, row);
  }

  void end_report(const LeakSize& all) {
    end_leak();
    ended_ = true;
    ++reports_;
    add(summed_, all);
  }

  // "Omitting 1 more leak(s).", which the option max_leaks makes it do.
  void take_omitted(std::string_view line) {
    Scan scan{line.substr(line.find("Omitting ") + 9)};
    uint64_t count = 0;
    if (!scan.number(count) || !scan.literal(" more leak(s)")) return;
    end_leak();
    profile.losses.add(Loss::input_left_out, count);
    profile.meta.notes.push_back("stacks that the report leaves out: " + std::to_string(count) +
                                 "; run the program without LSAN_OPTIONS=max_leaks");
  }

  static void add(LeakSize& sum, const LeakSize& more) {
    if (!add_to(sum.bytes, more.bytes, Unit::bytes) ||
        !add_to(sum.objects, more.objects, Unit::count))
      throw Error("a sum leaves the range of 64 bits");
  }

  static std::string in_words(const LeakSize& size) {
    return with_commas(size.bytes) + " B in " + with_commas(size.objects) + " allocations";
  }

  void describe() {
    profile.meta.title = "LeakSanitizer";
    if (profile.total(0) == 0 && profile.total(2) != 0) profile.shown = 2;
    if (reports_ > 1)
      profile.meta.notes.push_back("reports of " + with_commas(reports_) +
                                   " processes are added up");
    if (ended_ && (told_.bytes != summed_.bytes || told_.objects != summed_.objects))
      profile.meta.notes.push_back("the summary states " + in_words(summed_) + ", the leaks are " +
                                   in_words(told_));
    if (errors_ != 0)
      profile.meta.notes.push_back("AddressSanitizer reports errors too, which are not leaks: " +
                                   with_commas(errors_));
  }

  bool in_leak_ = false;
  bool ended_ = false;  // a summary is behind the last leak
  LeakHead head_;
  std::vector<ValgrindFrame> frames_;  // of the leak, leaf first
  std::string unknown_;
  LeakSize told_, summed_;  // by the leaks, and by the summaries
  int64_t reports_ = 0, errors_ = 0;
};

}  // namespace

bool is_lsan(std::string_view head) {
  std::string_view line;
  while (next_line(head, line)) {
    try {
      if (leak_head(line)) return true;
    } catch (const Error&) {  // a number beyond 64 bits, which the reader reports
      return true;
    }
  }
  return false;
}

Profile read_lsan(Source& source, const ReadOptions& options) {
  return LsanReader(source, options).run();
}

}  // namespace memflame
