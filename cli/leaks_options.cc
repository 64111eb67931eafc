// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "cli/completed.h"
#include "cli/leaks/leaks_history.h"
#include "cli/leaks/leaks_store_check.h"
#include "cli/options.h"
#include "cli/runs/durations.h"
#include "collapse/source/source.h"
#include "core/error.h"
#include "core/units.h"
#include "render/leaks/leak_output.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

using Texts = std::vector<std::string>;

constexpr std::array verdict_names{"min-bytes", "min-blocks", "tail", "warmup"};
constexpr std::array gate_names{"fail-on",  "fail-if-leaked",          "min-rate",
                                "suppress", "no-builtin-suppressions", "baseline",
                                "report"};
constexpr size_t most_suppression_bytes = size_t{4} << 20U;

bool is_given(const po::variables_map& values, const char* name) {
  return values.count(name) != 0 && !values[name].defaulted();
}

template <class Names>
std::string first_given(const po::variables_map& values, const Names& names) {
  for (const char* name : names)
    if (is_given(values, name)) return std::string("--") + name;
  return "";
}

std::string word_list() {
  std::string list;
  for (const FailOn& each : fail_on_words())
    list += (list.empty() ? "" : ", ") + std::string(each.word);
  return list;
}

// "2%" or "0.02".
double parse_share(const std::string& text) {
  double share = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), share, std::chars_format::fixed);
  const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  if (rest == "%") share /= 100;
  if (error != std::errc{} || !(rest.empty() || rest == "%") || !(share >= 0 && share <= 0.5))
    throw Error("--tail " + text + ": expected a part of the run, at most half: 2% or 0.02",
                ExitCode::usage);
  return share;
}

// "1M/h": bytes per second.
double parse_rate(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string_view unit =
      slash == std::string::npos ? "" : std::string_view(text).substr(slash + 1);
  const std::optional<double> seconds = unit == "min"      ? 60
                                        : unit.size() == 1 ? seconds_of_unit(unit[0])
                                                           : std::nullopt;
  if (slash == 0 || !seconds)
    throw Error("--min-rate " + text + ": expected bytes per time, like 1M/h, 4K/min or 100/s",
                ExitCode::usage);
  return static_cast<double>(parse_bytes("--min-rate", text.substr(0, slash))) / *seconds;
}

std::vector<FailOn> parse_fail_on(const Texts& texts) {
  std::vector<bool> wanted(fail_on_words().size());
  for (const std::string& text : texts) {
    std::string_view rest = text;
    while (true) {
      const std::string_view word = rest.substr(0, rest.find(','));
      const auto row = std::find_if(fail_on_words().begin(), fail_on_words().end(),
                                    [word](const FailOn& each) { return each.word == word; });
      if (row == fail_on_words().end())
        throw Error("--fail-on takes " + word_list() + ", not '" + std::string(word) + "'",
                    ExitCode::usage);
      wanted[static_cast<size_t>(row - fail_on_words().begin())] = true;
      if (word.size() == rest.size()) break;
      rest.remove_prefix(word.size() + 1);
    }
  }
  std::vector<FailOn> rules;  // in the table's order: what blocks do comes before how they grow
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) rules.push_back(fail_on_words()[i]);
  return rules;
}

GateOptions read_gate_options(const po::variables_map& values, const VerdictOptions& verdicts) {
  GateOptions options;
  options.min_bytes = verdicts.min_bytes;
  options.min_blocks = verdicts.min_blocks;
  options.has_given_floor = is_given(values, "min-bytes") || is_given(values, "min-blocks");
  // A floor that was not given does not count beside one that was.
  if (options.has_given_floor && !is_given(values, "min-bytes")) options.min_bytes = 0;
  if (options.has_given_floor && !is_given(values, "min-blocks")) options.min_blocks = 0;
  if (is_given(values, "fail-on")) options.fail_on = parse_fail_on(values["fail-on"].as<Texts>());
  if (is_given(values, "fail-if-leaked"))
    options.most_leaked = static_cast<int64_t>(
        parse_bytes("--fail-if-leaked", values["fail-if-leaked"].as<std::string>()));
  if (is_given(values, "min-rate")) {
    if (options.fail_on.empty())
      throw Error("--min-rate is for --fail-on: --fail-if-leaked counts all bytes",
                  ExitCode::usage);
    options.min_rate = parse_rate(values["min-rate"].as<std::string>());
  }
  return options;
}

}  // namespace

po::options_description verdict_options() {
  po::options_description options("Verdicts");
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("min-bytes", text()->value_name("BYTES"),
                        "fewer bytes are not called a leak (default: 4K)");
  options.add_options()("min-blocks", po::value<uint64_t>()->value_name("N"),
                        "fewer blocks are not called a leak (default: 8)");
  options.add_options()("tail", text()->value_name("PART"),
                        "leave the last part of the run out of growth, as programs free what they "
                        "kept there (default: 2%)");
  options.add_options()("warmup", text()->value_name("TIME"),
                        "do not judge blocks from the first TIME of the run: 30s, 1m (default: 0)");
  return options;
}

VerdictOptions read_verdict_options(const po::variables_map& values) {
  VerdictOptions options;
  if (is_given(values, "min-bytes"))
    options.min_bytes =
        static_cast<int64_t>(parse_bytes("--min-bytes", values["min-bytes"].as<std::string>()));
  if (is_given(values, "min-blocks")) {
    const auto blocks = values["min-blocks"].as<uint64_t>();
    if (blocks > INT64_MAX)
      throw Error("--min-blocks " + std::to_string(blocks) + ": no run has that many blocks",
                  ExitCode::usage);
    options.min_blocks = static_cast<int64_t>(blocks);
  }
  if (is_given(values, "tail")) options.tail = parse_share(values["tail"].as<std::string>());
  if (is_given(values, "warmup")) {
    const auto& text = values["warmup"].as<std::string>();
    const std::optional<double> seconds = parse_duration(text);
    if (!seconds || *seconds > 1e9)
      throw Error("--warmup " + text + ": expected a length of time, like 30s, 1m or 1h30m",
                  ExitCode::usage);
    options.warmup_ns = static_cast<uint64_t>(*seconds * 1e9);
  }
  return options;
}

po::options_description gate_options() {
  po::options_description options("Continuous integration");
  std::vector<std::string> words;
  std::string help = "exit with 5 if a stack is one of WORDS, with commas:";
  for (const FailOn& each : fail_on_words()) {
    words.emplace_back(each.word);
    help += (words.size() == 1 ? " " : "; ") + std::string(each.word) + ": " +
            std::string(each.meaning);
  }
  help += ". For a service in a store: " + store_words();
  options.add_options()("fail-on", completed<Texts>("WORDS", {Offer::list, words})->composing(),
                        help.c_str());
  options.add_options()(
      "fail-if-leaked", po::value<std::string>()->value_name("BYTES"),
      "exit with 5 if all leaks together have more than BYTES; in a store, if they "
      "grew by more than BYTES in the range");
  options.add_options()("min-rate", po::value<std::string>()->value_name("RATE"),
                        "with --fail-on: let what grows more slowly pass: 1M/h, 4K/min, 100/s. "
                        "Blocks that were left once have no rate, and pass");
  options.add_options()("suppress", po::value<Texts>()->composing()->value_name("FILE"),
                        "let stacks pass that match a line leak:PATTERN, as LeakSanitizer reads "
                        "them. Can be repeated");
  options.add_options()("no-builtin-suppressions", po::bool_switch(),
                        "do not pass over the blocks that the C and C++ libraries allocate once");
  options.add_options()("baseline", po::value<std::string>()->value_name("FILE"),
                        "let stacks pass that failed in this recording (memflame record), unless "
                        "they are clearly worse now. Not for a store");
  std::string forms = "also write the check to FILE, whose suffix is one of:";
  for (const LeakOutput& output : leak_outputs())
    forms += (&output == &leak_outputs().front() ? " " : "; ") + std::string(output.suffix) + ", " +
             std::string(output.help);
  options.add_options()("report", po::value<Texts>()->composing()->value_name("FILE"),
                        (forms + ". Can be repeated").c_str());
  return options;
}

std::string verdict_option_given(const po::variables_map& values) {
  const std::string first = first_given(values, gate_names);
  return first.empty() ? first_given(values, verdict_names) : first;
}

std::optional<LeaksGate> read_gate(const po::variables_map& values,
                                   const VerdictOptions& verdicts) {
  const std::string first = first_given(values, gate_names);
  if (first.empty()) return std::nullopt;
  if (!is_given(values, "fail-on") && !is_given(values, "fail-if-leaked"))
    throw Error(first + " needs something that can fail: add --fail-on leak or --fail-if-leaked 0",
                ExitCode::usage);
  LeaksGate gate;
  gate.options = read_gate_options(values, verdicts);
  for (const char* name : gate_names) {
    if (!is_given(values, name)) continue;
    const std::string option = std::string("--") + name;
    if (const auto* text = boost::any_cast<std::string>(&values[name].value()))
      gate.conditions.push_back(option + " " + *text);
    else if (std::string(name) == "fail-on")
      for (const std::string& each : values[name].as<Texts>())
        gate.conditions.push_back(option + " " + each);
  }
  if (is_given(values, "report")) gate.reports = values["report"].as<Texts>();
  for (const std::string& report : gate.reports) {
    leak_output_for(report);
    require_writable(report);
  }
  if (is_given(values, "suppress"))
    for (const std::string& path : values["suppress"].as<Texts>())
      gate.suppressions.add_file(path, Source::open(path).all(most_suppression_bytes));
  if (!values["no-builtin-suppressions"].as<bool>()) gate.suppressions.add_one_time_blocks();
  if (is_given(values, "baseline")) {
    if (gate.options.fails_on_lost())
      throw Error(
          "--baseline does not go with --fail-on lost: a recording does not say to which blocks "
          "pointers lead",
          ExitCode::usage);
    gate.baseline_path = values["baseline"].as<std::string>();
    const History history = read_blocks("--baseline", gate.baseline_path);
    Losses ignored;
    gate.baseline = baseline_of(
        named_verdicts(ledger_of(history), history.tracks, history.recording, verdicts, ignored),
        gate.options);
  }
  return gate;
}

LeaksOrder leaks_order(const boost::program_options::variables_map& values, bool has_ages) {
  if (values.count("sort") == 0) return has_ages ? LeaksOrder::evidence : LeaksOrder::size;
  const auto& word = values["sort"].as<std::string>();
  for (const LeaksOrder order :
       {LeaksOrder::evidence, LeaksOrder::growth, LeaksOrder::size, LeaksOrder::count}) {
    if (word != in_words(order)) continue;
    if (!has_ages && order <= LeaksOrder::growth)
      throw Error("--sort " + word + " needs the ages of blocks, which --older 0 leaves out",
                  ExitCode::usage);
    return order;
  }
  throw Error("--sort takes evidence, growth, size or count, not '" + word + "'", ExitCode::usage);
}

}  // namespace memflame
