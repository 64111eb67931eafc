// SPDX-License-Identifier: BSD-2-Clause
#include "cli/options.h"

#include "cli/completed.h"
#include "cli/drawing_options.h"
#include "cli/files/output_file.h"
#include "core/error.h"
#include "render/output.h"

namespace po = boost::program_options;

namespace memflame {

po::variables_map parse(const std::string& command, const Arguments& arguments,
                        const po::options_description& visible,
                        const po::options_description& hidden, const char* positional) {
  po::options_description all;
  all.add(visible).add(hidden);
  po::positional_options_description places;
  if (positional != nullptr) places.add(positional, -1);
  po::variables_map values;
  try {
    // No guessing of abbreviated options: what works today must mean the same tomorrow.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(arguments).options(all).positional(places).style(style).run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    throw Error(std::string(error.what()) + "; see 'memflame " +
                    (command.empty() ? "" : command + " ") + "--help'",
                ExitCode::usage);
  }
  return values;
}

std::string format_names(std::string_view but) {
  std::string names;
  for (const Output& output : outputs())
    if (output.name != but) names += (names.empty() ? "" : ", ") + std::string(output.name);
  return names;
}

po::options_description general_options() {
  po::options_description options;
  options.add_options()("help,h", "show this");
  return options;
}

po::options_description drawing_options(const std::string& formats, bool own_sort) {
  const std::string usual = format_names() + " (default: by the suffix)";
  po::options_description options("Output");
  options.add_options()("output,o", po::value<std::string>()->value_name("FILE"),
                        "write to FILE; its suffix chooses the format (default: standard output)");
  std::vector<std::string> words;
  if (!formats.empty()) words.insert(words.end(), {"text", "jsonl"});
  for (const Output& output : outputs())
    if (formats.empty() || output.name != "text") words.emplace_back(output.name);
  options.add_options()("format", one_of("NAME", words),
                        formats.empty() ? usual.c_str() : formats.c_str());
  options.add_options()("anonymise", po::bool_switch(),
                        "leave out the command line, the host's name and the folders of source "
                        "files; values that look like "
                        "secrets are always hidden");
  add_looks(options, own_sort);
  options.add_options()("by-line", po::bool_switch(),
                        "tell frames apart by source line: names are 'function file:line', boxes "
                        "are lines (default: a box is a function, and tooltips have its lines)");
  options.add_options()("lines", po::bool_switch(), "the same as --by-line");
  options.add_options()("all-values", po::bool_switch(),
                        "folded text: write all figures of a stack, separated by TABs");
  options.add_options()("no-header", po::bool_switch(), "folded text: no comment lines");
  options.add_options()("no-marks", po::bool_switch(),
                        "folded text: no _[k] after kernel functions and the like");
  return options;
}

bool wants_lines(const po::variables_map& values) {
  return values["by-line"].as<bool>() || values["lines"].as<bool>();
}

bool wants_modules(const po::variables_map& values) {
  return values.count("by-module") != 0 && values["by-module"].as<bool>();
}

RenderOptions render_options(const po::variables_map& values, bool own_sort) {
  RenderOptions render;
  take_looks(values, render, own_sort);
  // It is read first: somebody else's pipe would hold memflame.
  if (!render.colour_map.empty() && !is_file(render.colour_map))
    throw Error(
        "--palette-map " + render.colour_map + ": it must be a file, since it is read again",
        ExitCode::usage);
  if (!render.colour_map.empty()) require_writable(render.colour_map);
  take(values, "all-values", render.all_values);
  render.lines = wants_lines(values);
  render.header = !values["no-header"].as<bool>();
  render.marks = !values["no-marks"].as<bool>();
  return render;
}

}  // namespace memflame
