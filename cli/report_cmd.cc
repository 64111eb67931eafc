// SPDX-License-Identifier: BSD-2-Clause
// memflame report: one page that answers questions about any part of a run.
#include <unistd.h>

#include <array>
#include <iostream>
#include <string_view>

#include "cli/commands.h"
#include "cli/completed.h"
#include "cli/files/heaptrack_input.h"
#include "cli/files/output_file.h"
#include "cli/input_options.h"
#include "cli/options.h"
#include "cli/page/report_secrets.h"
#include "cli/report_live.h"
#include "cli/report_shared.h"
#include "cli/select_options.h"
#include "cli/written_profile.h"
#include "collapse/report/report_of.h"
#include "collapse/source/source.h"
#include "core/error.h"
#include "render/report/report_json.h"
#include "render/report/report_page.h"
#include "render/text/clean_text.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

constexpr std::array<std::string_view, 2> report_formats{"html", "json"};

std::string report_format(const po::variables_map& values, const std::string& path) {
  std::string format;
  take(values, "format", format);
  if (format.empty()) return path.ends_with(".json") ? "json" : "html";
  for (const std::string_view known : report_formats)
    if (known == format) return format;
  throw Error("--format takes html or json, not '" + format + "'", ExitCode::usage);
}

void refuse_page_on_terminal(const std::string& path, std::string_view format) {
  if ((path.empty() || path == "-") && format == "html" && ::isatty(STDOUT_FILENO) != 0)
    throw Error(
        "a page is not for a terminal: add -o report.html, or redirect with '> report.html'",
        ExitCode::usage);
}

po::options_description report_output_options() {
  po::options_description options("Output");
  auto add = options.add_options();
  add("output,o", po::value<std::string>()->value_name("FILE"),
      "write to FILE; .json chooses that format (default: standard output)");
  add("format", one_of("NAME", {report_formats.begin(), report_formats.end()}),
      "html, json (default: by the suffix, or html)");
  add_report_options(options);
  return options;
}

}  // namespace

CommandPage report_page() {
  CommandPage page{.name = "report",
                   .help = "make one page that answers questions about any part of a run"};
  page.usages = {"[OPTIONS] FILE", "--live [OPTIONS] TARGET"};
  page.description =
      "Makes one page of a recording, without links to others. It shows memory over time and, for\n"
      "any part of the run, which code allocated it, freed it or kept it. The options select "
      "blocks\n"
      "of recordings with events. --live shows a run while it goes on: it takes these and those "
      "of\n"
      "'memflame record', and 'memflame report --live --help' lists them.";
  page.options =
      OptionGroups{report_output_options(), select_options(), live_options(), general_options()};
  page.formats = {{.title = "Formats",
                   .rows = {{"html", "a page for a browser, in one file"},
                            {"json", "all figures of the page, for scripts"}}}};
  page.examples = {{"memflame report night.mfr -o report.html", "make a page of a recording"},
                   {"memflame report run.mfr --where 'size > 64K' > large.html",
                    "make a page of large blocks only"},
                   {"memflame report --live -p 1234", "show what a process does, in a browser"}};
  page.operands = Operands::files;
  return page;
}

int run_report(const Arguments& arguments) {
  if (is_live_report(arguments)) return run_live_report(arguments);
  const CommandPage page = report_page();
  const po::variables_map values =
      parse(page.name, arguments, all_options(page), input_files(), "input");
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  if (values.count("port") != 0) throw Error("--port needs --live", ExitCode::usage);
  const std::string file = recording_named(values, page.name, "FILE.mfr -o report.html");
  std::string path;
  take(values, "output", path);
  const std::string format = report_format(values, path);
  const bool anonymise = values["anonymise"].as<bool>();
  const ReportOptions options{
      .bins = bins_of(values), .selection = query_of(values), .source_folders = !anonymise};
  const ReportLooks looks{.icicle = values["icicle"].as<bool>(),
                          .options = words_of_selection(values)};
  refuse_page_on_terminal(path, format);
  require_writable(path);

  Source source = open_recording(file);
  Report report = report_of(source, options);
  hide_secrets(report, anonymise);
  write_output(path, [&](std::ostream& out) {
    if (format == "json")
      write_report_json(out, report);
    else
      write_report(out, report, looks);
  });
  report.profile.losses.add(Loss::replaced_bytes, replaced_bytes(report.profile));
  warn_of_losses(report.profile);
  return 0;
}

}  // namespace memflame
