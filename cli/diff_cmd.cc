// SPDX-License-Identifier: BSD-2-Clause
// memflame diff: what changed between two inputs.
#include <future>
#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/drawing_options.h"
#include "cli/input_options.h"
#include "cli/options.h"
#include "cli/select_options.h"
#include "cli/tidy_options.h"
#include "cli/written_profile.h"
#include "collapse/fold/diff.h"
#include "core/error.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

po::options_description diff_options() {
  po::options_description options("Difference");
  auto add = options.add_options();
  add("normalize,n", po::bool_switch(), "scale BEFORE so that both have the same total");
  add("strip-hex,s", po::bool_switch(), "0x5f3a… in names becomes 0x...");
  add("truncate", po::bool_switch(),
      "truncate scaled figures, as difffolded.pl does, instead of rounding so that they add up");
  return options;
}

// Two inputs, or two times of one recording.
bool has_two_sides(const po::variables_map& values) {
  const size_t files =
      values.count("input") == 0 ? 0 : values["input"].as<std::vector<std::string>>().size();
  const size_t times = times_of(values);
  if (files == 1 && times == 2) return true;
  if (times > 1 && files != 0)
    throw Error("diff takes two times, --at T --at T, with one recording: memflame diff FILE",
                ExitCode::usage);
  return files == 2;
}

// Reads both at the same time.
std::pair<Profile, Profile> read_both(const po::variables_map& values) {
  auto paths = values["input"].as<std::vector<std::string>>();
  const bool is_one_file = paths.size() == 1;
  if (is_one_file && paths[0] == "-")
    throw Error("two times of a recording need a file, not standard input", ExitCode::usage);
  if (is_one_file) paths.push_back(paths[0]);
  ReadOptions options = read_options(values);
  options.threads = (options.threads + 1) / 2;
  // Two versions of a program seldom have a function on the same lines.
  options.lines = wants_lines(values);
  ReadOptions options_after = options;
  if (is_one_file) options_after.history = read_options(values, 1).history;
  const auto later =
      options.threads == 1 && values.count("threads") != 0 && values["threads"].as<unsigned>() == 1
          ? std::launch::deferred
          : std::launch::async;
  std::future<Profile> after =
      std::async(later, [&] { return read_input(paths[1], values, options_after); });
  Profile before = read_input(paths[0], values, options);
  return {std::move(before), after.get()};
}

Written as_difference(const po::variables_map& values) {
  Written written = written_as(values, "folded");
  refuse_order_of_time(written.render, "two inputs have no common order");
  written.render.one_value = false;  // --value concerns the inputs
  return written;
}

}  // namespace

CommandPage diff_page() {
  CommandPage page{.name = "diff", .help = "compare two inputs, stack by stack"};
  page.usages = {"[OPTIONS] BEFORE AFTER", "[OPTIONS] --at TIME --at TIME RECORDING"};
  page.description =
      "Compares two inputs of any format, stack by stack, and writes the figures before and "
      "after.\n"
      "Stacks that are gone or new are kept.";
  page.options = OptionGroups{drawing_options(), diff_options(),     input_options(),
                              select_options(),  tidy_option_list(), general_options()};
  page.formats = input_formats();
  page.examples = {{"memflame diff before.folded after.folded -o diff.svg", "draw what changed"},
                   {"memflame diff --normalize monday.pb.gz friday.pb.gz --format json > diff.json",
                    "scale the first to the total of the second, and write both"}};
  page.operands = Operands::files;
  return page;
}

int run_diff(const Arguments& arguments) {
  const CommandPage page = diff_page();
  const po::variables_map values =
      parse(page.name, arguments, all_options(page), input_files(), "input");
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  if (!has_two_sides(values))
    throw Error("diff needs two inputs: memflame diff BEFORE AFTER", ExitCode::usage);
  std::optional<Written> written;
  if (values["list"].as<bool>())
    refuse_looks_of_list(values);
  else
    written.emplace(as_difference(values));
  DiffOptions options;
  take(values, "normalize", options.normalize);
  take(values, "strip-hex", options.strip_hex);
  take(values, "truncate", options.truncate);
  const auto& paths = values["input"].as<std::vector<std::string>>();
  options.one_run = paths.size() == 1 || paths[0] == paths[1];
  TidyOptions tidying = tidy_options(values);
  TidyOptions last;  // for the difference, not for each input
  std::swap(last.top, tidying.top);
  auto [before, after] = read_both(values);
  Profile profile =
      diff(tidy(std::move(before), tidying), tidy(std::move(after), tidying), options);
  profile = tidy(std::move(profile), last);
  require_nothing_lost(profile, values);
  if (written)
    write_profile(std::move(profile), *written);
  else
    write_list(profile, values);
  return 0;
}

}  // namespace memflame
