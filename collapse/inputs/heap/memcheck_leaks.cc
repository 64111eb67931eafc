// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/memcheck_leaks.h"

#include <algorithm>

#include "collapse/inputs/scan.h"
#include "collapse/inputs/text_frame.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

// "1,056", and " (+32)" behind it.
bool take_grouped(Scan& scan, int64_t& value) {
  if (scan.rest.empty() || !has(digit_bytes, scan.rest.front())) return false;
  value = 0;
  while (!scan.rest.empty() && (has(digit_bytes, scan.rest.front()) || scan.rest.front() == ',')) {
    const char c = scan.rest.front();
    scan.rest.remove_prefix(1);
    if (c == ',') continue;
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value))
      throw Error("a number leaves the range of 64 bits");
  }
  const std::string_view behind = scan.rest;
  int64_t change = 0;
  if ((scan.literal(" (+") || scan.literal(" (-")) && take_grouped(scan, change) &&
      scan.literal(")"))
    return true;
  scan.rest = behind;
  return true;
}

bool take_blocks(Scan& scan, int64_t& blocks) {
  return scan.literal(" bytes in ") && take_grouped(scan, blocks) &&
         (scan.literal(" blocks") || scan.literal(" block"));
}

void add_to_sum(LeakSum& sum, const LeakSum& more) {
  if (!add_to(sum.bytes, more.bytes, Unit::bytes) || !add_to(sum.blocks, more.blocks, Unit::count))
    throw Error("a sum leaves the range of 64 bits");
}

std::string in_words(const LeakSum& sum) {
  return with_commas(sum.bytes) + " B in " + with_commas(sum.blocks) + " blocks";
}

}  // namespace

std::optional<LossRecord> parse_loss_record(std::string_view text) {
  Scan scan{text};
  LossRecord record;
  if (!take_grouped(scan, record.bytes)) return std::nullopt;
  record.with_indirect = record.bytes;
  if (scan.literal(" (")) {
    int64_t indirect = 0;
    if (!take_grouped(scan, record.bytes) || !scan.literal(" direct, ") ||
        !take_grouped(scan, indirect) || !scan.literal(" indirect)"))
      return std::nullopt;
  }
  if (!take_blocks(scan, record.blocks) || !scan.literal(" are ")) return std::nullopt;
  const auto kind = std::find_if(leak_kinds.begin(), leak_kinds.end(), [&](const LeakKind& each) {
    return scan.rest.starts_with(each.text);
  });
  if (kind == leak_kinds.end()) return std::nullopt;
  record.kind = static_cast<size_t>(kind - leak_kinds.begin());
  scan.literal(kind->text);
  int64_t number = 0;
  if (!scan.literal(" in loss record ") || !take_grouped(scan, number)) return std::nullopt;
  record.number = static_cast<uint64_t>(number);
  return record;
}

std::optional<LeakSum> parse_leak_sum(std::string_view text, std::string_view kind) {
  Scan scan{trimmed(text)};
  LeakSum sum;
  const bool known = scan.literal(kind) && scan.literal(": ") && take_grouped(scan, sum.bytes) &&
                     take_blocks(scan, sum.blocks);
  return known ? std::optional(sum) : std::nullopt;
}

LeakChecks::LeakChecks(Profile& profile, const ReadOptions& options)
    : profile_(profile), options_(options) {
  for (const LeakKind& kind : leak_kinds) {
    profile_.types.push_back({std::string(kind.column), Unit::bytes});
    profile_.types.push_back({std::string(kind.column) + "_blocks", Unit::count});
  }
}

void LeakChecks::begin(Process& process) const {
  keep(process);
  process.now = {.number = process.now.number + 1};
  process.is_open = true;
  process.last_record = 0;
}

// Moves the check that has been read to its place, if it is asked for.
void LeakChecks::keep(Process& process) const {
  const WhichSnapshot& asked = options_.snapshot;
  const uint64_t number = process.now.number;
  if (number == 0) return;
  const bool standard = asked.kind == WhichSnapshot::Kind::standard;
  if (asked.kind == WhichSnapshot::Kind::difference && number == asked.second)
    process.second = process.now;
  if (standard || number == asked.first) process.first = std::move(process.now);
  process.now = {.number = number};
}

void LeakChecks::add(std::string_view pid, const LossRecord& record, StackId stack) {
  Process& process = processes_.try_emplace(std::string(pid)).first->second;
  if (!process.is_open || record.number <= process.last_record) begin(process);
  process.last_record = record.number;
  const LeakSum size{record.bytes, record.blocks};
  process.now.rows.push_back({stack, record.kind, size});
  add_to_sum(process.now.told[record.kind], size);
}

void LeakChecks::end(std::string_view pid) {
  Process& process = processes_.try_emplace(std::string(pid)).first->second;
  if (!process.is_open) begin(process);
  process.is_open = false;
  process.now.summary.emplace();
}

void LeakChecks::state(std::string_view pid, size_t kind, const LeakSum& sum) {
  const auto process = processes_.find(pid);
  if (process != processes_.end() && process->second.now.summary)
    process->second.now.summary->at(kind) = sum;
}

void LeakChecks::state_suppressed(std::string_view pid, const LeakSum& sum) {
  const auto process = processes_.find(pid);
  if (process != processes_.end()) process->second.now.suppressed = sum;
}

bool LeakChecks::any_open() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const auto& each) { return each.second.is_open; });
}

void LeakChecks::add(const Check& check, int64_t sign) {
  std::array<int64_t, 2 * leak_kinds.size()> row{};
  for (const Row& each : check.rows) {
    row[2 * each.kind] = sign * each.size.bytes;
    row[2 * each.kind + 1] = sign * each.size.blocks;
    profile_.add(each.stack, row);
    row[2 * each.kind] = row[2 * each.kind + 1] = 0;
  }
  if (sign < 0) return;
  add_to_sum(suppressed_, check.suppressed);
  if (!check.summary) return;
  for (size_t i = 0; i < leak_kinds.size(); ++i) {
    add_to_sum(told_[i], check.told[i]);
    add_to_sum(stated_[i], (*check.summary)[i]);
  }
}

std::string LeakChecks::finish() {
  const WhichSnapshot& asked = options_.snapshot;
  const bool two = asked.kind == WhichSnapshot::Kind::difference;
  uint64_t most = 0;
  size_t chosen = 0;
  for (auto& [pid, process] : processes_) {
    most = std::max(most, process.now.number);
    keep(process);
    if (!process.first || (two && !process.second)) continue;
    ++chosen;
    if (two) add(*process.second, 1);
    add(*process.first, two ? -1 : 1);
  }
  if (most != 0 && chosen == 0)
    return "no process has the leak check that --snapshot names; they have 1 to " +
           std::to_string(most);
  if (profile_.touched().empty()) {
    const bool any = std::any_of(stated_.begin(), stated_.end(),
                                 [](const LeakSum& sum) { return sum.blocks != 0; });
    if (any)
      return "its leak check has sums and no stacks: run valgrind with --leak-check=full "
             "--show-leak-kinds=all";
    return most == 0 ? "there is no leak check in it: run valgrind with --leak-check=full"
                     : "memcheck found no leaks, so there is nothing to show";
  }
  if (processes_.size() > 1)
    profile_.meta.notes.push_back("leak checks of " + std::to_string(chosen) +
                                  " processes are added up");
  if (most > 1)
    profile_.meta.notes.push_back(two ? "leak check " + std::to_string(asked.second) +
                                            " minus leak check " + std::to_string(asked.first)
                                      : (asked.kind == WhichSnapshot::Kind::number
                                             ? "leak check " + std::to_string(asked.first)
                                             : std::string("the last leak check of each process")) +
                                            "; there are up to " + std::to_string(most));
  describe();
  return "";
}

// Shows the first kind that has any, and says what the records lack.
void LeakChecks::describe() {
  for (size_t i = 2 * leak_kinds.size(); i > 0; i -= 2)
    if (profile_.total(i - 2) != 0) profile_.shown = i - 2;
  std::string missing;
  for (size_t i = 0; i < leak_kinds.size(); ++i)
    if (told_[i].bytes != stated_[i].bytes || told_[i].blocks != stated_[i].blocks)
      missing += (missing.empty() ? "" : "; ") + std::string(leak_kinds[i].text) + " " +
                 in_words(stated_[i]) + ", of which " + in_words(told_[i]) + " have a stack";
  if (!missing.empty())
    profile_.meta.notes.push_back("memcheck's sums are: " + missing +
                                  " (valgrind --leak-check=full --show-leak-kinds=all shows all)");
  if (suppressed_.blocks != 0)
    profile_.meta.notes.push_back("suppressed, and in no stack: " + in_words(suppressed_));
}

}  // namespace memflame
