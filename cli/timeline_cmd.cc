// SPDX-License-Identifier: BSD-2-Clause
// memflame timeline: when did memory come, and does it go again?
#include <array>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "cli/commands.h"
#include "cli/completed.h"
#include "cli/files/heaptrack_input.h"
#include "cli/files/output_file.h"
#include "cli/input_options.h"
#include "cli/options.h"
#include "cli/runs/durations.h"
#include "cli/store_input.h"
#include "cli/terminal_looks.h"
#include "cli/written_profile.h"
#include "collapse/history/named.h"
#include "collapse/history/timeline.h"
#include "collapse/source/source.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/secrets.h"
#include "fleet/clickhouse/store_timeline.h"
#include "render/timeline/timeline_output.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

struct ShowWord {
  std::string_view name;
  TimelineShow show;
};
constexpr std::array show_words{
    ShowWord{"live", TimelineShow::live}, ShowWord{"live-count", TimelineShow::live_count},
    ShowWord{"allocations", TimelineShow::allocations}, ShowWord{"frees", TimelineShow::frees},
    ShowWord{"rate", TimelineShow::rate}};

// A number from `least` to `most`, or `standard` if the option was not given.
int number_between(const po::variables_map& values, const char* option, int standard, int least,
                   int most) {
  int number = standard;
  take(values, option, number);
  if (number < least || number > most)
    throw Error("--" + std::string(option) + " takes a number from " + std::to_string(least) +
                    " to " + std::to_string(most) + ", not " + std::to_string(number),
                ExitCode::usage);
  return number;
}

// Other words are names of columns, which the recording must have.
void read_show(const po::variables_map& values, TimelineOptions& options) {
  if (values.count("show") == 0) return;
  options.column = values["show"].as<std::string>();
  options.show = TimelineShow::column;
  for (const ShowWord& word : show_words)
    if (word.name == options.column) options.show = word.show;
}

std::optional<TimeRange> range_between(const po::variables_map& values) {
  if (values.count("between") == 0) return std::nullopt;
  const auto text = values["between"].as<std::string>();
  const TimeStretch stretch = parse_stretch(text);
  const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) / 1e9; };
  const TimeRange range{
      seconds(stretch.from_ns.value_or(0)),
      stretch.until_ns ? seconds(*stretch.until_ns) : std::numeric_limits<double>::infinity()};
  if (!(range.from < range.to))
    throw Error("--between '" + text + "': no time lies between", ExitCode::usage);
  return range;
}

int terminal_columns() {
  constexpr int standard = 80;
  const char* text = std::getenv("COLUMNS");
  if (text == nullptr) return standard;
  const std::string_view digits(text);
  int columns = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  const bool is_number = error == std::errc{} && end == digits.data() + digits.size();
  return is_number && columns > 0 ? columns : standard;
}

TimelineLooks timeline_looks(const po::variables_map& values, std::string_view format) {
  TimelineLooks looks;
  looks.utf8 = locale_is_utf8();
  looks.own_scales = values["own-scales"].as<bool>();
  constexpr int most_columns = 1000, least_px = 320, most_px = 20000;
  if (format == "text")
    looks.columns = number_between(values, "width", terminal_columns(), 1, most_columns);
  else
    looks.width = number_between(values, "width", looks.width, least_px, most_px);
  return looks;
}

// For messages on standard error that all commands have.
void warn_of_timeline(const Timeline& timeline) {
  Profile facts;
  facts.meta.notes = timeline.meta.notes;
  facts.losses = timeline.losses;
  warn_of_losses(facts);
}

Timeline timeline_of_file(const std::string& file, const TimelineOptions& options) {
  Source source = open_recording(file);
  return timeline_of(read_named_history(source), options);
}

Timeline timeline_of_store(const std::string& address, const po::variables_map& values,
                           const TimelineOptions& options) {
  for (const char* name : {"show", "between"})
    if (values.count(name) != 0)
      throw Error("--" + std::string(name) +
                      " goes with recordings; for a store, the address says what is shown: "
                      "?type=inuse_objects&from=-2h&to=-1h",
                  ExitCode::usage);
  return store_timeline(question_of(address, real_time_ns()),
                        {.top = options.top, .points = options.points});
}

po::options_description timeline_output_options() {
  po::options_description options("Output");
  std::vector<std::string> words;
  std::string help;
  for (const TimelineOutput& output : timeline_outputs()) {
    words.emplace_back(output.name);
    help += (help.empty() ? "" : ", ") + std::string(output.name);
  }
  help += " (default: by the suffix, or text)";
  auto add = options.add_options();
  add("output,o", po::value<std::string>()->value_name("FILE"),
      "write to FILE; its suffix chooses the format (default: standard output)");
  add("format", memflame::one_of("NAME", words), help.c_str());
  add("width", po::value<int>()->value_name("N"),
      "width: of a picture in px (default: 1200), of text in columns (default: $COLUMNS, or 80)");
  add("own-scales", po::bool_switch(),
      "pictures: draw each stack as high as its band (default: one scale for all)");
  add("anonymise", po::bool_switch(),
      "leave out the command line and the host's name; values that look like secrets are always "
      "hidden");
  return options;
}

po::options_description timeline_options() {
  po::options_description options("Timeline");
  std::vector<std::string> words;
  words.reserve(show_words.size());
  for (const ShowWord& word : show_words) words.emplace_back(word.name);
  auto add = options.add_options();
  add("show", memflame::one_of("WHAT", words),
      "figure of a stack: live (default) bytes, live-count blocks, allocations and frees since the "
      "beginning, rate: allocations per second; or any of the recording's columns");
  add("top", po::value<int>()->value_name("N"),
      "stacks with a line of their own: those with the largest maximum (default: 10)");
  add("between", po::value<std::string>()->value_name("FROM..TO"),
      "show the stacks only in this part of the run, in seconds or like 90s..5m");
  add("points", po::value<int>()->value_name("N"),
      "largest number of points of a line (default: 450)");
  return options;
}

}  // namespace

CommandPage timeline_page() {
  CommandPage page{.name = "timeline", .help = "show when memory came, and whether it goes again"};
  page.usages = {"[OPTIONS] FILE", "[OPTIONS] clickhouse://HOST/DATABASE?service=NAME"};
  page.description =
      "Shows the figures of the largest stacks over the time of a recording, beside resident\n"
      "memory. It prints a line per stack; -o writes a picture, a page or a table.";
  page.options = OptionGroups{timeline_output_options(), timeline_options(), general_options()};
  NameTable formats{.title = "Formats"};
  for (const TimelineOutput& output : timeline_outputs())
    formats.rows.push_back({std::string(output.name), std::string(output.help)});
  page.formats = {formats};
  page.examples = {{"memflame timeline night.mfr", "print a line per stack"},
                   {"memflame timeline night.mfr -o night.html --between 2h..3h",
                    "make a page with the stacks that were large in the third hour"},
                   {"memflame timeline night.mfr --show rate --format csv > rate.csv",
                    "list allocations per second, for a spreadsheet"}};
  page.operands = Operands::files;
  return page;
}

int run_timeline(const Arguments& arguments) {
  const CommandPage page = timeline_page();
  const po::variables_map values =
      parse(page.name, arguments, all_options(page), input_files(), "input");
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  const std::string file = recording_named(values, page.name, "FILE.mfr");
  std::string path, format;
  take(values, "output", path);
  take(values, "format", format);
  const TimelineOutput& output = timeline_output_for(format, path);
  const TimelineLooks looks = timeline_looks(values, output.name);
  constexpr int most_stacks = 1000, most_points = 100'000;
  TimelineOptions options;
  read_show(values, options);
  options.top = static_cast<size_t>(number_between(values, "top", 10, 0, most_stacks));
  options.points = static_cast<size_t>(number_between(values, "points", 450, 2, most_points));
  options.between = range_between(values);
  if (output.is_picture) refuse_terminal(path, output.suffix);
  require_writable(path);

  Timeline timeline = is_store_address(file) ? timeline_of_store(file, values, options)
                                             : timeline_of_file(file, options);
  timeline.meta.command = without_secrets(timeline.meta.command);
  if (values["anonymise"].as<bool>()) {
    timeline.meta.command.clear();
    timeline.meta.host.clear();
  }
  write_output(path, [&](std::ostream& out) { output.write(out, timeline, looks); });
  warn_of_timeline(timeline);
  return 0;
}

}  // namespace memflame
