// SPDX-License-Identifier: BSD-2-Clause
// Heap profiles of jemalloc (opt.prof):
//
//   heap_v2/524288
//     t*: 28106: 56637512 [0: 0]
//     t0: 352: 16777344 [0: 0] worker
//   @ 0x5f86 0x5f91 0x7f00
//     t*: 13: 6688 [0: 0]
//     t0: 12: 6496 [0: 0]
//
//   MAPPED_LIBRARIES:
//   (as /proc/self/maps)
//
// t* is the sum over all threads. Since 5.3 jemalloc adjusts the values (opt.prof_unbias) so that
// scaling by the average size gives the right estimate. Therefore that scaling is always applied.
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

constexpr std::string_view jemalloc_magic = "heap_v2/";

struct JemallocRow {
  std::optional<uint64_t> thread;  // none for t*
  HeapCounts in_use, allocated;
  std::string_view name;  // of the thread
};

// "t*: 13: 6688 [0: 0]"
bool parse_row(std::string_view line, JemallocRow& row) {
  Scan scan{line};
  scan.blanks();
  if (!scan.literal("t")) return false;
  if (!scan.literal("*")) {
    uint64_t thread = 0;
    if (!scan.number(thread)) return false;
    row.thread = thread;
  }
  if (!scan.literal(": ") || !scan.number(row.in_use.objects) || !scan.literal(": ") ||
      !scan.number(row.in_use.bytes) || !scan.literal(" [") ||
      !scan.number(row.allocated.objects) || !scan.literal(": ") ||
      !scan.number(row.allocated.bytes) || !scan.literal("]"))
    return false;
  scan.blanks();
  constexpr size_t longest_name = 255;  // any number of stacks may have it
  row.name = scan.rest.substr(0, longest_name);
  return true;
}

class JemallocReader {
 public:
  JemallocReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), lines_(source), stacks_(source) {}

  Profile run() {
    try {
      read_head();
      while (!in_maps_ && lines_.next()) take(lines_.line());
      end_stack();
      while (in_maps_ && lines_.next()) stacks_.map(lines_.line(), lines_.number(), issues_);
    } catch (const Error& error) {
      lines_.fail(error.what());
    }
    if (stacks_.empty() && issues_.any())
      source_.fail("no stack has the form '@ 0x1234 0x5678' with figures; " +
                   issues_.texts().front());
    const bool cut = !in_maps_ || !lines_.ended();
    if (cut && options_.refuse_truncated) source_.fail("it ends in the middle");
    Profile profile = stacks_.take(options_, issues_);
    profile.shown = HeapColumns::shown;
    profile.meta.sampling = columns_->sampling();
    if (cut)
      profile.meta.notes.push_back(source_.name() + " ends in the middle: stacks are missing");
    issues_.finish(profile);
    return profile;
  }

 private:
  // The totals come before the stacks. They tell whether the profile also has what was freed.
  void read_head() {
    uint64_t rate = 0;
    if (lines_.next()) {
      Scan scan{lines_.line()};
      if (!scan.literal(jemalloc_magic) || !scan.number(rate) || !scan.rest.empty())
        throw Error("expected 'heap_v2/' and the bytes between two samples");
    } else {
      throw Error("it is empty");
    }
    bool accumulated = false;
    JemallocRow row;
    while (lines_.next()) {
      row = {};
      if (!parse_row(lines_.line(), row)) {
        lines_.again();
        break;
      }
      accumulated |= row.allocated.objects != 0 || row.allocated.bytes != 0;
      if (row.thread && !row.name.empty()) names_[*row.thread] = row.name;
    }
    columns_.emplace(rate, accumulated);
    stacks_.types = columns_->types();
  }

  void take(std::string_view line) {
    if (line.starts_with("MAPPED_LIBRARIES:")) {
      in_maps_ = true;
      return;
    }
    if (first_not_in(line, blank_bytes) == line.size()) return;
    if (line.starts_with('@')) return begin_stack(line);
    JemallocRow row;
    if (!in_stack_ || !parse_row(line, row)) return bad(line, "neither a stack nor its figures");
    has_row_ = true;
    if (row.thread.has_value() != options_.tid) return keep_sum(row);
    has_own_row_ = true;
    add(row.thread ? thread_name(*row.thread) : "", row);
  }

  void begin_stack(std::string_view line) {
    end_stack();
    in_stack_ = take_addresses(line.substr(1), addresses_);
    if (!in_stack_) bad(line, "not an address");
    line_of_stack_ = lines_.number();
  }

  // Threads were requested, but a stack has none: only its sum is known.
  void keep_sum(const JemallocRow& row) {
    if (!row.thread) sum_ = row;
  }

  void end_stack() {
    if (in_stack_ && !has_row_) issues_.add("a stack without figures", line_of_stack_, "@");
    if (!has_own_row_ && sum_) add("t*", *sum_);
    in_stack_ = has_row_ = has_own_row_ = false;
    sum_.reset();
  }

  void add(const std::string& root, const JemallocRow& row) {
    stacks_.add(root, addresses_, columns_->values(row.in_use, row.allocated));
  }

  std::string thread_name(uint64_t thread) const {
    const std::string number = "t" + std::to_string(thread);
    const auto name = names_.find(thread);
    return name == names_.end() ? number : name->second + " (" + number + ")";
  }

  void bad(std::string_view line, std::string_view why) { issues_.add(why, lines_.number(), line); }

  Source& source_;
  const ReadOptions& options_;
  Lines lines_;
  AddressStacks stacks_;
  Issues issues_;
  std::optional<HeapColumns> columns_;
  std::unordered_map<uint64_t, std::string> names_;
  std::vector<uint64_t> addresses_;
  size_t line_of_stack_ = 0;
  std::optional<JemallocRow> sum_;
  bool in_maps_ = false, in_stack_ = false, has_row_ = false, has_own_row_ = false;
};

}  // namespace

bool is_jemalloc(std::string_view head) {
  if (!head.starts_with(jemalloc_magic)) return false;
  const std::string_view rate =
      head.substr(jemalloc_magic.size(), head.find('\n') - jemalloc_magic.size());
  return !rate.empty() && rate.find_first_not_of("0123456789\r") == std::string_view::npos;
}

Profile read_jemalloc(Source& source, const ReadOptions& options) {
  return JemallocReader(source, options).run();
}

}  // namespace memflame
