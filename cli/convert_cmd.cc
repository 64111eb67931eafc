// SPDX-License-Identifier: BSD-2-Clause
// memflame render and memflame collapse: stacks in, a picture or other stacks out.
#include <iostream>

#include "cli/input_options.h"
#include "cli/options.h"
#include "cli/tidy_options.h"
#include "cli/written_profile.h"
#include "render/assets.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

// Both commands read a profile and write it; they differ in the default format.
int convert(const std::string& command, const Arguments& arguments, const char* help,
            const std::string& default_format) {
  po::options_description visible = drawing_options();
  visible.add(input_options()).add(tidy_option_list());
  if (command == "collapse") visible.add(compat_options());
  if (command == "render")
    visible.add_options()("print-csp", po::bool_switch(),
                          "print the Content-Security-Policy that allows pages, and nothing else");
  visible.add_options()("help,h", "show this");
  const po::variables_map values = parse(command, arguments, visible, input_files(), "input");
  if (values.count("help") != 0) {
    std::cout << "Usage: memflame " << command << " [OPTIONS] [FILE...]\n\n"
              << help << "\n"
              << visible << "\n"
              << input_help();
    return 0;
  }
  if (command == "render" && values["print-csp"].as<bool>()) {
    std::cout << page_policy() << "\n";
    return 0;
  }
  const TidyOptions tidying = tidy_options(values);
  if (values["list"].as<bool>()) {
    refuse_looks_of_list(values);
    write_list(tidied(read_inputs(values), tidying), values);
    return 0;
  }
  const Written written = written_as(values, default_format);
  write_profile(tidied(read_inputs(values), tidying), written);
  return 0;
}

}  // namespace

int run_render(const Arguments& arguments) {
  return convert("render", arguments,
                 "Draws stacks of memflame or any other tool as a flame graph.\n", "svg");
}

int run_collapse(const Arguments& arguments) {
  return convert("collapse", arguments,
                 "Reads stacks of memflame or any other tool, merges equal ones and writes them in "
                 "a fixed\norder. Packed files (gzip, zstd, xz) are read as they are.\n",
                 "folded");
}

}  // namespace memflame
