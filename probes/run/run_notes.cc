// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/run_notes.h"

#include <array>
#include <cstdio>

#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

std::string sizes_in_words(const ProbeOptions& options) {
  const auto number = [](uint64_t n) { return with_commas(static_cast<int64_t>(n)); };
  if (options.max_size == UINT64_MAX)
    return number(options.min_size) + " bytes or more (--min-size)";
  if (options.min_size == 0) return number(options.max_size) + " bytes or less (--max-size)";
  return number(options.min_size) + " to " + number(options.max_size) +
         " bytes (--min-size, --max-size)";
}

std::string watched_in_words(const Run& run) {
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f s", run.info.seconds);
  const size_t count = run.info.pids.size();
  return with_commas(static_cast<int64_t>(count)) +
         (count == 1 ? " process was" : " processes were") + " watched for " + seconds.data();
}

}  // namespace

std::vector<std::string> filters_in_words(const ProbeOptions& options) {
  std::vector<std::string> notes;
  if (options.min_size != 0 || options.max_size != UINT64_MAX)
    notes.push_back("filtered: only blocks of " + sizes_in_words(options));
  if (options.own)
    for (std::string& note : options.own->filters_in_words()) notes.push_back(std::move(note));
  return notes;
}

std::string allocations_in_words(const bpf::counters& counters, bool sampled) {
  const auto number = [](uint64_t n) { return with_commas(static_cast<int64_t>(n)); };
  const auto bytes = [](uint64_t n) { return iec_bytes(static_cast<int64_t>(n)); };
  std::string text = number(counters.events) + " allocations (" + bytes(counters.amount) + "), " +
                     number(counters.freed) + " of their blocks freed (" +
                     bytes(counters.freed_bytes) + ")";
  if (counters.inherited_frees != 0)
    text += "; " + number(counters.inherited_frees) + " frees of blocks from before a fork";
  if (sampled || counters.passed_over != 0) text = "kept " + text;
  if (counters.passed_over != 0) text += "; " + number(counters.passed_over) + " calls passed over";
  return text;
}

std::string nothing_in_words(std::span<const ProbeRun> probes) {
  std::string words;
  for (const ProbeRun& run : probes)
    words += (words.empty() ? "" : ", ") + std::string(run.probe->nothing);
  return words;
}

void judge_emptiness(const std::string& nothing, const ProbeOptions& options, Run& run) {
  const Target& target = options.target;
  if (!target.whole_system() && target.command.empty() && run.info.pids.empty())
    throw Error(target.comm.empty() || target.by_scan()
                    ? "nothing was watched: the target did not run while memflame counted"
                    : "--comm " + target.comm +
                          ": nothing was watched: no process of that name ran while memflame "
                          "counted; /proc/PID/comm has the names that count");
  const bpf::counters& c = run.info.counters;
  const bool nothing_happened = c.events == 0 && c.passed_over == 0 && c.freed == 0 &&
                                c.free_misses == 0 && run.recording.losses.lost_events() == 0;
  if (nothing_happened && !run.info.pids.empty())
    run.recording.meta.notes.push_back("nothing happened: " + watched_in_words(run) + ", with " +
                                       nothing);
}

}  // namespace memflame
