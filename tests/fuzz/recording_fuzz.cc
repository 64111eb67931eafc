// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer for recordings of memflame. Checksums would stop every change, so the chunks of an
// input get the checksums and numbers that fit. What is read is shown in each view, and written and
// read again: figures must stay.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "collapse/fold/fold.h"
#include "collapse/history/look_codec.h"
#include "collapse/history/reader.h"
#include "collapse/history/views.h"
#include "collapse/symbolize/symbolize.h"
#include "core/error.h"
#include "tests/fuzz/made_recording.h"

namespace memflame {
namespace {

void require_that(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "recording_fuzz: " << what << "\n";
  std::abort();
}

void show(const History& history, const RecordingState& state, const HistoryRange& range) {
  try {
    Recording recording = recording_at(history, range);
    if (!state.has_names)
      symbolize(recording, {.debug_servers = false, .files = false, .kallsyms_path = ""});
    const Profile profile = fold(recording, {.pid = true, .lines = true});
    static_cast<void>(profile.total(profile.shown));
  } catch (const Error&) {
    return;
  }
}

void write_again(const History& history) {
  const size_t columns = history.recording.types.size(), gauges = history.gauges.size();
  LookEncoder encoder(columns, gauges);
  LookDecoder decoder(columns, gauges);
  const std::string content = encoder.encode(history.looks);
  MemoryBudget budget;
  budget.allow(uint64_t{1} << 30U);
  std::vector<Look> again;
  ByteReader in(content);
  decoder.decode(in, {.tracks = history.tracks.size(), .spaces = history.recording.spaces.size()},
                 budget, again);
  require_that(again == history.looks, "looks have changed by writing and reading");
}

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  try {
    Source source = Source::of_memory(repaired({reinterpret_cast<const char*>(data), size}));
    RecordingState state;
    const History history = read_history(source, state);
    constexpr uint64_t second = 1'000'000'000;
    for (const HistoryRange& range : std::array<HistoryRange, 4>{
             {{},
              {.at_ns = 2 * second},
              {.from_ns = second, .until_ns = 3 * second},
              {.from_ns = second, .until_ns = 3 * second, .view = HistoryView::survivors}}})
      show(history, state, range);
    write_again(history);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
