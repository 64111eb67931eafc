// SPDX-License-Identifier: BSD-2-Clause
// Heap profiles of Java as pprof reads them: bytes and objects per stack, frames by number, names
// at the end.
//
//   --- heapz 1 ---
//   format = java
//   resolution = bytes
//     7048 1 @ 0x00000003 0x00000004
//
//    0x00000003 com.example.f (F.java:103)
#include <optional>
#include <unordered_map>

#include "collapse/inputs/addresses.h"
#include "collapse/inputs/heap/heap_columns.h"
#include "collapse/inputs/readers.h"
#include "collapse/inputs/scan.h"
#include "collapse/text/byte_set.h"
#include "collapse/text/issues.h"
#include "collapse/text/lines.h"

namespace memflame {
namespace {

constexpr std::string_view heapz_magic = "--- heapz ";
constexpr uint64_t rate = 524288;  // the usual one; these profiles do not state theirs

struct HeapzRow {
  HeapCounts seen;
  size_t begin, count;  // of its frames
};

struct Name {
  std::string function, file;
  uint32_t line = 0;
  FrameId frame{};  // set on first use
};

// "com.example.f (F.java:103)", "com.example.f (Native Method)", "GC"
Name parse_name(std::string_view text) {
  text = text.substr(0, behind_last_not_in(text, blank_bytes));
  const size_t open = text.rfind(" (");
  if (open == std::string_view::npos || !text.ends_with(')')) return {std::string(text), {}};
  std::string_view place = text.substr(open + 2, text.size() - open - 3);
  Name name{std::string(text.substr(0, open)), {}};
  const size_t colon = place.rfind(':');
  if (colon != std::string_view::npos) {
    Scan number{place.substr(colon + 1)};
    uint32_t line = 0;
    if (number.small_number(line) && number.rest.empty()) {
      name.line = line;
      place = place.substr(0, colon);
    }
  }
  name.file = place;
  return name;
}

class JavaHeapzReader {
 public:
  JavaHeapzReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), lines_(source), columns_(rate, false) {}

  Profile run() {
    try {
      lines_.next();
      while (lines_.next()) lines_.ended() ? take(lines_.line()) : cut_off();
    } catch (const Error& error) {
      lines_.fail(error.what());
    }
    if (!java_) source_.fail("expected 'format = java': other profiles of this kind are not known");
    if (!in_bytes_) source_.fail("expected 'resolution = bytes': it is not a profile of memory");
    if (rows_.empty() && issues_.any())
      source_.fail("no line has the form '4096 1 @ 0x1 0x2'; " + issues_.texts().front());
    fold();
    profile_.meta.sampling = columns_.sampling() + " (the usual rate: the file does not tell)";
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  // A truncated number is a different number, so it is rejected; a truncated name still tells
  // something.
  void cut_off() {
    const std::string what = "the input ends in the middle of a line";
    if (options_.refuse_truncated) throw Error(what);
    Scan scan{lines_.line()};
    scan.blanks();
    const bool is_name = take_name(scan);
    if (is_name && scan.rest.ends_with(')')) return;
    profile_.meta.notes.push_back(
        what + (is_name ? "; that name may be longer" : "; that line was left out"));
  }

  void take(std::string_view line) {
    Scan scan{line};
    scan.blanks();
    if (scan.rest.empty() || scan.rest.front() == '#') return;
    if (take_name(scan) || take_row(scan) || take_setting(scan.rest)) return;
    issues_.add("neither a stack nor a name", lines_.number(), line);
  }

  // " 0x00000003 com.example.f (F.java:103)"
  bool take_name(Scan scan) {
    uint64_t id = 0;
    if (!scan.literal("0x") || !scan.hex(id) || !scan.rest.starts_with(' ')) return false;
    scan.blanks();
    names_.try_emplace(id, parse_name(scan.rest));
    return true;
  }

  bool take_row(Scan scan) {
    HeapzRow row{};
    if (!scan.number(row.seen.bytes)) return false;
    scan.blanks();
    if (!scan.number(row.seen.objects)) return false;
    scan.blanks();
    if (!scan.literal("@") || !take_addresses(scan.rest, addresses_)) return false;
    row.begin = frames_.size();
    row.count = addresses_.size();
    frames_.insert(frames_.end(), addresses_.begin(), addresses_.end());
    rows_.push_back(row);
    return true;
  }

  bool take_setting(std::string_view text) {
    const size_t equals = text.find(" = ");
    if (equals == std::string_view::npos || !rows_.empty()) return false;
    const std::string_view value = text.substr(equals + 3);
    if (text.starts_with("format ")) java_ = value == "java";
    if (text.starts_with("resolution ")) in_bytes_ = value == "bytes";
    return true;
  }

  void fold() {
    profile_.types = columns_.types();
    profile_.shown = HeapColumns::shown;
    for (const HeapzRow& row : rows_) {
      StackId top;
      for (size_t i = row.count; i-- > 0;) top = push(top, frames_[row.begin + i]);
      if (!top) top = profile_.push(top, "[no stack]", FrameKind::note);
      profile_.add(top, columns_.values(row.seen, {}));
    }
  }

  StackId push(StackId caller, uint64_t id) {
    const auto name = names_.find(id);
    if (name == names_.end()) {
      profile_.losses.add(Loss::unknown_symbol, 1);
      return profile_.push(caller, "[unknown]", FrameKind::unknown);
    }
    Name& known = name->second;
    if (!known.frame) known.frame = frame_of(known);
    return profile_.stacks.push(caller, known.frame);
  }

  FrameId frame_of(const Name& name) {
    Frame frame;
    frame.function = profile_.strings.intern(name.function);
    if (options_.lines) {
      frame.file = profile_.strings.intern(name.file);
      frame.line = name.line;
    }
    return profile_.frames.intern(frame);
  }

  Source& source_;
  const ReadOptions& options_;
  Lines lines_;
  HeapColumns columns_;
  Profile profile_;
  Issues issues_;
  std::vector<HeapzRow> rows_;
  std::vector<uint64_t> frames_, addresses_;
  std::unordered_map<uint64_t, Name> names_;
  bool java_ = false, in_bytes_ = false;
};

}  // namespace

bool is_java_heapz(std::string_view head) {
  Scan scan{head};
  uint64_t version = 0;
  return scan.literal(heapz_magic) && scan.hex(version) && scan.literal(" ---");
}

Profile read_java_heapz(Source& source, const ReadOptions& options) {
  return JavaHeapzReader(source, options).run();
}

}  // namespace memflame
