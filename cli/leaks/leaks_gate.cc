// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_gate.h"

#include <iostream>

#include "cli/runs/version.h"
#include "core/units.h"
#include "probes/run/losses.h"
#include "render/leaks/leak_output.h"

namespace memflame {
namespace {

void add_doubts(LeakCheck& check, const CheckedRun& run) {
  if (run.losses.lost_events() != 0) check.doubts.push_back(lost_in_words(run.losses));
  if (const LossCount cut = run.losses.sum(LossKind::cut); cut.events != 0)
    check.doubts.push_back("stacks of " +
                           amount_in_words(cut.bytes, static_cast<int64_t>(cut.events)) +
                           " are cut, so their names may not be compared");
  if (!run.sampling.empty())
    check.doubts.push_back("blocks were sampled (" + run.sampling +
                           "): small leaks may be missing, and all figures are estimates");
  if (!run.is_complete)
    check.doubts.emplace_back("the recording was not finished: its last seconds are missing");
  for (const std::string& note : run.notes)
    if (note.starts_with("filtered: ")) check.doubts.push_back(note);
  check.doubts.insert(check.doubts.end(), run.doubts.begin(), run.doubts.end());
}

}  // namespace

bool passes(LeaksGate& gate, std::span<const NamedVerdict> stacks, const CheckedRun& run,
            size_t most, Readers readers) {
  return passes(gate,
                check_leaks(stacks, gate.options, gate.suppressions,
                            gate.baseline ? &*gate.baseline : nullptr),
                run, most, readers);
}

bool passes(const LeaksGate& gate, LeakCheck check, const CheckedRun& run, size_t most,
            Readers readers) {
  check.source = run.source;
  check.version = version_number();
  check.seconds = run.seconds;
  check.conditions = gate.conditions;
  check.baseline = gate.baseline_path;
  add_doubts(check, run);
  check = cleaned(std::move(check));
  for (const std::string& report : gate.reports)
    write_output(
        report, [&](std::ostream& out) { leak_output_for(report).write(out, check); }, readers);
  write_leaks_text(std::cerr, check, most);
  return !check.has_failed();
}

}  // namespace memflame
