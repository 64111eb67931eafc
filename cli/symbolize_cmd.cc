// SPDX-License-Identifier: BSD-2-Clause
// memflame symbolize: adds the names of functions to a recording that has none.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "cli/commands.h"
#include "cli/files/heaptrack_input.h"
#include "cli/files/output_file.h"
#include "cli/input_options.h"
#include "cli/options.h"
#include "collapse/history/symbolized.h"
#include "collapse/source/source.h"
#include "core/error.h"
#include "core/unique_fd.h"
#include "core/units.h"
#include "render/text/clean_text.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

UniqueFd descriptor_of(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0)
    throw Error("cannot read " + path + ": " + std::strerror(errno));
  if (!S_ISREG(about.st_mode))
    throw Error(path + " is not a file: symbolize takes a recording", ExitCode::usage);
  return file;
}

// A memflame that records holds a lock. If its file were replaced, the rest of the run would go
// into a file without a name.
void refuse_running(const UniqueFd& file, const std::string& path) {
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw Error(path +
              " is being written by 'memflame record', which adds names when it ends. Wait for "
              "that, or write a copy of what there is with -o OTHER.mfr");
}

void print_notes(const NamedFile& named) {
  uint64_t replaced = 0;
  for (const std::string& note : named.notes)
    std::cerr << "memflame: " << clean_text(note, replaced) << "\n";
}

std::string counted(const NamedFile& named) {
  const auto number = [](size_t count) { return with_commas(static_cast<int64_t>(count)); };
  return number(named.places - named.nameless) + " places of code have a name, " +
         number(named.nameless) + " have none";
}

po::options_description symbolize_options() {
  po::options_description options("Output");
  options.add_options()("output,o", po::value<std::string>()->value_name("OUT"),
                        "write to OUT (default: replace FILE)");
  return options;
}

}  // namespace

CommandPage symbolize_page() {
  CommandPage page{.name = "symbolize",
                   .help = "add names to a recording whose run did not end as it should"};
  page.usages = {"[-o OUT.mfr] FILE.mfr"};
  page.description =
      "Adds names of functions to a recording that has none, because memflame was killed or the\n"
      "disk was full. Then the recording can be read on other machines. Programs are found\n"
      "by their path, or else by their build id, also on the servers of $DEBUGINFOD_URLS. Figures "
      "stay\n"
      "as they are. With -o, it also makes a recording of a file of 'heaptrack --raw'.";
  page.options = OptionGroups{symbolize_options(), general_options()};
  page.examples = {{"memflame symbolize night.mfr", "add names to the recording"},
                   {"memflame symbolize night.mfr -o named.mfr", "write a copy that has names"},
                   {"memflame symbolize heaptrack.app.77.raw.zst -o app.mfr",
                    "make a recording of what heaptrack recorded"}};
  page.operands = Operands::files;
  return page;
}

int run_symbolize(const Arguments& arguments) {
  const CommandPage page = symbolize_page();
  const po::variables_map values =
      parse(page.name, arguments, all_options(page), input_files(), "input");
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  const std::string path = recording_named(values, page.name, "FILE.mfr");
  std::string output = path;
  take(values, "output", output);
  const UniqueFd file = descriptor_of(path);
  if (output == path && is_recorded_elsewhere(Source::open(path).head()))
    throw Error(path + " was recorded by another tool: name the recording with -o OUT.mfr",
                ExitCode::usage);
  if (output == path) refuse_running(file, path);
  require_writable(output);

  Source source = open_recording(path);
  const NamedFile named = with_names(source.all(), path, {});
  if (!named.had_names || output != path)
    write_output(output, [&](std::ostream& out) { out << named.bytes; });
  print_notes(named);
  std::cerr << "memflame: " << path << (named.had_names ? " had its names already: " : ": ")
            << counted(named) << "\n";
  return 0;
}

}  // namespace memflame
