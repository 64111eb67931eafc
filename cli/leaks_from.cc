// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks_from.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <tuple>

#include "cli/completed.h"
#include "cli/files/output_file.h"
#include "cli/leaks/leaks_frames.h"
#include "cli/leaks/leaks_gate.h"
#include "cli/leaks/leaks_history.h"
#include "cli/leaks/leaks_lines.h"
#include "cli/leaks/leaks_report.h"
#include "cli/leaks/leaks_store.h"
#include "cli/leaks/leaks_store_check.h"
#include "cli/leaks/leaks_verdicts.h"
#include "cli/leaks_options.h"
#include "cli/options.h"
#include "collapse/fold/fold.h"
#include "collapse/verdicts/suppressions.h"
#include "core/error.h"
#include "fleet/clickhouse/question.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

struct Judged {
  Verdict verdict;
  Amount live;
  StackId folded;
};

// Stacks that hold memory at the end.
std::vector<Judged> judged(const Ledger& ledger, const VerdictOptions& options) {
  std::vector<Judged> stacks;
  for (const Verdict& verdict : ledger.verdicts(options))
    if (verdict.live_bytes > 0 || verdict.live_blocks > 0)
      stacks.push_back({verdict, {.bytes = verdict.live_bytes, .blocks = verdict.live_blocks}, {}});
  return stacks;
}

void put_in_order(std::vector<Judged>& stacks, LeaksOrder order) {
  std::stable_sort(stacks.begin(), stacks.end(), [order](const Judged& a, const Judged& b) {
    switch (order) {
      case LeaksOrder::growth:
        return a.verdict.live_growth.value > b.verdict.live_growth.value;
      case LeaksOrder::size:
        return a.live.bytes > b.live.bytes;
      case LeaksOrder::count:
        return a.live.blocks > b.live.blocks;
      default:
        return is_worse(a.verdict, b.verdict);
    }
  });
}

// All are folded, as fold() counts those that are cut, and names excuse some.
Profile name_all(const History& history, std::vector<Judged>& stacks) {
  const BlockColumns columns = *block_columns(history.recording.types);
  const Recording& recording = history.recording;
  std::vector<Aggregate> sums;
  for (const Judged& stack : stacks) {
    const Track& track = history.tracks[stack.verdict.track.index];
    Aggregate& sum = sums.emplace_back();
    sum.stack = track.stack;
    sum.group = track.group;
    sum.values.resize(recording.types.size());
    sum.values[columns.live] = stack.live.bytes;
    sum.values[columns.live_count] = stack.live.blocks;
    sum.events = stack.live.blocks;
  }
  std::vector<StackId> folded;
  Profile profile = fold(recording, sums, {.pid = false, .lines = true}, &folded);
  for (size_t i = 0; i < stacks.size(); ++i) {
    stacks[i].folded = folded[i];
    if (stacks[i].verdict.ended) excuse(stacks[i].verdict, one_time_blocks_of(profile, folded[i]));
  }
  return profile;
}

// Describes the first stacks, which the report shows.
std::vector<ReportedStack> described(const History& history, const Profile& profile,
                                     const std::vector<Judged>& stacks, size_t most,
                                     bool all_frames) {
  std::vector<ReportedStack> reported;
  for (size_t i = 0; i < std::min(most, stacks.size()); ++i) {
    const Track& track = history.tracks[stacks[i].verdict.track.index];
    ReportedStack& stack = reported.emplace_back();
    stack.amount = stacks[i].live;
    stack.verdict = in_words(stacks[i].verdict);
    stack.judged = stacks[i].verdict;
    stack.process = process_of(history.recording, track.space);
    if (stacks[i].verdict.ended && !stack.process.empty()) stack.process += ", which has ended";
    stack.frames = frame_lines(profile, stacks[i].folded, all_frames);
  }
  return reported;
}

uint64_t reported_stacks(const po::variables_map& values) {
  uint64_t top = 10;
  take(values, "top", top);
  if (top == 0) throw Error("--top must be at least 1, not 0", ExitCode::usage);
  return top;
}

LeaksReport report_on(const History& history, const std::string& path, const Ledger& ledger,
                      const VerdictOptions& options, const po::variables_map& values) {
  const LeaksOrder order = leaks_order(values, true);
  std::vector<Judged> stacks = judged(ledger, options);
  const Profile profile = name_all(history, stacks);
  put_in_order(stacks, order);
  LeaksReport report;
  report.clock = base_name(path);
  report.seconds = static_cast<double>(history.looks.back().time_ns) / 1e9;
  report.order = in_words(order);
  report.stacks = stacks.size();
  report.sampling = history.recording.meta.sampling;
  report.notes = history.recording.meta.notes;
  JudgedStacks counts;
  for (const Judged& stack : stacks) {
    report.live += stack.live;
    counts.count(stack.verdict);
  }
  report.old = report.live;
  report.verdicts = in_words(counts);
  report.losses = profile.losses;
  report.top =
      described(history, profile, stacks, reported_stacks(values), values["verbose"].as<bool>());
  return report;
}

bool wants_json_lines(const po::variables_map& values, const std::string& output) {
  std::string format;
  take(values, "format", format);
  if (!format.empty() && format != "text" && format != "jsonl")
    throw Error("--format of a report on a recording takes text or jsonl, not '" + format +
                    "'; memflame render draws recordings",
                ExitCode::usage);
  const bool json_lines = is_json_lines(format, output);
  if (json_lines && values["bytes"].as<bool>())
    throw Error("--bytes is for --format text", ExitCode::usage);
  return json_lines;
}

bool check(LeaksGate& gate, const History& history, const std::string& path, const Ledger& ledger,
           const VerdictOptions& options, size_t most) {
  const Recording& recording = history.recording;
  CheckedRun run{.source = path,
                 .seconds = static_cast<double>(history.looks.back().time_ns) / 1e9,
                 .sampling = recording.meta.sampling,
                 .notes = recording.meta.notes,
                 .losses = recording.losses,
                 .is_complete = history.is_complete};
  const std::vector<NamedVerdict> stacks =
      named_verdicts(ledger, history.tracks, recording, options, run.losses);
  return passes(gate, stacks, run, most, Readers::by_umask);
}

}  // namespace

CommandPage leaks_from_page() {
  CommandPage page{.name = "leaks", .help = "judge the stacks of a recording"};
  page.usages = {"--from FILE.mfr [options]", "clickhouse://HOST/DATABASE?service=NAME [options]"};
  page.description =
      "Prints which stacks of a recording leak, as at the end of its run; or of a service in a\n"
      "store, in which versions and on which hosts they grow.";
  po::options_description options("Leaks of a recording");
  options.add_options()("from", po::value<std::string>()->value_name("FILE"),
                        "a recording of memflame record, or the address of a store");
  options.add_options()("top", po::value<uint64_t>()->value_name("N"),
                        "print N stacks (default: 10)");
  options.add_options()("sort", one_of("WHAT", {"evidence", "growth", "size", "count"}),
                        "evidence (default): what leaks first; growth, size or count");
  options.add_options()("bytes", po::bool_switch(), "print bytes in full, not as KiB, MiB, …");
  options.add_options()("verbose,v", po::bool_switch(), "print all frames, with full names");
  options.add_options()("output,o", po::value<std::string>()->value_name("FILE"),
                        "write to FILE instead of standard output");
  options.add_options()("format", one_of("NAME", {"text", "jsonl"}),
                        "text (default), or jsonl: the report as one line of JSON");
  options.add_options()("help,h", "show this");
  page.options = OptionGroups{options, verdict_options(), gate_options()};
  return page;
}

int run_leaks_from(const Arguments& arguments) {
  const CommandPage page = leaks_from_page();
  const po::variables_map values = parse(page.name, arguments, all_options(page));
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  const std::string& path = values["from"].as<std::string>();
  std::string output;
  take(values, "output", output);
  const bool json_lines = wants_json_lines(values, output);
  const bool is_store = is_store_address(path);
  if (is_store) refuse_for_store([&](const char* option) { return values.count(option) != 0; });
  const VerdictOptions options = read_verdict_options(values);
  std::optional<LeaksGate> gate = read_gate(values, options);
  const auto write = [&](const LeaksReport& report) {
    write_output(output, [&](std::ostream& out) {
      out << (json_lines ? report_line(report) : report_text(report, values["bytes"].as<bool>()));
    });
  };
  if (is_store) {
    if (gate) refuse_for_store(gate->options);
    const StoreLeaks leaks = leaks_in_store(path, options);
    write(report_on_store(leaks, {.most = reported_stacks(values),
                                  .all_frames = values["verbose"].as<bool>(),
                                  .order = leaks_order(values, true)}));
    const bool passed = !gate || passes_in_store(*gate, leaks, path, reported_stacks(values));
    return static_cast<int>(passed ? ExitCode::ok : ExitCode::found);
  }
  if (gate && gate->options.fails_on_lost())
    throw Error("--fail-on lost looks at running programs; a recording has no memory to look at",
                ExitCode::usage);
  const History history = read_blocks("--from", path);
  const Ledger ledger = ledger_of(history);
  const LeaksReport report = report_on(history, path, ledger, options, values);
  write(report);
  const bool passed =
      !gate || check(*gate, history, path, ledger, options, reported_stacks(values));
  return static_cast<int>(passed ? ExitCode::ok : ExitCode::found);
}

}  // namespace memflame
