// SPDX-License-Identifier: BSD-2-Clause
// memflame watch: sees to it that windows of many processes go into stores, for weeks.
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/rule_request.h"
#include "cli/runs/run_request.h"
#include "cli/watch/supervisor.h"
#include "cli/watch/watch_config.h"
#include "core/counted.h"
#include "core/error.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

constexpr const char* usual_file = "/etc/memflame/watch.json";

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad())
    throw Error("cannot read '" + path +
                "'; docs/watch.md describes it, and has one to begin with");
  return text;
}

WatchConfig read_config(const std::string& path) {
  const std::string host = host_name();
  return read_watch_config(file_text(path), path, host.empty() ? "localhost" : host, check_rule);
}

po::options_description watch_options() {
  po::options_description options("Watch");
  options.add_options()("check", po::bool_switch(),
                        "only read FILE, and say what is wrong in it; nothing is watched");
  return options;
}

po::options_description watch_places() {
  po::options_description options;
  options.add_options()("file", po::value<std::vector<std::string>>());
  return options;
}

}  // namespace

CommandPage watch_page() {
  CommandPage page{.name = "watch",
                   .help = "watch processes for weeks, and send what they hold to stores"};
  page.usages = {"[--check] [FILE]"};
  page.description =
      "Watches the processes that the rules in FILE name (default: /etc/memflame/watch.json), "
      "those\n"
      "that run and those that come. Every minute it makes a profile of each service, and sends "
      "it\n"
      "to the outputs in FILE: a store of profiles, a database, metrics, a folder. SIGHUP reads "
      "FILE\n"
      "again. docs/watch.md describes FILE.";
  page.examples = {{"memflame watch --check watch.json", "look for mistakes in a file of rules"},
                   {"memflame watch watch.json", "watch until SIGTERM or Ctrl-C"}};
  page.operands = Operands::files;
  page.options.push_back(watch_options());
  page.options.push_back(general_options());
  return page;
}

int run_watch(const Arguments& arguments) {
  const CommandPage page = watch_page();
  const po::variables_map values =
      parse("watch", arguments, all_options(page), watch_places(), "file");
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  std::vector<std::string> files;
  take(values, "file", files);
  if (files.size() > 1) throw Error("memflame watch takes one FILE", ExitCode::usage);
  const std::string path = files.empty() ? usual_file : files.front();
  if (values["check"].as<bool>()) {
    const WatchConfig config = read_config(path);
    std::cout << path << ": " << counted(config.rules.size(), "rule") << ", "
              << counted(config.outputs.size(), "output") << ": no mistakes\n";
    return 0;
  }
  Supervisor([path] { return read_config(path); }, request_of_rule).run();
  return 0;
}

}  // namespace memflame
