// SPDX-License-Identifier: BSD-2-Clause
// The output of bcc's memleak, both the Python tool and the one of libbpf-tools: outstanding
// allocations, printed at intervals and each time in full.
//
//   [11:16:33] Top 10 stacks with outstanding allocations:
//   ⇥80 bytes in 5 allocations from stack              80 bytes in 5 allocations from stack
//   ⇥⇥0x000055d0 <TAB> main+0x6d [allocs]                ⇥0 [<000055d0>] main+0x6d [allocs]
//   ⇥⇥__libc_start_main+0xf0 [libc-2.21.so]              ⇥⇥inlined_into_main file.c:12
//
// In mails and web pages the tabs have become blanks.
#include <algorithm>
#include <array>

#include "collapse/inputs/text_reader.h"
#include "collapse/text/byte_set.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr std::string_view memleak_heading = " stacks with outstanding allocations:";
constexpr std::string_view entry = " allocations from stack";
constexpr std::string_view lost = "stack information lost";

struct Heading {
  std::string_view time;
  int64_t top = 0;
};

// "[11:16:33] Top 10 stacks with outstanding allocations:".
std::optional<Heading> heading_of(std::string_view line) {
  if (!line.starts_with('[') || !line.ends_with(memleak_heading)) return std::nullopt;
  line = line.substr(1, line.size() - 1 - memleak_heading.size());
  const std::string_view time = take_until(line, "] Top ");
  const auto top = integer(line);
  if (!top) return std::nullopt;
  return Heading{time, *top};
}

struct BlockSize {
  int64_t bytes = 0, blocks = 0;
};

// "80 bytes in 5 allocations from stack".
std::optional<BlockSize> size_of(std::string_view line) {
  line = trimmed(line);
  if (!line.ends_with(entry)) return std::nullopt;
  line.remove_suffix(entry.size());
  const auto bytes = integer(take_until(line, " bytes in "));
  const auto blocks = integer(line);
  if (!bytes || !blocks || *bytes < 0 || *blocks < 0) return std::nullopt;
  return BlockSize{*bytes, *blocks};
}

// "f+0x1c /src/f.c:12" of libbpf-tools, in place of the module.
void take_memleak_place(TextFrame& frame) {
  const size_t offset = frame.function.rfind("+0x");
  const size_t at = frame.function.find(' ', offset == std::string_view::npos ? 0 : offset);
  if (at == std::string_view::npos) return;
  std::string_view place = frame.function.substr(at + 1);
  const auto line = take_line_number(place);
  if (!line) return;
  frame.file = place;
  frame.line = *line;
  frame.function = frame.function.substr(0, at);
}

// An inlined function, below its frame: "f@0x1c /src/f.c:12" or "f /src/f.c:12".
TextFrame inlined_frame(std::string_view text) {
  TextFrame frame{.function = trimmed(text), .kind = FrameKind::inlined};
  take_memleak_place(frame);
  const size_t at = frame.function.rfind("@0x");
  if (at != std::string_view::npos && at != 0) frame.function = frame.function.substr(0, at);
  frame.function = without_offset(frame.function);
  return frame;
}

class MemleakReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {{"live", Unit::bytes}, {"blocks", Unit::count}};
    each_line([&](std::string_view line) { take(line); });
    end_stack();
    if (!whole) cut_off("its last line may be cut off");
    if (snapshots_ == 0)
      lines.fail("no line like '[12:00:00] Top 10" + std::string(memleak_heading) + "'");
    check_numbers();
    for (const Row& row : rows_)
      profile.add(row.stack, std::array{row.size.bytes, row.size.blocks});
    tell();
    issues.finish(profile);
    return std::move(profile);
  }

 private:
  struct Row {
    StackId stack;
    BlockSize size;
  };

  bool wanted() const {
    const WhichSnapshot& asked = options.snapshot;
    return asked.kind == WhichSnapshot::Kind::standard || snapshots_ == asked.first ||
           (asked.kind == WhichSnapshot::Kind::difference && snapshots_ == asked.second);
  }

  void take(std::string_view line) {
    if (const auto found = heading_of(line)) return begin_snapshot(*found);
    if (snapshots_ == 0) return before(line);
    if (const auto size = size_of(line)) {
      end_stack();
      open_ = true;
      tabs_ = line.starts_with('\t');
      size_ = *size;
      ++printed_;
      return;
    }
    const std::string_view text = trimmed(line);
    if (text.starts_with("addr = ") && text.find(" size = ") != std::string_view::npos) return;
    if (text.empty()) return;
    if (!open_ || !(line.starts_with('\t') || (!tabs_ && line.starts_with(' '))))
      return before(line);
    add_frame(line, text);
  }

  void before(std::string_view line) {
    constexpr std::array<std::string_view, 4> banners{
        "Attaching to ", "Executing '", "tracing outstanding ", "Tracing outstanding "};
    const bool known = std::any_of(banners.begin(), banners.end(), [&](std::string_view banner) {
      return line.starts_with(banner);
    });
    if (!line.empty() && line != "^C" && !known) bad("not part of a list of stacks");
  }

  void begin_snapshot(const Heading& found) {
    end_stack();
    ++snapshots_;
    if (options.snapshot.kind == WhichSnapshot::Kind::standard) rows_.clear();
    printed_ = 0;
    if (!wanted()) return;
    time_ = found.time;
    all_printed_ = true;
    top_ = found.top;
  }

  void add_frame(std::string_view line, std::string_view text) {
    const bool numbered =
        text.find(" [<") != std::string_view::npos && text[0] >= '0' && text[0] <= '9';
    const size_t depth = first_not_in(line, blank_bytes);
    if (numbered) numbered_depth_ = depth;
    // The sub-lines of libbpf-tools; in the Python tool all frames have the same indentation.
    const bool sub = numbered_depth_ != 0 && depth > numbered_depth_ && !numbered;
    if (text.ends_with(" entries)") && numbered) return groups_.push_back(frames_.size());
    const bool first_of_several = sub && !groups_.empty() && groups_.back() == frames_.size();
    if (!sub) groups_.push_back(frames_.size());
    frames_.push_back(frame(line, [&](std::string_view all) {
      TextFrame made = sub ? inlined_frame(all) : parse(trimmed(all));
      if (first_of_several) made.kind = FrameKind::user;
      return made;
    }));
  }

  TextFrame parse(std::string_view text) const {
    std::string_view address;
    if (text.find(" [<") != std::string_view::npos && text[0] >= '0' && text[0] <= '9') {
      take_until(text, " [<");
      address = take_until(text, ">]");
    } else if (text.starts_with("0x")) {
      address = text.substr(0, first_in(text, blank_bytes));
      text.remove_prefix(address.size());
    }
    text = trimmed(text);
    TextFrame frame{.function = text};
    if (text == lost) {
      frame.kind = FrameKind::note;
      return frame;
    }
    if (text != "[unknown]")
      if (const auto module = take_bracketed(frame.function, '[', ']')) frame.module = *module;
    take_memleak_place(frame);
    if (frame.module == "kernel" || is_kernel_address(hex_address(address).value_or(0)))
      frame.kind = FrameKind::kernel;
    if (frame.function.empty() || frame.function == "[unknown]" || frame.function == "<null sym>") {
      if (frame.kind == FrameKind::user) frame.kind = FrameKind::unknown;
      frame.function = options.addresses && !address.empty() ? address : "[unknown]";
    }
    if (!options.offsets) frame.function = without_offset(frame.function);
    return frame;
  }

  void end_stack() {
    if (!open_) return;
    open_ = false;
    if (wanted()) {
      StackId top;
      if (frames_.empty()) top = profile.push(top, "[no stack]", FrameKind::note);
      // Frames are leaf first, but the functions inlined into one follow it, outermost first.
      size_t end = frames_.size();
      for (size_t i = groups_.size(); i-- > 0; end = groups_[i])
        for (size_t k = groups_[i]; k < end; ++k) top = profile.stacks.push(top, frames_[k]);
      const bool minus = options.snapshot.kind == WhichSnapshot::Kind::difference &&
                         snapshots_ == options.snapshot.first;
      rows_.push_back({top, minus ? BlockSize{-size_.bytes, -size_.blocks} : size_});
      all_printed_ = printed_ < top_;
    }
    frames_.clear();
    groups_.clear();
  }

  void check_numbers() const {
    const WhichSnapshot& asked = options.snapshot;
    const auto check = [&](uint64_t number) {
      if (number == 0 || number > snapshots_)
        lines.fail("it has no snapshot " + std::to_string(number) + ": there are 1 to " +
                   std::to_string(snapshots_));
    };
    if (asked.kind != WhichSnapshot::Kind::standard) check(asked.first);
    if (asked.kind == WhichSnapshot::Kind::difference) check(asked.second);
  }

  void tell() {
    const WhichSnapshot& asked = options.snapshot;
    const auto number = [](uint64_t n) { return std::to_string(n); };
    if (asked.kind == WhichSnapshot::Kind::difference)
      profile.meta.notes.push_back("snapshot " + number(asked.second) + " minus snapshot " +
                                   number(asked.first) + " of " + number(snapshots_));
    else
      profile.meta.notes.push_back(
          "snapshot " +
          number(asked.kind == WhichSnapshot::Kind::number ? asked.first : snapshots_) + " of " +
          number(snapshots_) + ", at " + time_);
    if (!all_printed_)
      profile.meta.notes.push_back("only the top " + with_commas(top_) +
                                   " stacks were printed: see memleak -T");
  }

  uint64_t snapshots_ = 0;
  std::string time_;
  int64_t top_ = 0, printed_ = 0;
  bool all_printed_ = true;
  size_t numbered_depth_ = 0;  // blanks before the last frame with a number
  std::vector<Row> rows_;

  // The stack being read.
  bool open_ = false;
  bool tabs_ = false;  // its lines begin with tabs, so a line with a blank is not part of it
  BlockSize size_;
  std::vector<FrameId> frames_;
  std::vector<size_t> groups_;  // where a frame with its inlined functions begins in frames_
};

}  // namespace

bool is_memleak(std::string_view head) {
  std::string_view line;
  while (next_line(head, line))
    if (line.starts_with('[') && line.ends_with(memleak_heading) &&
        line.find("] Top ") < line.size())
      return true;
  return false;
}

Profile read_memleak(Source& source, const ReadOptions& options) {
  return MemleakReader(source, options).run();
}

}  // namespace memflame
