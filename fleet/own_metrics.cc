// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/own_metrics.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace memflame {
namespace {

using OwnSamples = std::vector<std::pair<MetricLabels, double>>;

void write_spool(MetricsText& text, const FleetFigures& figures) {
  const SpoolCounts& spool = figures.spool;
  const MetricLabels none;
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  text.write({"memflame_windows_taken", true, "", "Windows that came to the spool."},
             {{none, number(spool.taken)}});
  text.write({"memflame_windows_dropped", true, "", "Windows that the spool had to drop."},
             {{none.with("reason", "spool_full"), number(spool.dropped_full)},
              {none.with("reason", "disk"), number(spool.dropped_disk)}});
  text.write({"memflame_spool_bytes", false, "bytes", "Bytes of windows that wait."},
             {{none, number(spool.waiting_bytes)}});
  text.write({"memflame_spool_limit_bytes", false, "bytes", "The most bytes of the spool."},
             {{none, number(figures.spool_most_bytes)}});
  text.write({"memflame_spool_windows", false, "", "Windows that wait."},
             {{none, number(spool.waiting)}});
}

void write_outputs(MetricsText& text, const FleetFigures& figures) {
  OwnSamples windows, bytes, waiting, failed, good, ages;
  for (const auto& [name, counts] : figures.spool.outputs) {
    const MetricLabels labels = MetricLabels().with("output", name);
    for (const auto& [result, count] : {std::pair{"sent", counts.sent},
                                        {"refused", counts.refused},
                                        {"dropped", counts.dropped},
                                        {"damaged", counts.damaged},
                                        {"vanished", counts.vanished}})
      windows.emplace_back(labels.with("result", result), static_cast<double>(count));
    bytes.emplace_back(labels, static_cast<double>(counts.sent_bytes));
    waiting.emplace_back(labels, static_cast<double>(counts.waiting));
  }
  for (const auto& [name, state] : figures.outputs) {
    const MetricLabels labels = MetricLabels().with("output", name);
    failed.emplace_back(labels, static_cast<double>(state.failed_tries));
    good.emplace_back(labels, state.last_error.empty() ? 1 : 0);
    ages.emplace_back(labels, state.oldest_seconds);
  }
  text.write({"memflame_output_windows", true, "", "What became of windows for an output."},
             windows);
  text.write({"memflame_output_sent_bytes", true, "bytes", "Bytes that an output took."}, bytes);
  text.write({"memflame_output_waiting_windows", false, "", "Windows that wait for an output."},
             waiting);
  text.write({"memflame_output_failed_tries", true, "", "Tries to send that failed."}, failed);
  text.write({"memflame_output_up", false, "", "1 if the last try was good, 0 if it failed."},
             good);
  text.write({"memflame_output_oldest_window_seconds", false, "seconds",
              "Age of the oldest window that waits for an output; 0 if none does."},
             ages);
}

void write_rules(MetricsText& text, const FleetFigures& figures) {
  constexpr std::array words{"waits", "runs", "given_up", "too_dear"};
  OwnSamples states, starts, seconds, bytes, unwatched, lost;
  for (const auto& [name, state] : figures.rules) {
    const MetricLabels labels = MetricLabels().with("rule", name);
    for (size_t i = 0; i < words.size(); ++i)
      states.emplace_back(labels.with("state", words[i]), static_cast<size_t>(state.kind) == i);
    starts.emplace_back(labels, static_cast<double>(state.starts));
    seconds.emplace_back(labels, state.processor_seconds);
    bytes.emplace_back(labels, static_cast<double>(state.memory_bytes));
    unwatched.emplace_back(labels, static_cast<double>(state.unwatched));
    lost.emplace_back(labels, static_cast<double>(state.lost_events));
  }
  text.write(
      {"memflame_rule", false, "",
       "1 for the state of a rule: it runs, or waits to be tried again, or was given up for a "
       "while, because memflame or its probes cost too much."},
      states);
  text.write({"memflame_rule_starts", true, "", "How often a rule's process was started."}, starts);
  text.write({"memflame_rule_cpu_seconds", true, "seconds",
              "Processor time of memflame itself for a rule."},
             seconds);
  text.write({"memflame_rule_memory_bytes", false, "bytes",
              "Memory of a rule: its process's own, and its tables in the kernel."},
             bytes);
  text.write({"memflame_rule_unwatched_processes", false, "",
              "Processes that a rule names, and whose heap is not watched: Go programs without a "
              "heap profile, and with collect go those that are not of Go."},
             unwatched);
  text.write({"memflame_rule_lost_events", true, "",
              "What a rule has lost, also while no process of it was there for a window."},
             lost);
  text.write({"memflame_budget_share", false, "",
              "The part of max_overhead that rules may use: less than 1 while memflame takes more "
              "than max_cpu."},
             {{{}, figures.budget_share}});
}

}  // namespace

void write_own_metrics(MetricsText& text, const FleetFigures& figures) {
  write_spool(text, figures);
  write_outputs(text, figures);
  write_rules(text, figures);
}

}  // namespace memflame
