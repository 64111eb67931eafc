// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer for reports of recordings. An input is a recording, or what events_fuzz takes. What can
// be read becomes a report, in few bins or in many, whose rows must fit together and add up to its
// profile.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/history/event_file.h"
#include "collapse/history/reader.h"
#include "collapse/report/report_of.h"
#include "collapse/select/event_blocks.h"
#include "collapse/symbolize/symbolize.h"
#include "core/error.h"
#include "core/units.h"
#include "render/report/report_block.h"
#include "render/report/report_json.h"
#include "tests/fuzz/made_recording.h"

namespace memflame {
namespace {

void require_that(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "report_fuzz: " << what << "\n";
  std::abort();
}

Report report_of_bytes(const std::string& bytes, const ReportOptions& options) {
  Source source = Source::of_memory(bytes);
  RecordingState state;
  History history = read_history(source, state, options.limits);
  if (!state.has_names)
    symbolize(history.recording, {.debug_servers = false, .files = false, .kallsyms_path = ""});
  if (!state.has_events) return report_of_changes(history, options);
  const EventFile file([&] { return Source::of_memory(bytes); }, history, state);
  EventBlocks blocks(file, history);
  return report_of_blocks(blocks, history, options);
}

// Each figure of the profile is the sum of its rows.
void check_sums(const Report& report) {
  const size_t columns = report.profile.types.size();
  for (size_t column = 0; column < columns; ++column) {
    __extension__ using Wide = __int128;
    Wide rows = 0, stacks = 0;
    for (size_t i = 0; i < report.rows.size(); ++i) rows += report.values_of(i)[column];
    for (const StackId stack : report.profile.touched())
      stacks += report.profile.values(stack)[column];
    // Errors are cut where they would not fit.
    if (report.profile.types[column].unit == Unit::variance) continue;
    require_that(rows == stacks, "rows do not add up to the profile");
  }
}

void show(const std::string& bytes, const ReportOptions& options) {
  try {
    const Report report = report_of_bytes(bytes, options);
    check_report(report);
    require_that(report.bins() <= options.bins, "there are more bins than asked for");
    check_sums(report);
    std::ostringstream out;
    write_report_json(out, report);
  } catch (const Error& error) {
    require_that(!std::string_view(error.what()).starts_with("internal"), error.what());
  }
}

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string bytes =
      input.starts_with(recording_magic) ? repaired(input) : with_events(input);
  show(bytes, {});
  show(bytes, {.bins = 8, .most_rows = 4, .lasting_edges = true});
  return 0;
}
