// SPDX-License-Identifier: BSD-2-Clause
#include "cli/tidy_options.h"

#include <array>
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/completed.h"
#include "cli/options.h"
#include "core/error.h"
#include "core/languages.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

using Words = std::vector<std::string>;

struct PatternOption {
  const char* name;
  std::vector<Pattern> TidyOptions::*patterns;
  const char* help;
};
constexpr std::array pattern_options{
    PatternOption{"include", &TidyOptions::include,
                  "keep only stacks with a function that matches RE"},
    PatternOption{"focus", &TidyOptions::include, "the same, as pprof calls it"},
    PatternOption{"exclude", &TidyOptions::exclude, "drop stacks with a function that matches RE"},
    PatternOption{"ignore", &TidyOptions::exclude, "the same, as pprof calls it"},
    PatternOption{"show-from", &TidyOptions::show_from,
                  "remove the callers of the first match, and stacks without a match"},
    PatternOption{"skip-after", &TidyOptions::skip_after, "remove the callers of the last match"},
    PatternOption{"prune", &TidyOptions::prune, "remove the callees of the first match"},
    PatternOption{"prune-from", &TidyOptions::prune_from, "remove the callees of the last match"},
    PatternOption{"hide", &TidyOptions::hide, "remove functions that match"},
    PatternOption{"show", &TidyOptions::show,
                  "keep only functions that match, and stacks that have some"},
};

struct ShorteningOption {
  std::string_view name;
  bool Shortening::*what;
};
constexpr std::array shortening_options{
    ShorteningOption{"templates", &Shortening::templates},
    ShorteningOption{"arguments", &Shortening::arguments},
    ShorteningOption{"namespaces", &Shortening::namespaces},
    ShorteningOption{"java", &Shortening::java},
    ShorteningOption{"packages", &Shortening::packages},
    ShorteningOption{"go", &Shortening::go},
    ShorteningOption{"rust", &Shortening::rust},
};

void shorten_too(Shortening& shorten, std::string_view word, const std::string& all) {
  for (const ShorteningOption& option : shortening_options)
    if (option.name == word) {
      shorten.*(option.what) = true;
      return;
    }
  std::string known;
  for (const ShorteningOption& option : shortening_options)
    known.append(known.empty() ? "" : ", ").append(option.name);
  throw Error("--shorten takes " + known + ", not '" + all + "'", ExitCode::usage);
}

// "templates,arguments"
void shorten_list(Shortening& shorten, const std::string& words) {
  std::string_view rest = words;
  while (true) {
    const size_t comma = rest.find(',');
    shorten_too(shorten, rest.substr(0, comma), words);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw Error("--allocator-list: cannot read '" + path + "'");
  return text;
}

Words words_of(const po::variables_map& values, const char* name) {
  Words words;
  take(values, name, words);
  return words;
}

// Whether `one` was given. Throws Error (usage) if both were given, as they contradict each other.
bool one_of(const po::variables_map& values, const char* one, const char* other) {
  if (values[one].as<bool>() && values[other].as<bool>())
    throw Error(std::string("--") + one + " and --" + other + " are mutually exclusive",
                ExitCode::usage);
  return values[one].as<bool>();
}

Recursion recursion_of(const po::variables_map& values) {
  if (values["collapse-cycles"].as<bool>()) return Recursion::cycles;
  return values["collapse-recursion"].as<bool>() ? Recursion::direct : Recursion::keep;
}

// Read as a string, because the library takes "-1" for a large number.
size_t top_of(const po::variables_map& values) {
  std::string text;
  take(values, "top", text);
  if (text.empty()) return 0;
  size_t top = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), top);
  if (error != std::errc{} || end != text.data() + text.size() || top == 0)
    throw Error("--top takes a number of stacks, not '" + text + "'", ExitCode::usage);
  return top;
}

void take_allocators(const po::variables_map& values, TidyOptions& options) {
  if (one_of(values, "hide-allocator", "merge-allocator")) options.allocators = Allocators::hide;
  if (one_of(values, "merge-allocator", "hide-allocator")) options.allocators = Allocators::merge;
  const Words files = words_of(values, "allocator-list");
  if (files.empty()) return;
  if (options.allocators == Allocators::keep)
    throw Error("--allocator-list goes with --hide-allocator or --merge-allocator",
                ExitCode::usage);
  options.allocator_list = builtin_allocators();
  for (const std::string& file : files) options.allocator_list.add(text_of(file), file);
}

void add_by_type(po::options_description& options) {
  options.add_options()(
      "by-type", po::bool_switch(),
      "group stacks by the type of what they allocated, as far as functions of C++ and Rust name "
      "it, else by the function that called the allocator");
}

void add_by_module(po::options_description& options) {
  options.add_options()("by-module", po::bool_switch(),
                        "show libraries and programs instead of functions");
}

void take_groupings(const po::variables_map& values, TidyOptions& options) {
  options.lines = wants_lines(values);
  options.by_type = values["by-type"].as<bool>();
  options.reversed = values["reverse"].as<bool>();
  if (!wants_modules(values)) return;
  if (options.lines)
    throw Error("--by-module and --by-line are mutually exclusive: a module has no lines",
                ExitCode::usage);
  options.modules = ModuleFrames::only;
  const bool shows_allocator =
      values.count("blame") != 0 && values["blame"].as<std::string>() == "all";
  options.blames_module = !shows_allocator && options.allocators == Allocators::keep;
}

std::vector<std::string> shortenings() {
  std::vector<std::string> names;
  names.reserve(std::size(shortening_options));
  for (const ShorteningOption& option : shortening_options) names.emplace_back(option.name);
  return names;
}

}  // namespace

po::options_description tidy_option_list() {
  po::options_description options("Tidying, in this order (RE: a regular expression)");
  auto add = options.add_options();
  const auto words = [] { return po::value<Words>()->composing(); };
  add("demangle", po::bool_switch(), "demangle C++ and Rust names");
  for (const PatternOption& option : pattern_options)
    add(option.name, words()->value_name("RE"), option.help);
  add("no-kernel", po::bool_switch(), "remove the kernel's functions");
  add("only-kernel", po::bool_switch(), "keep only the kernel's functions");
  add("hide-runtime", po::bool_switch(),
      ("show native functions between two functions of " + language_list("or") +
       " as one, [native]")
          .c_str());
  add_by_type(options);
  add("hide-allocator", po::bool_switch(), "remove malloc and the like at the end of stacks");
  add("merge-allocator", po::bool_switch(), "show malloc and the like as one frame, [allocator]");
  add("allocator-list", words()->value_name("FILE"),
      "read more names of allocator functions from FILE");
  add("rename", words()->value_name("RE=TEXT"),
      "replace matches in names by TEXT; also s/RE/TEXT/");
  add("shorten", completed<Words>("WHAT", {Offer::list, shortenings()})->composing(),
      "shorten names: templates, arguments, namespaces, java, packages, go, rust "
      "(several separated by commas)");
  add("modules", po::bool_switch(),
      "add a frame where the stack enters another library or program");
  add_by_module(options);
  add("collapse-recursion", po::bool_switch(), "show functions that call themselves once");
  add("collapse-cycles", po::bool_switch(), "also those that call themselves through others");
  add("top", po::value<std::string>()->value_name("N"),
      "keep the N largest stacks, the others as one");
  return options;
}

TidyOptions tidy_options(const po::variables_map& values) {
  TidyOptions options;
  take(values, "demangle", options.demangle);
  for (const PatternOption& option : pattern_options)
    for (const std::string& text : words_of(values, option.name))
      (options.*(option.patterns)).emplace_back(std::string("--") + option.name, text);
  options.no_kernel = one_of(values, "no-kernel", "only-kernel");
  options.only_kernel = one_of(values, "only-kernel", "no-kernel");
  options.hide_runtime = values["hide-runtime"].as<bool>();
  take_allocators(values, options);
  for (const std::string& text : words_of(values, "rename")) options.rename.emplace_back(text);
  for (const std::string& text : words_of(values, "shorten")) shorten_list(options.shorten, text);
  if (one_of(values, "modules", "by-module")) options.modules = ModuleFrames::between;
  take_groupings(values, options);
  options.recursion = recursion_of(values);
  options.top = top_of(values);
  return options;
}

po::options_description grouping_option_list() {
  po::options_description options("Grouping");
  add_by_type(options);
  add_by_module(options);
  return options;
}

TidyOptions grouping_options(const po::variables_map& values) {
  TidyOptions options;
  take_groupings(values, options);
  return options;
}

}  // namespace memflame
