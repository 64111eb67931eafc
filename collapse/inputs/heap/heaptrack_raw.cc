// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/heaptrack_raw.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "collapse/inputs/heap/heaptrack_history.h"
#include "collapse/inputs/heap/heaptrack_modules.h"
#include "collapse/inputs/hex_fields.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/issues.h"
#include "collapse/text/lines.h"
#include "core/error.h"
#include "core/interner.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr uint64_t raw_version = 3;            // of the files of heaptrack 1.4
constexpr size_t longest_heaptrack_comm = 15;  // as the kernel keeps it

class HeaptrackRawReader {
 public:
  HeaptrackRawReader(Source& source, std::unique_ptr<HistoryFile> file,
                     const HeaptrackRawOptions& options)
      : options_(options),
        source_(source),
        lines_(source),
        file_(std::move(file)),
        modules_(out_.recording(), HeaptrackHistory::process, source.changed_ns(), options.files) {}

  void run() {
    while (lines_.next()) {
      if (!lines_.ended()) {
        cut_off();
        break;
      }
      try {
        take(lines_.line());
      } catch (const Error& error) {
        lines_.fail(error.what());
      }
    }
    if (out_.allocations() == 0)
      lines_.fail(std::string("no allocation is in it") +
                  (issues_.any() ? "; " + issues_.texts().front() : ""));
    if (const std::string missing = source_.missing(); !missing.empty()) note(missing);
    modules_.end();
    describe();
    out_.finish();
  }

 private:
  struct Trace {
    uint64_t address = 0;
    uint32_t caller = 0, depth = 0;
    uint32_t track = 0;  // 0: nothing was allocated there yet
  };

  // A truncated number is a different number, so it is rejected.
  void cut_off() {
    constexpr const char* what = "the input ends in the middle of a line";
    if (options_.refuse_truncated) lines_.fail(what);
    note(std::string(what) + "; that line was left out");
  }

  void take(std::string_view line) {
    if (line.empty() || line[0] == '#') return;
    HexFields fields(line.substr(std::min<size_t>(2, line.size())));
    const char kind = line.size() == 1 || line[1] == ' ' ? line[0] : '\0';
    if (kind != 'm') modules_.end();
    switch (kind) {
      case '+':
        return allocation(fields);
      case '-':
        return free(fields);
      case 't':
        return trace(fields);
      case 'c':
        return time(fields);
      case 'R':
        return resident(fields);
      case 'm':
        return module(fields);
      case 'x':
        return program(fields);
      case 'X':
        out_.recording().meta.command = "heaptrack " + std::string(fields.rest());
        return;
      case 'v':
        return version(fields);
      case 'I':
        page_size_ = fields.next().value_or(0);
        return;
      case 'A':
        attached_ = true;
        return;
      case 'S':
        return;  // suppressions hide leaks from a report of heaptrack; nothing is hidden here
      default:
        return bad("an unknown record");
    }
  }

  void bad(std::string_view why) { issues_.add(why, lines_.number(), lines_.line()); }
  void note(std::string text) { out_.recording().meta.notes.push_back(std::move(text)); }

  static void version(HexFields& fields) {
    fields.next();
    const uint64_t found = fields.next().value_or(0);
    if (found != raw_version)
      throw Error("it is what heaptrack recorded, of version " + std::to_string(found) +
                  " of its files; known is version 3, of heaptrack 1.4. Run 'zstd -dc FILE "
                  "| heaptrack_interpret > NEW' with the heaptrack that recorded it");
  }

  // "LENGTH TEXT", and what follows it; nothing if the line is shorter.
  static std::optional<std::pair<std::string_view, std::string_view>> text_of(HexFields& fields) {
    const std::optional<uint64_t> length = fields.next();
    const std::string_view rest = fields.rest();
    if (!length || *length > rest.size()) return std::nullopt;
    std::string_view behind = rest.substr(*length);
    if (!behind.empty()) {
      if (behind[0] != ' ') return std::nullopt;
      behind.remove_prefix(1);
    }
    return std::pair(rest.substr(0, *length), behind);
  }

  void program(HexFields& fields) {
    const auto text = text_of(fields);
    if (!text || !text->second.empty()) return bad("not a text with its length");
    program_ = text->first;
    const std::string_view name = text->first.substr(text->first.rfind('/') + 1);
    out_.recording().spaces[HeaptrackHistory::process.index].comm =
        name.substr(0, longest_heaptrack_comm);
  }

  // "m 1 -" begins a list; in it "m 1 x …" is the program.
  void module(HexFields& fields) {
    const auto text = text_of(fields);
    if (!text) return bad("not a module with its length");
    if (text->first == "-") return modules_.begin();
    const std::string path(text->first == "x" ? std::string_view(program_) : text->first);
    if (!modules_.add(path, text->second)) bad("not the segments of a module, or one too many");
  }

  // INSTRUCTION CALLER
  void trace(HexFields& fields) {
    const std::optional<uint64_t> address = fields.next(), caller = fields.next();
    Trace trace{.address = address.value_or(0)};
    // A record that is not understood keeps its number: later ones refer to those behind it.
    if (!address || !caller || *caller >= traces_.size() || !fields.rest().empty()) {
      bad("not an address and a trace that was there before");
    } else {
      trace.caller = static_cast<uint32_t>(*caller);
    }
    trace.depth = traces_[trace.caller].depth + 1;
    bytes_ += lines_.line().size();
    next_index(traces_.size());
    traces_.push_back(trace);
  }

  // SIZE TRACE ADDRESS
  void allocation(HexFields& fields) {
    const std::optional<uint64_t> size = fields.next(), trace = fields.next(),
                                  address = fields.next();
    if (!size || !trace || !address || !fields.rest().empty())
      return bad("not a size, a trace and an address");
    if (*size > INT64_MAX) throw Error("a block's size leaves the range of 64 bits");
    if (*trace >= traces_.size()) bad("a trace that was not there before");
    bytes_ += lines_.line().size();
    begin_file();
    out_.allocate(*address, *size, track_of(*trace < traces_.size() ? *trace : 0));
  }

  void free(HexFields& fields) {
    const std::optional<uint64_t> address = fields.next();
    if (!address || !fields.rest().empty()) return bad("not an address");
    out_.free(*address);
  }

  // What is known of the run as a whole comes before its first event.
  void begin_file() {
    if (out_.has_file()) return;
    out_.recording().meta.title = "heaptrack";
    out_.write_to(std::move(file_));
    out_.time(milliseconds_ * ns_of_ms);
  }

  uint32_t track_of(uint64_t number) {
    Trace& leaf = traces_[number];
    if (leaf.track != 0) return leaf.track;
    // Each trace with blocks gets all its frames, so without a limit a file's size would not bound
    // the work. heaptrack itself stops at 64 frames.
    constexpr uint64_t most_frames_a_byte = 8, at_least = uint64_t{1} << 20U;
    frames_ += leaf.depth;
    if (frames_ > at_least + most_frames_a_byte * bytes_)
      throw Error("its traces unfold to more than 8 frames a byte; it cannot be right");
    std::vector<RawStack>& stacks = out_.recording().stacks;
    const RawStackId id{next_index(stacks.size())};
    RawStack& stack = stacks.emplace_back();
    stack.space = HeaptrackHistory::process;
    stack.time_ns = modules_.list();
    if (leaf.depth == 0) stack.note = "[unknown]";
    for (uint64_t at = number; traces_[at].depth != 0; at = traces_[at].caller)
      stack.pcs.push_back({traces_[at].address, true});
    return leaf.track = out_.add_track(id);
  }

  void time(HexFields& fields) {
    const std::optional<uint64_t> now = fields.next();
    if (!now || *now < milliseconds_ || *now > INT64_MAX / ns_of_ms)
      return bad("not a time after the last");
    milliseconds_ = *now;
    if (out_.has_file()) out_.time(milliseconds_ * ns_of_ms);
  }

  void resident(HexFields& fields) {
    const std::optional<uint64_t> pages = fields.next();
    int64_t bytes = 0;
    if (!pages || *pages > INT64_MAX || page_size_ > INT64_MAX ||
        __builtin_mul_overflow(*pages, page_size_, &bytes))
      return bad("not a number of pages");
    if (bytes != 0) out_.resident(bytes);
  }

  void describe() {
    Recording& recording = out_.recording();
    const auto counted = [&](uint64_t count, const char* what) {
      if (count != 0) note(with_commas(static_cast<int64_t>(count)) + " " + what);
    };
    note(
        "heaptrack reads the clock every 10 ms: within that only the order of events is known. It "
        "does not record threads, and a realloc is a free and an allocation");
    if (options_.files)
      note(
          "heaptrack records no build ids: names are those of files that have the same path and "
          "segments now, and have not changed since");
    if (attached_)
      note("heaptrack was attached to a running process: blocks from before are not in it");
    counted(out_.unknown_frees(), "frees were of blocks that are not in it");
    counted(out_.reused(),
            "blocks were allocated where another one lived: its free is missing, and is taken to "
            "be then");
    Profile facts;
    issues_.finish(facts);
    recording.losses = facts.losses;
    for (std::string& text : facts.meta.notes) note(std::move(text));
  }

  static constexpr uint64_t ns_of_ms = 1'000'000;

  const HeaptrackRawOptions options_;
  const Source& source_;
  Lines lines_;
  std::unique_ptr<HistoryFile> file_;
  HeaptrackHistory out_;
  HeaptrackModules modules_;
  Issues issues_;
  std::vector<Trace> traces_{Trace{}};
  std::string program_;
  uint64_t page_size_ = 0, milliseconds_ = 0;
  uint64_t bytes_ = 0, frames_ = 0;  // of records of traces and allocations; of their stacks
  bool attached_ = false;
};

}  // namespace

bool is_heaptrack_raw(std::string_view head) {
  if (!is_heaptrack(head)) return false;
  // An interpreted file has neither modules nor the program's path.
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    if (line.starts_with("x ") || line.starts_with("m ")) return true;
    if (line.starts_with("t ") || line.starts_with("s ") || line.starts_with("+ ")) return false;
    head.remove_prefix(std::min(head.size(), line.size() + 1));
  }
  return false;
}

void record_heaptrack(Source& source, std::unique_ptr<HistoryFile> file,
                      const HeaptrackRawOptions& options) {
  if (!options.refuse_truncated) source.accept_cut();
  HeaptrackRawReader(source, std::move(file), options).run();
}

}  // namespace memflame
