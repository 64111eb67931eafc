// SPDX-License-Identifier: BSD-2-Clause
#include "cli/select_options.h"

#include <array>
#include <vector>

#include "cli/options.h"
#include "collapse/select/parse.h"
#include "core/error.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

using Words = std::vector<std::string>;

// The conditions that are asked for most often. Each may be given several times.
struct ConditionOption {
  const char* name;
  const char* value_name;
  Property property;
  Comparison comparison;
  const char* help;
  bool of_files_only = false;
  bool goes_with(SelectFrom from) const { return !of_files_only || from == SelectFrom::file; }
};
constexpr std::array condition_options{
    ConditionOption{"min-lifetime", "TIME", Property::lifetime, Comparison::at_least,
                    "blocks that lived this long or longer (100ms, 2s, 50%)"},
    ConditionOption{"max-lifetime", "TIME", Property::lifetime, Comparison::at_most,
                    "blocks that lived this long or shorter"},
    ConditionOption{"min-size", "BYTES", Property::size, Comparison::at_least,
                    "blocks of this size or larger (4K, 1MiB)", true},
    ConditionOption{"max-size", "BYTES", Property::size, Comparison::at_most,
                    "blocks of this size or smaller", true},
    ConditionOption{"through", "RE", Property::function, Comparison::matches,
                    "blocks allocated through a function that matches RE"},
    ConditionOption{"not-through", "RE", Property::function, Comparison::matches_not,
                    "blocks allocated through no function that matches RE"},
    ConditionOption{"by-thread", "TID", Property::thread, Comparison::equal,
                    "blocks allocated by this thread: its id or its name"},
    ConditionOption{"allocated-in", "TIME..TIME", Property::allocated, Comparison::within,
                    "blocks allocated between these times; either may be left out"},
    ConditionOption{"freed-in", "TIME..TIME", Property::freed, Comparison::within,
                    "blocks freed between these times"},
};

}  // namespace

po::options_description select_options(SelectFrom from) {
  po::options_description options("Blocks of recordings with events (record --detail events)");
  auto add = options.add_options();
  const auto words = [](const char* name) {
    return po::value<Words>()->composing()->value_name(name);
  };
  add("where", words("EXPR"),
      "only blocks of which EXPR is true, like 'size > 4K and not leaked'; docs/leak-hunting.md "
      "has "
      "all of the language");
  add("let", words("NAME=EXPR"), "name a selection, for EXPR and later NAMEs");
  add("leaked", po::bool_switch(), "blocks that were never freed");
  add("freed", po::bool_switch(), "blocks that were freed");
  for (const ConditionOption& option : condition_options)
    if (option.goes_with(from)) add(option.name, words(option.value_name), option.help);
  add("live-at", words("TIME"), "blocks that lived at this time (12.5s, 98%, end, peak)");
  return options;
}

Query query_of(const po::variables_map& values, SelectFrom from) {
  Query query;
  const auto each = [&](const char* name, const auto& take_word) {
    Words words;
    take(values, name, words);
    for (const std::string& word : words) take_word("--" + std::string(name), word);
  };
  each("let",
       [&](const std::string& label, const std::string& text) { add_let(query, label, text); });
  each("where",
       [&](const std::string& label, const std::string& text) { add_where(query, label, text); });
  const auto is_given = [&](const char* name) {
    return values.count(name) != 0 && values[name].as<bool>();
  };
  if (is_given("leaked")) add_flag(query, "--leaked", Property::leaked, true);
  if (is_given("freed")) add_flag(query, "--freed", Property::leaked, false);
  for (const ConditionOption& option : condition_options) {
    if (!option.goes_with(from)) continue;
    each(option.name, [&](const std::string& label, const std::string& text) {
      add_comparison(query, label, option.property, option.comparison, text);
    });
  }
  each("live-at",
       [&](const std::string& label, const std::string& text) { add_live_at(query, label, text); });
  if (query.where.empty() && !query.named.empty())
    throw Error("--let names a selection that nothing uses: --where 'NAME' applies it",
                ExitCode::usage);
  return query;
}

std::vector<std::string> words_of_selection(const po::variables_map& values, SelectFrom from) {
  const po::options_description known = select_options(from);
  std::vector<std::string> out;
  for (const auto& option : known.options()) {
    const std::string& name = option->long_name();
    if (values.count(name) == 0) continue;
    if (const auto* flag = boost::any_cast<bool>(&values[name].value())) {
      if (*flag) out.push_back("--" + name);
      continue;
    }
    for (const std::string& word : values[name].as<Words>()) {
      out.push_back("--" + name);
      out.push_back(word);
    }
  }
  return out;
}

}  // namespace memflame
