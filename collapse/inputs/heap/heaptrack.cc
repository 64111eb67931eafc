// SPDX-License-Identifier: BSD-2-Clause
// heaptrack's interpreted files, versions 1 to 3. A record is a line: a letter, a blank, and
// numbers in hex. Strings, instruction pointers and traces are numbered from 1 as they come (0 is
// none), kinds of blocks ("a SIZE TRACE") from 0; "+ KIND" and "- KIND" are the events.
#include <algorithm>
#include <array>
#include <charconv>

#include "collapse/inputs/heap/heap_events.h"
#include "collapse/inputs/heap/heaptrack_traces.h"
#include "collapse/inputs/hex_fields.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/issues.h"
#include "collapse/text/lines.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

// In the order of the profile's columns.
enum Column : uint8_t {
  leaked,
  leaked_blocks,
  peak,
  peak_blocks,
  allocations,
  temporary,
  allocated,
  columns
};
const std::array<ValueType, columns> column_types{{{"leaked", Unit::bytes},
                                                   {"leaked_blocks", Unit::count},
                                                   {"peak", Unit::bytes},
                                                   {"peak_blocks", Unit::count},
                                                   {"allocations", Unit::count},
                                                   {"temporary", Unit::count},
                                                   {"allocated", Unit::bytes}}};

// With the leaks that are suppressed; such files only have these columns.
constexpr std::string_view all_column = "leaked_all", all_blocks_column = "leaked_all_blocks";

class HeaptrackReader {
 public:
  HeaptrackReader(Source& source, const ReadOptions& options)
      : options_(options), lines_(source), traces_(profile_, issues_, options) {
    profile_.types.assign(column_types.begin(), column_types.end());
  }

  Profile run() {
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
    if (!any_event_)
      lines_.fail(std::string("no allocation is in it") +
                  (issues_.any() ? "; " + issues_.texts().front() : ""));
    add_all();
    describe();
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  // A truncated number is a different number, so it is rejected.
  void cut_off() {
    constexpr const char* what = "the input ends in the middle of a line";
    if (options_.refuse_truncated) lines_.fail(what);
    profile_.meta.notes.push_back(std::string(what) + "; that line was left out");
  }

  void take(std::string_view line) {
    if (line.empty() || line[0] == '#') return;
    HexFields fields(line.substr(std::min<size_t>(2, line.size())));
    switch (line.size() == 1 || line[1] == ' ' ? line[0] : '\0') {
      case '+':
        return event(fields, true);
      case '-':
        return event(fields, false);
      case 'a':
        return block_kind(fields);
      case 't':
        return traces_.trace(fields, lines_.number());
      case 'i':
        return traces_.instruction(fields, lines_.number());
      case 's':
        return traces_.string(fields, version_, lines_.number());
      case 'S':
        if (!traces_.patterns.add_line(fields.rest())) bad("not a suppression, or one too many");
        return;
      case 'v':
        return version(fields);
      case 'X':
        profile_.meta.title = "heaptrack";
        profile_.meta.command = "heaptrack " + std::string(fields.rest());
        return;
      case 'A':
        attached_ = true;
        return;
      case 'I':
        page_size_ = fields.next().value_or(0);
        return;
      case 'R':
        peak_rss_ = std::max(peak_rss_, fields.next().value_or(0));
        return;
      case 'c':
        return time(fields);
      case 'x':
      case 'm':
        throw Error(
            "this is what heaptrack recorded, behind a part that heaptrack_interpret has written; "
            "give either file as it is");
      default:
        return bad("an unknown record");
    }
  }

  void bad(std::string_view why) { issues_.add(why, lines_.number(), lines_.line()); }

  void version(HexFields& fields) {
    constexpr uint64_t last_known = 3;
    constexpr uint64_t before_file_versions = 0x10200;  // wrote version 1 without saying so
    const uint64_t program = fields.next().value_or(0);
    version_ = fields.next().value_or(program == before_file_versions ? 1 : 0);
    if (version_ == 0)
      throw Error("it is of a heaptrack before 1.0; known are its versions 1 to 3");
    if (version_ > last_known)
      throw Error("it is of version " + std::to_string(version_) +
                  " of heaptrack's files; known are 1 to 3");
  }

  void block_kind(HexFields& fields) {
    // A record that is not understood keeps its number.
    const auto size = fields.next();
    const auto trace = fields.next();
    if (!size || !trace) {
      bad("not a size and a trace");
      return events_.add_kind(0, 0);
    }
    if (*size > INT64_MAX) throw Error("a block's size leaves the range of 64 bits");
    const bool known = *trace < traces_.size();
    if (!known) bad("a trace that was not there before");
    events_.add_kind(static_cast<int64_t>(*size), known ? static_cast<uint32_t>(*trace) : 0);
  }

  void event(HexFields& fields, bool allocation) {
    const auto kind = fields.next();
    if (!kind || *kind >= events_.kinds()) return bad("a block that was not there before");
    any_event_ = true;
    if (allocation)
      events_.allocate(*kind);
    else if (!events_.free(*kind))
      bad("freed more often than allocated");
  }

  void time(HexFields& fields) {
    const auto now = fields.next();
    if (!now || *now < milliseconds_ || *now > INT64_MAX) return bad("not a time after the last");
    note_peak();
    milliseconds_ = *now;
  }

  // The time of the peak is that of the last timestamp before it.
  void note_peak() {
    if (events_.peak() > noted_peak_) peak_milliseconds_ = milliseconds_;
    noted_peak_ = events_.peak();
  }

  void add_all() {
    std::vector<bool> known;
    if (events_.live() != 0) known = traces_.suppressed();
    int64_t bytes = 0, blocks = 0;
    for (const BlockKind& kind : events_.finish()) {
      const bool suppressed = !known.empty() && known[kind.place];
      add(kind, suppressed);
      if (!suppressed) continue;
      bytes += kind.live * kind.size;
      blocks += kind.live;
    }
    if (blocks == 0) return;
    const size_t all = profile_.add_column({std::string(all_column), Unit::bytes});
    profile_.add_column({std::string(all_blocks_column), Unit::count});
    std::vector<int64_t> row(profile_.types.size());
    for (const BlockKind& kind : events_.finish()) {
      row[all] = kind.live * kind.size;
      row[all + 1] = kind.live;
      if (kind.live != 0) profile_.add(traces_.stack(kind.place), row);
    }
    profile_.meta.notes.push_back("heaptrack suppresses " + with_commas(bytes) + " B in " +
                                  with_commas(blocks) + " blocks of what is left; they are in '" +
                                  std::string(all_column) + "', not in '" +
                                  column_types[leaked].name + "'");
  }

  void add(const BlockKind& kind, bool suppressed) {
    std::array<int64_t, columns> row{};
    row[leaked] = suppressed ? 0 : kind.live * kind.size;
    row[leaked_blocks] = suppressed ? 0 : kind.live;
    row[peak] = kind.at_peak * kind.size;
    row[peak_blocks] = kind.at_peak;
    row[allocations] = kind.allocations;
    row[temporary] = kind.temporary;
    if (__builtin_mul_overflow(kind.allocations, kind.size, &row[allocated]))
      lines_.fail("the sum of all bytes allocated leaves the range of 64 bits");
    if (kind.allocations != 0) profile_.add(traces_.stack(kind.place), row);
  }

  void describe() {
    note_peak();
    Meta& meta = profile_.meta;
    constexpr double per_second = 1000;
    meta.seconds = static_cast<double>(milliseconds_) / per_second;
    meta.notes.push_back("the peak of " + with_commas(events_.peak()) + " B was reached after " +
                         std::to_string(peak_milliseconds_) + " ms");
    int64_t rss = 0;
    if (peak_rss_ <= INT64_MAX && page_size_ <= INT64_MAX &&
        !__builtin_mul_overflow(peak_rss_, page_size_, &rss) && rss != 0)
      meta.notes.push_back("the highest RSS was " + with_commas(rss) +
                           " B, with heaptrack's own memory");
    if (attached_)
      meta.notes.emplace_back(
          "heaptrack was attached to a running process: blocks from before are not in it");
    if (events_.live() == 0)
      meta.notes.emplace_back("nothing was left at the end; see the column 'peak'");
  }

  const ReadOptions& options_;
  Lines lines_;
  Profile profile_;
  Issues issues_;
  HeaptrackTraces traces_;
  HeapEvents events_;
  bool any_event_ = false, attached_ = false;
  uint64_t version_ = 0, page_size_ = 0, peak_rss_ = 0;
  uint64_t milliseconds_ = 0, peak_milliseconds_ = 0;
  int64_t noted_peak_ = 0;
};

}  // namespace

// "v 10400 3" and then the program (X, in raw files x first) or that it was attached (A).
bool is_heaptrack(std::string_view head) {
  const size_t end = head.find('\n');
  if (end == std::string_view::npos || !head.starts_with("v ")) return false;
  HexFields fields(head.substr(2, end - 2));
  const bool version = fields.next().has_value();
  fields.next();
  if (!version || !fields.rest().empty()) return false;
  head.remove_prefix(end + 1);
  return head.size() > 1 && std::string_view("XAxISm").find(head[0]) != std::string_view::npos &&
         (head[1] == ' ' || head[1] == '\n');
}

Profile read_heaptrack(Source& source, const ReadOptions& options) {
  return HeaptrackReader(source, options).run();
}

}  // namespace memflame
