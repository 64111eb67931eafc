// memflame render and memflame collapse: stacks in, a picture or other stacks out.
#include <iostream>

#include "cli/input_options.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/tidy_options.h"
#include "core/error.h"
#include "core/units.h"
#include "render/clean_text.h"
#include "render/output.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

void warn_of_losses(const Profile& profile) {
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = profile.losses[static_cast<Loss>(i)];
    if (count.events != 0)
      std::cerr << "memflame: " << loss_info[i].label << ": "
                << with_commas(static_cast<int64_t>(count.events)) << "\n";
  }
}

void warn_of_left_out(const Output& output, const Profile& profile) {
  std::string list;
  for (const std::string& what : left_out(output, profile))
    list += (list.empty() ? "" : "; ") + what;
  if (!list.empty())
    std::cerr << "memflame: " << output.name << " has no place for: " << list << "\n";
}

// Both commands read a profile and write it; they differ in the default format.
int convert(const std::string& command, const Arguments& arguments, const char* help,
            const std::string& default_format) {
  po::options_description visible = drawing_options();
  visible.add(input_options()).add(tidy_option_list());
  if (command == "collapse") visible.add(compat_options());
  visible.add_options()("help,h", "show this");
  const po::variables_map values = parse(command, arguments, visible, input_files(), "input");
  if (values.count("help") != 0) {
    std::cout << "Usage: memflame " << command << " [OPTIONS] [FILE...]\n\n"
              << help << "\n"
              << visible << "\n"
              << input_help();
    return 0;
  }
  const TidyOptions tidying = tidy_options(values);
  if (values["list"].as<bool>()) {
    list_profile(std::cout, tidied(read_inputs(values), tidying));
    return 0;
  }
  std::string output, format;
  take(values, "output", output);
  take(values, "format", format);
  if (format.empty() && output.empty()) format = default_format;
  const Output& writer = output_for(format, output);
  RenderOptions render;
  take(values, "title", render.title);
  take(values, "palette", render.palette);
  take(values, "icicle", render.icicle);
  render.compat = values.count("compat") != 0;
  check_render_options(render);
  if (output.empty() && stdout_is_terminal() && writer.name == "svg")
    throw Error("an SVG is not for a terminal: add -o graph.svg, or redirect with '> graph.svg'",
                ExitCode::usage);
  require_writable(output);
  Profile profile = tidied(read_inputs(values), tidying);
  write_output(output, [&](std::ostream& out) { writer.write(out, profile, render); });
  profile.losses.add(Loss::replaced_bytes, replaced_bytes(profile));
  warn_of_losses(profile);
  warn_of_left_out(writer, profile);
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
