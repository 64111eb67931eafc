// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "core/units.h"
#include "render/leaks/leak_output.h"

namespace memflame {
namespace {

std::string count(uint64_t number, const char* one, const char* several) {
  return with_commas(static_cast<int64_t>(number)) + (number == 1 ? one : several);
}

std::string in_words(const LeakCheck::Sum& sum) {
  return count(sum.stacks, " stack, ", " stacks, ") + amount_in_words(sum.bytes, sum.blocks);
}

std::string conditions_of(const LeakCheck& check) {
  std::string text;
  for (const std::string& condition : check.conditions)
    text += (text.empty() ? "" : ", ") + condition;
  return text;
}

void write_cases(std::ostream& out, const LeakCheck& check, size_t most) {
  size_t written = 0;
  for (const LeakCase& each : check.cases) {
    if (each.outcome != CaseOutcome::failed) break;  // they come first
    if (++written > most) continue;
    out << "\n  " << amount_in_words(each.live_bytes, each.live_blocks) << ", " << each.process
        << "\n    " << headline(each) << "\n";
    for (const std::string& line : reach_lines(each)) out << "    " << line << "\n";
    for (const std::string& line : frame_lines(each)) out << "      " << line << "\n";
  }
  if (written > most)
    out << "\n  and " << count(written - most, " more stack", " more stacks")
        << ": --top N prints N of them, --report FILE has all\n";
  if (written != 0) out << "\n";
}

void write_suppressions(std::ostream& out, const LeakCheck& check) {
  const LeakCheck::Sum& sum = check.sum(CaseOutcome::suppressed);
  if (sum.stacks != 0) out << "memflame: suppressed: " << in_words(sum) << "\n";
  for (const SuppressionUse& use : check.suppressions)
    if (use.stacks != 0)
      out << "  " << in_words({use.stacks, use.bytes, use.blocks}) << ": " << use.pattern
          << (use.origin.empty() ? " (one-time blocks of a library)" : " (" + use.origin + ")")
          << "\n";
  for (const SuppressionUse& use : check.suppressions)
    if (use.stacks == 0)
      out << "memflame: unused suppression: " << use.pattern << " (" << use.origin << ")\n";
}

}  // namespace

void write_leaks_text(std::ostream& out, const LeakCheck& check, size_t most) {
  const LeakCheck::Sum& failed = check.sum(CaseOutcome::failed);
  out << "memflame: leak check " << (check.has_failed() ? "failed" : "passed") << " ("
      << conditions_of(check) << ")";
  if (failed.stacks != 0) out << ": " << in_words(failed);
  out << "\n";
  write_cases(out, check, most);
  if (const std::string sum = sum_in_words(check); !sum.empty()) out << "memflame: " << sum << "\n";
  if (const std::string unsure = unsure_in_words(check); !unsure.empty())
    out << "memflame: " << unsure << "\n";
  if (const LeakCheck::Sum& known = check.sum(CaseOutcome::known); known.stacks != 0)
    out << "memflame: in the baseline " << check.baseline << " already: " << in_words(known)
        << "\n";
  if (check.gone != 0)
    out << "memflame: no longer: " << count(check.gone, " stack", " stacks") << " of the baseline "
        << check.baseline << "\n";
  if (const LeakCheck::Sum& slow = check.sum(CaseOutcome::too_slow); slow.stacks != 0)
    out << "memflame: below --min-rate, or without a steady rate: " << in_words(slow) << "\n";
  if (const LeakCheck::Sum& small = check.sum(CaseOutcome::too_small); small.stacks != 0)
    out << "memflame: below --min-bytes or --min-blocks: " << in_words(small) << "\n";
  write_suppressions(out, check);
  for (const std::string& doubt : check.doubts) out << "memflame: not certain: " << doubt << "\n";
}

}  // namespace memflame
