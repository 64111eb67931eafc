// SPDX-License-Identifier: BSD-2-Clause
// memflame store: the tables in which windows of memflame watch are kept.
#include <iostream>

#include "cli/options.h"
#include "core/error.h"
#include "fleet/clickhouse/question.h"
#include "fleet/clickhouse/schema.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

po::options_description store_options() {
  po::options_description options("Store");
  options.add_options()("print", po::bool_switch(),
                        "print the statements that make the tables, and connect to nothing");
  return options;
}

void print_statements(const std::string& database) {
  bool is_first = true;
  for (const std::string& statement : store_statements(database)) {
    std::cout << statement << ";\n";
    std::cout << (is_first ? "USE " + database + ";\n\n" : "\n");
    is_first = false;
  }
}

}  // namespace

CommandPage store_page() {
  CommandPage page{.name = "store", .help = "make the tables of a store for windows of a fleet"};
  page.usages = {"init clickhouse://HOST[:PORT]/DATABASE", "init --print [DATABASE]"};
  page.description =
      "Makes the database and the tables that 'memflame watch' sends its windows to, in a\n"
      "ClickHouse of version 18.16 or later. What is there already stays as it is. With\n"
      "clickhouses:// it connects by TLS. A user stands before the host, as USER@HOST;\n"
      "?password_file=FILE names the file with the password, or $MEMFLAME_STORE_PASSWORD_FILE.";
  page.places = {{Offer::words, {"init"}}};
  page.options = OptionGroups{store_options(), general_options()};
  page.examples = {
      {"memflame store init clickhouse://db.example/memflame", "make the tables in a new database"},
      {"memflame store init --print", "show what that would do"}};
  return page;
}

int run_store(const Arguments& arguments) {
  const CommandPage page = store_page();
  po::options_description words;
  words.add_options()("word", po::value<std::vector<std::string>>());
  const po::variables_map values = parse(page.name, arguments, all_options(page), words, "word");
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  std::vector<std::string> given;
  take(values, "word", given);
  const bool prints = values["print"].as<bool>();
  const std::string example = "memflame store init clickhouse://HOST/memflame";
  if (given.empty() || given[0] != "init")
    throw Error("store needs the request 'init': " + example, ExitCode::usage);
  if (given.size() > 2 || (given.size() == 1 && !prints))
    throw Error("store init needs one address: " + example, ExitCode::usage);
  const std::string where = given.size() == 2 ? given[1] : StoreAddress{}.database;
  if (prints) {
    print_statements(is_store_address(where) ? store_address_of(where).database : where);
    return 0;
  }
  const StoreAddress address = store_address_of(where);
  make_store(ClickHouse(address));
  std::cout << shown(address) << ": the tables of version " << store_version << " are there\n";
  return 0;
}

}  // namespace memflame
