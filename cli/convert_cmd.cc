// memflame render and memflame collapse: stacks in, a picture or other stacks out.
#include <fstream>
#include <iostream>

#include "cli/options.h"
#include "cli/output_file.h"
#include "collapse/input.h"
#include "core/error.h"
#include "core/units.h"
#include "render/clean_text.h"
#include "render/output.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

Profile read_one(const std::string& path) {
  ReadOptions options;
  if (path == "-") return read_folded(std::cin, options);
  options.name = path;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path);
  return read_folded(file, options);
}

Profile read_inputs(const po::variables_map& values) {
  std::vector<std::string> paths{"-"};
  if (values.count("input") != 0) paths = values["input"].as<std::vector<std::string>>();
  Profile profile = read_one(paths.front());
  for (size_t i = 1; i < paths.size(); ++i) merge(profile, read_one(paths[i]));
  return profile;
}

void warn_of_losses(const Profile& profile) {
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = profile.losses[static_cast<Loss>(i)];
    if (count.events != 0)
      std::cerr << "memflame: " << loss_info[i].label << ": "
                << with_commas(static_cast<int64_t>(count.events)) << "\n";
  }
}

// Both commands read a profile and write it; they differ in the default format.
int convert(const std::string& command, const Arguments& arguments, const char* help,
            const std::string& default_format) {
  po::options_description visible = drawing_options();
  visible.add_options()("strict", po::bool_switch(), "exit with 4 if a line was not understood");
  visible.add_options()("help,h", "show this");
  po::options_description hidden;
  hidden.add_options()("input", po::value<std::vector<std::string>>());
  const po::variables_map values = parse(command, arguments, visible, hidden, "input");
  if (values.count("help") != 0) {
    std::cout << "Usage: memflame " << command << " [OPTIONS] [FILE...]\n\n"
              << help << "\n"
              << visible;
    return 0;
  }
  const std::string output = values.count("output") ? values["output"].as<std::string>() : "";
  std::string format = values.count("format") ? values["format"].as<std::string>() : "";
  if (format.empty() && output.empty()) format = default_format;
  const Output& writer = output_for(format, output);
  RenderOptions render;
  if (values.count("title")) render.title = values["title"].as<std::string>();
  if (values.count("palette")) render.palette = values["palette"].as<std::string>();
  render.icicle = values["icicle"].as<bool>();
  check_render_options(render);
  if (output.empty() && stdout_is_terminal() && writer.name == "svg")
    throw Error("an SVG is not for a terminal: add -o graph.svg, or redirect with '> graph.svg'",
                ExitCode::usage);
  require_writable(output);
  Profile profile = read_inputs(values);
  write_output(output, [&](std::ostream& out) { writer.write(out, profile, render); });
  profile.losses.add(Loss::replaced_bytes, replaced_bytes(profile));
  warn_of_losses(profile);
  return values["strict"].as<bool>() && profile.losses.lost_events() != 0
             ? static_cast<int>(ExitCode::lossy)
             : 0;
}

}  // namespace

int run_render(const Arguments& arguments) {
  return convert("render", arguments,
                 "Draws folded stacks ('main;f;g 4096' a line) as a flame graph.\n", "svg");
}

int run_collapse(const Arguments& arguments) {
  return convert("collapse", arguments,
                 "Reads folded stacks, merges equal ones and writes them in a fixed order.\n",
                 "folded");
}

}  // namespace memflame
