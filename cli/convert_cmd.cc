// SPDX-License-Identifier: BSD-2-Clause
// memflame render and memflame collapse: stacks in, a picture or other stacks out.
#include <iostream>

#include "cli/input_options.h"
#include "cli/options.h"
#include "cli/runs/drawing.h"
#include "cli/select_options.h"
#include "cli/tidy_options.h"
#include "cli/written_profile.h"
#include "render/picture/assets.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

// Both commands read a profile and write it; they differ in the default format.
int convert(const CommandPage& page, const Arguments& arguments,
            const std::string& default_format) {
  const po::variables_map values =
      parse(page.name, arguments, all_options(page), input_files(), "input");
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  if (page.name == "render" && values["print-csp"].as<bool>()) {
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
  const bool has_addresses = (written.format.holds & code) != 0;
  const bool has_verdicts =
      written.render.verdicts.value_or(true) && (written.format.holds & verdicts) != 0;
  write_profile(tidied(read_inputs(values, has_addresses, has_verdicts), tidying), written);
  return 0;
}

}  // namespace

CommandPage render_page() {
  CommandPage page{.name = "render", .help = "draw the stacks of any tool as a flame graph"};
  page.usages = {"[OPTIONS] [FILE...]"};
  page.description =
      "Draws stacks of memflame or any other tool as a flame graph. Without FILE, or with '-', it\n"
      "reads standard input.";
  page.options = OptionGroups{drawing_options(), input_options(), select_options(),
                              tidy_option_list(), general_options()};
  page.options.back().add_options()(
      "print-csp", po::bool_switch(),
      "print the Content-Security-Policy that allows pages, then exit");
  page.formats = input_formats();
  page.examples = {{"perf script | memflame render > graph.svg", "draw what perf recorded"},
                   {"memflame render heap.pb.gz --hide-allocator -o heap.svg",
                    "draw a profile of pprof, without malloc at the end of stacks"},
                   {"memflame render before.folded --format html -o before.html",
                    "make a page with every frame"}};
  page.operands = Operands::files;
  return page;
}

CommandPage collapse_page() {
  CommandPage page{.name = "collapse", .help = "read the stacks of any tool and merge equal ones"};
  page.usages = {"[OPTIONS] [FILE...]"};
  page.description =
      "Reads stacks of memflame or any other tool, merges equal ones and writes them in a fixed\n"
      "order. Packed files (gzip, zstd, xz) are read as they are. Without FILE, or as '-', they "
      "are\n"
      "read from standard input.";
  page.options = OptionGroups{drawing_options(),  input_options(),  select_options(),
                              tidy_option_list(), compat_options(), general_options()};
  page.formats = input_formats();
  page.examples = {{"memflame collapse jeprof.1234.0.heap --list", "list the figures in a file"},
                   {"perf script | memflame collapse --weight bytes_req --net > slab.folded",
                    "add up allocations minus frees"},
                   {"memflame collapse massif.out.77 --snapshot 12..40 -o growth.pb.gz",
                    "write the difference of two snapshots, for pprof"}};
  page.operands = Operands::files;
  return page;
}

int run_render(const Arguments& arguments) { return convert(render_page(), arguments, "svg"); }

int run_collapse(const Arguments& arguments) {
  return convert(collapse_page(), arguments, "folded");
}

}  // namespace memflame
